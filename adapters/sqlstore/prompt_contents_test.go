package sqlstore_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAVersionReadBeforeIsReadAsItIsNow(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		a, ctx := adapter(t, url), t.Context()
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		by := team.Member
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "read again"})
		one := fixture.Version(t, a.Stores, by, template.ID, "first")
		two := fixture.Version(t, a.Stores, by, template.ID, "other", "live")
		rewrite := func(s ports.Stores, text string) {
			t.Helper()
			_, err := s.Prompts.EditVersion(ctx, by, template.ID, prompt.Ref{ID: one.ID},
				func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
					return p.ChangeVersion(by, nil, v,
						prompt.VersionChanges{Content: func(c prompt.Content) prompt.Content {
							c.Text = text
							return c
						}}, usedLabels)
				})
			require.NoError(t, err)
		}
		want := func(id prompt.VersionID, text string, frozen bool, labels ...string) {
			t.Helper()
			for range 2 {
				_, v, err := a.Prompts.GetVersion(ctx, by, template.ID, prompt.Ref{ID: id})
				if err != nil || v.Content.Text != text || !slices.Equal(v.Labels, labels) || v.Frozen != frozen ||
					v.FirstActivatedAt.IsZero() == (frozen && id == one.ID) {
					t.Fatalf("GetVersion = %+v, %v; want text %q, labels %q, frozen %t", v, err, text, labels, frozen)
				}
			}
		}
		want(one.ID, "first", false)
		rewrite(a.Stores, "second")
		want(one.ID, "second", false)

		undone := errors.New("undone")
		if err := a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			rewrite(tx, "never")
			if _, v, err := tx.Prompts.GetVersion(ctx, by, template.ID, prompt.Ref{ID: one.ID}); err != nil ||
				v.Content.Text != "never" {
				t.Errorf("in the transaction: %+v, %v", v, err)
			}
			return undone
		}); !errors.Is(err, undone) {
			t.Fatal(err)
		}
		rewrite(a.Stores, "third") // with the revision that was undone
		want(one.ID, "third", false)

		want(two.ID, "other", true, "live")
		fixture.VersionOf(t, a.Stores, by, template.ID,
			prompt.VersionDraft{Content: prompt.Content{Text: "takes the label"}, Labels: []string{"live"}})
		want(two.ID, "other", true)
		fixture.Activate(t, a.Stores, by, template.ID, prompt.Ref{ID: one.ID})
		want(one.ID, "third", true)
	})
}
