package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// graph is a set of prompts that include each other at random, and what is known of them.
type graph struct {
	*prompts.Service
	t       *testing.T
	random  *rand.Rand
	members []identity.Actor
	ids     []prompt.ID
	pinned  map[prompt.ID]map[string]string // template, version: what it rendered when it was released
}

// Whatever happens to prompts that include each other: no read meets a cycle or fails, no text has an include left,
// nobody releases the text of a prompt that they do not see, and a pinned version renders what it did when it was
// released.
func TestRandomIncludesNeverCycleOrLeak(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, _ := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		g := &graph{t: t, random: rand.New(rand.NewPCG(proof.Seed(t), 1)), pinned: map[prompt.ID]map[string]string{},
			members: []identity.Actor{team.Member, team.Peer}}
		g.Service = prompts.NewService(s.Atomic, s.PromptStores, s.Users,
			func(context.Context, identity.Actor) (quota.Limits, error) {
				return quota.Limits{Amounts: quota.Default()}, nil
			})
		for i := range 8 {
			template := fixture.Template(t, s, g.members[i%2], prompt.Draft{Name: fmt.Sprintf("p%d", i),
				Visibility:  []access.Visibility{access.Private, access.Workspace}[i/2%2],
				IncludeMode: []prompt.IncludeMode{prompt.Pinned, prompt.Floating}[i/4%2]})
			g.ids, g.pinned[template.ID] = append(g.ids, template.ID), map[string]string{}
		}
		releasedCount := 0
		for range proof.Sample(300, 5000) {
			if g.step() {
				releasedCount++
			}
			g.check()
		}
		if releasedCount < 20 {
			t.Errorf("only %d versions were released", releasedCount)
		}
	})
}

// step adds a version that includes others, or releases one, and reports whether it did the latter.
func (g *graph) step() bool {
	by, n := g.members[g.random.IntN(2)], g.random.IntN(len(g.ids))
	id, ctx := g.ids[n], g.t.Context()
	if g.random.IntN(2) == 0 {
		text := fmt.Sprintf("<p%d>", n)
		for range g.random.IntN(3) {
			text += fmt.Sprintf("{{> p%d@%s}}", g.random.IntN(len(g.ids)), []string{"active", "live"}[g.random.IntN(2)])
		}
		_, _, err := g.AddVersion(ctx, by, id, prompt.VersionDraft{Content: prompt.Content{Text: text}})
		g.refused(err)
		return false
	}
	_, v, err := g.Version(ctx, by, id, prompt.Ref{Latest: true})
	if err != nil {
		g.refused(err)
		return false
	}
	if g.random.IntN(2) == 0 {
		_, _, err = g.ActivateVersion(ctx, by, id, prompt.Ref{ID: v.ID}, nil, prompt.Activating{})
	} else {
		_, _, _, err = g.MoveLabel(ctx, by, id, prompt.Ref{ID: v.ID}, prompt.LabelMove{Label: "live"})
	}
	if g.refused(err); err != nil {
		return false
	}
	for _, i := range v.Includes {
		if _, err := g.Get(ctx, by, i.Template); err != nil {
			g.t.Fatalf("%s released %s, which they do not see: %v", by.User, i.Name, err)
		}
	}
	_, full, err := g.Resolved(ctx, by, id, prompt.Ref{ID: v.ID}, "")
	require.NoError(g.t, err)
	if key := string(v.ID); n < 4 && g.pinned[id][key] == "" {
		g.pinned[id][key] = full.Content.Text
	}
	return true
}

// refused fails the test unless err is nil or a refusal.
func (g *graph) refused(err error) {
	g.t.Helper()
	for _, e := range []error{prompt.ErrNotFound, prompt.ErrVersionNotFound, prompt.ErrForbidden,
		prompt.ErrIncludeCycle, prompt.ErrIncludeNotFound, prompt.ErrIncludeTooDeep, nil} {
		if errors.Is(err, e) {
			return
		}
	}
	g.t.Fatal(err)
}

// check reads what is released of each template.
func (g *graph) check() {
	g.t.Helper()
	for n, id := range g.ids {
		owner := g.members[n%2]
		for _, ref := range []prompt.Ref{{Active: true}, {Label: "live"}} {
			_, v, err := g.Resolved(g.t.Context(), owner, id, ref, "")
			if errors.Is(err, prompt.ErrVersionNotFound) {
				continue
			}
			if err != nil || strings.Contains(v.Content.Text, "{{>") ||
				strings.Count(v.Content.Text, fmt.Sprintf("<p%d>", n)) != 1 {
				g.t.Fatalf("p%d has %v, %v", n, v, err)
			}
			if want := g.pinned[id][string(v.ID)]; want != "" && v.Content.Text != want {
				g.t.Fatalf("p%d was %q, and is %q", n, want, v.Content.Text)
			}
		}
	}
}
