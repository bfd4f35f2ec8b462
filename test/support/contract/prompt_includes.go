package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func promptIncludes(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	target := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "included"})
	include := func(t *testing.T, owner *prompt.Template, text, ref string, labels ...string) *prompt.Version {
		t.Helper()
		v := fixture.Version(t, a.Stores, by, owner.ID, text, labels...)
		v.Includes = []prompt.Include{{Name: "included", Ref: ref, Template: target.ID}}
		if v.Frozen {
			v.Pinned = &prompt.Expansion{Content: prompt.Content{Text: "whole", Format: prompt.Mustache}, Hash: "hash",
				Includes: []prompt.Included{{Include: v.Includes[0], Version: "pver_1", Number: 3}},
				Closure:  []prompt.ID{owner.ID, target.ID}, Depth: 1}
		}
		must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error { return tx.Prompts.SetIncludes(ctx, by, v) }))
		return v
	}
	first := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "first", Visibility: access.Workspace,
		IncludeMode: prompt.Floating})
	second := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "second"})

	t.Run("what a version includes is read back", func(t *testing.T) {
		for _, want := range []*prompt.Version{include(t, first, "{{> included@live}}", "live", "production"),
			include(t, first, "{{> included}}", "active")} {
			owner, got, err := a.Prompts.GetVersion(ctx, by, first.ID, prompt.Ref{ID: want.ID})
			must(t, err)
			same(t, "version", got, want)
			if !owner.Floating {
				t.Error("the mode was lost")
			}
		}
	})
	t.Run("released versions that include a template are found", func(t *testing.T) {
		include(t, second, "{{> included}}", "active") // a draft
		find := func(by identity.Actor, seen bool, refs ...string) (names []string) {
			t.Helper()
			uses, err := a.PromptLists.Includers(ctx, by, target.ID, refs, seen, 10)
			must(t, err)
			for _, u := range uses {
				if names = append(names, u.Name); u.Owner != by.User && u.Owner != team.Member.User {
					t.Errorf("owner = %s", u.Owner)
				}
			}
			return names
		}
		same(t, "all", find(by, false), []string{"first"})
		same(t, "by a label", find(by, false, "live", "other"), []string{"first"})
		same(t, "by the reference of a draft", find(by, false, "active"), []string(nil))
		fixture.Activate(t, a.Stores, by, second.ID, prompt.Ref{Number: 1})
		same(t, "by active", find(by, false, "active"), []string{"second"})
		same(t, "all that are released", find(by, false), []string{"first", "second"})
		same(t, "those that a peer sees", find(team.Peer, true), []string{"first"})
		item := include(t, second, "{{> included}}", "again", "released")
		must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error { return tx.Prompts.SetIncludes(ctx, by, item) }))
		same(t, "what was saved again", find(by, false, "again"), []string{"second"})
		other := by
		other.Workspace = "wsp_other"
		same(t, "those of another workspace", find(other, false), []string(nil))
	})
}
