package contract

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func promptLabels(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	item := fixture.Template(t, a.Stores, by, prompt.Draft{})
	fixture.Version(t, a.Stores, by, item.ID, "one", "production", "stable")
	two := fixture.Version(t, a.Stores, by, item.ID, "two")
	label := func(number int, labels ...string) error {
		_, err := a.Prompts.EditVersion(ctx, by, item.ID, prompt.Ref{Number: number},
			func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
				return p.ChangeVersion(by, nil, v, prompt.VersionChanges{Labels: &labels}, usedLabels)
			})
		return err
	}
	labels := func(t *testing.T) string {
		t.Helper()
		var out []string
		for _, v := range keptOf(t, a.Stores, by, item.ID).Versions {
			out = append(out, fmt.Sprint(v.Number, v.Labels))
		}
		return fmt.Sprint(out)
	}

	t.Run("setting a label removes it from the version that had it", func(t *testing.T) {
		must(t, label(2, "production"))
		require.Equal(t, "labels", labels(t), "[2 [production] 1 [stable]]")
		if _, v, err := a.Prompts.GetVersion(ctx, by, item.ID, prompt.Ref{Label: "production"}); err != nil ||
			v == nil || v.ID != two.ID {
			t.Fatalf("production = %+v, %v", v, err)
		}
	})
	t.Run("a version that loses a label gets another revision", func(t *testing.T) {
		actor := fixture.Later(by, time.Second)
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "lost"})
		first := fixture.Version(t, a.Stores, by, template.ID, "text", "a", "b", "c")
		second := fixture.Version(t, a.Stores, by, template.ID, "text", "d")
		fixture.Version(t, a.Stores, by, template.ID, "text")
		var value prompt.Labels
		_, err := a.Prompts.EditVersion(ctx, actor, template.ID, prompt.Ref{Number: 3},
			func(p *prompt.Template, v *prompt.Version, usage prompt.Labels) error {
				value = usage
				return p.ChangeVersion(actor, nil, v, prompt.VersionChanges{Labels: &[]string{"a", "b", "e"}}, usage)
			})
		must(t, err)
		of := func(v *prompt.Version) prompt.Labelled {
			return prompt.Labelled{Version: v.ID, Number: v.Number, By: by.User}
		}
		same(t, "labels before", value, prompt.Labels{"a": of(first), "b": of(first), "c": of(first), "d": of(second)})
		fixture.Version(t, a.Stores, actor, template.ID, "four", "e")
		got := map[int]any{}
		k := keptOf(t, a.Stores, by, template.ID)
		for _, v := range k.Versions {
			got[v.Number] = []any{v.Revision, v.UpdatedAt, fmt.Sprint(v.Labels)}
		}
		same(t, "versions", got, map[int]any{
			1: []any{int64(2), actor.At, "[c]"}, 2: []any{int64(1), by.At, "[d]"},
			3: []any{int64(3), actor.At, "[a b]"}, 4: []any{int64(1), actor.At, "[e]"},
		})
		if got := fmt.Sprint(k.Events[0].Data["labels_taken_from"],
			k.Events[1].Data["labels_taken_from"]); got != "map[e:3] map[a:1 b:1]" {
			t.Errorf("the events say %s", got)
		}
	})
	t.Run("a new version can take labels from other versions", func(t *testing.T) {
		fixture.Version(t, a.Stores, by, item.ID, "three", "stable", "canary")
		require.Equal(t, "labels", labels(t), "[3 [canary stable] 2 [production] 1 []]")
	})
	t.Run("a label can be removed", func(t *testing.T) {
		must(t, label(3, "canary"))
		require.Equal(t, "labels", labels(t), "[3 [canary] 2 [production] 1 []]")
	})
	t.Run("templates have separate labels", func(t *testing.T) {
		other := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "other"})
		fixture.Version(t, a.Stores, by, other.ID, "one", "production")
		require.Equal(t, "labels", labels(t), "[3 [canary] 2 [production] 1 []]")
	})
	t.Run("the ledger has each move of a label, apart from activations", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "moves"})
		one := fixture.Version(t, a.Stores, by, template.ID, "one", "live", "other")
		two := fixture.Version(t, a.Stores, by, template.ID, "two")
		actor := fixture.Later(team.Admin, time.Minute)
		move := func(change func(*prompt.Template, *prompt.Version, prompt.Labels) error) {
			t.Helper()
			_, err := a.Prompts.EditVersion(ctx, actor, template.ID, prompt.Ref{Number: 2}, change)
			must(t, err)
		}
		m := prompt.LabelMove{Label: "live", Reason: "better"}
		move(func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
			return p.MoveLabel(actor, v, m, usedLabels)
		})
		m.Reason = "worse"
		move(func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
			same(t, "labels", usedLabels["live"], prompt.Labelled{Version: two.ID, Number: 2, By: actor.User})
			return p.RemoveLabel(actor, nil, v, m, usedLabels)
		})
		moves := func(ws identity.WorkspaceID, label string) []prompt.Activation {
			return fixture.Pages(t, 2, func(q page.Query) (page.Of[prompt.Activation], error) {
				return a.PromptLists.Activations(ctx, ws, template.ID, label, q)
			})
		}
		same(t, "moves", moves(by.Workspace, "live"), []prompt.Activation{
			{Label: "live", From: two.ID, FromNumber: 2, By: actor.User, At: actor.At, Reason: "worse"},
			{Label: "live", From: one.ID, FromNumber: 1, To: two.ID, ToNumber: 2, By: actor.User, At: actor.At,
				Reason: "better"},
			{Label: "live", To: one.ID, ToNumber: 1, By: by.User, At: by.At},
		})
		if got := len(moves(by.Workspace, "other")); got != 1 {
			t.Errorf("the other label has %d moves, want 1", got)
		}
		for _, got := range [][]prompt.Activation{moves(by.Workspace, ""), moves(by.Workspace, "none"),
			moves("wsp_other", "live")} {
			same(t, "no moves", len(got), 0)
		}
	})
	t.Run("a version that is deleted loses its labels in the ledger too", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "deleted with labels"})
		one := fixture.Version(t, a.Stores, by, template.ID, "one", "live")
		_, err := a.Prompts.UpdateVersion(ctx, by, template.ID, prompt.Ref{Number: 1},
			func(p *prompt.Template, v *prompt.VersionInfo) error { return p.DeleteVersion(by, nil, v, nil) })
		must(t, err)
		got, err := a.PromptLists.Activations(ctx, by.Workspace, template.ID, "live", page.Query{Limit: 1})
		must(t, err)
		same(t, "last move", got.Items, []prompt.Activation{
			{Label: "live", From: one.ID, FromNumber: 1, By: by.User, At: by.At}})
	})
	t.Run("previous is the version that was active before the active one", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "previous"})
		previous := func(want int) {
			t.Helper()
			_, v, err := a.Prompts.GetVersion(ctx, by, template.ID, prompt.Ref{Previous: true})
			must(t, err)
			_, lockedInfo, err := a.Prompts.Lock(ctx, by, template.ID, prompt.Ref{Previous: true})
			must(t, err)
			if want == 0 {
				if v != nil || lockedInfo != nil {
					t.Errorf("previous = %+v, %+v; want none", v, lockedInfo)
				}
			} else if v == nil || v.Number != want || lockedInfo == nil || lockedInfo.Number != want {
				t.Errorf("previous = %+v, %+v; want v%d", v, lockedInfo, want)
			}
		}
		activate := func(n int) {
			t.Helper()
			_, err := a.Prompts.UpdateVersion(ctx, by, template.ID, prompt.Ref{Number: n},
				func(p *prompt.Template, v *prompt.VersionInfo) error { return p.Activate(by, nil, v, nil, "") })
			must(t, err)
		}
		fixture.Version(t, a.Stores, by, template.ID, "one", "live")
		fixture.Version(t, a.Stores, by, template.ID, "two", "live")
		previous(0)
		activate(1)
		previous(0)
		activate(2)
		previous(1)
		activate(1)
		previous(2)
	})
	t.Run("a reader finds a label on exactly one version while it moves", func(t *testing.T) {
		var wg sync.WaitGroup
		done := make(chan struct{})
		wg.Go(func() {
			defer close(done)
			for i := range 20 {
				assert.NoError(t, label(1+i%2, "production"))
			}
		})
		wg.Go(func() {
			for reads := 0; ; reads++ {
				select {
				case <-done:
					if reads == 0 {
						t.Error("nobody read meanwhile")
					}
					return
				default:
				}
				if _, v, err := a.Prompts.GetVersion(ctx, by, item.ID, prompt.Ref{Label: "production"}); err != nil ||
					v == nil {
					t.Errorf("production = %+v, %v", v, err)
				}
				found, err := a.PromptLists.Versions(ctx, by.Workspace, item.ID, true, page.Query{Limit: 100})
				assert.NoError(t, err)
				n := 0
				for _, v := range found.Items {
					for _, l := range v.Labels {
						if l == "production" {
							n++
						}
					}
				}
				if n != 1 {
					t.Errorf("production stands on %d versions", n)
				}
			}
		})
		wg.Wait()
	})
}
