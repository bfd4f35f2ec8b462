package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// outlineAgrees compares an outline with the list by name.
func outlineAgrees(t *testing.T, a Adapter, by identity.Actor) {
	t.Helper()
	for _, folder := range []string{"", "äRGER", "a_b", "deep"} {
		var want []string
		for _, p := range fixture.Pages(t, 100, func(q page.Query) (prompt.Page, error) {
			return a.PromptLists.Visible(t.Context(), by, prompt.Filter{Folder: folder, ByName: true}, q)
		}) {
			want = append(want, fmt.Sprint(p.ID, p.Name, p.Tags))
		}
		for limit, n := range map[int]int{1: min(1, len(want)), 1000: len(want)} {
			entries, err := a.PromptLists.Outline(t.Context(), by, folder, limit)
			must(t, err)
			var got []string
			for _, e := range entries {
				got = append(got, fmt.Sprint(e.ID, e.Name, e.Tags))
			}
			same(t, "entries", got, want[:n])
		}
	}
}

// promptSearch is for the filters of Visible that depend on versions.
func promptSearch(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	live := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "live"})
	fixture.Version(t, a.Stores, by, live.ID, "Größe eins 100%", "old")
	fixture.Version(t, a.Stores, by, live.ID, "second")
	fixture.Activate(t, a.Stores, by, live.ID, prompt.Ref{Number: 2})
	labelledTemplate := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "labelled", Type: prompt.Chat})
	messages := []prompt.Message{{Role: "system", Content: "GRÖSSE"}, {Role: "user", Content: `a "question"`}}
	fixture.VersionOf(t, a.Stores, by, labelledTemplate.ID, prompt.VersionDraft{Labels: []string{"old"},
		Content: prompt.Content{Messages: messages}})
	draft := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "draft"})
	fixture.Version(t, a.Stores, by, draft.ID, "größe unseen")
	long := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "long"})
	fixture.Version(t, a.Stores, by, long.ID, strings.Repeat("ä", 9000)+"beyond", "long")

	for name, tt := range map[string]struct {
		f    prompt.Filter
		want []string
	}{
		"the text of the active version":         {prompt.Filter{Query: "SECOND"}, []string{"live"}},
		"not that of one that was active before": {prompt.Filter{Query: "eins"}, nil},
		"messages, ignoring case, and no drafts": {prompt.Filter{Query: "größe"}, nil},
		"messages as they are written":           {prompt.Filter{Query: `grösse`}, []string{"labelled"}},
		"quotes in messages":                     {prompt.Filter{Query: `a "question"`}, []string{"labelled"}},
		"no roles of messages":                   {prompt.Filter{Query: "system"}, nil},
		"nothing beyond the first 16 KiB":        {prompt.Filter{Query: "beyond"}, nil},
		"the beginning of a long text":           {prompt.Filter{Query: "ÄÄÄ"}, []string{"long"}},
		"a label of any version":                 {prompt.Filter{Label: "old"}, []string{"labelled", "live"}},
		"templates with an active version":       {prompt.Filter{Active: new(true)}, []string{"live"}},
		"templates without one": {prompt.Filter{Active: new(false)},
			[]string{"draft", "labelled", "long"}},
		"templates of an owner": {prompt.Filter{Owner: by.User, Label: "long"}, []string{"long"}},
		"not of another":        {prompt.Filter{Owner: team.Peer.User}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range fixture.Pages(t, 2, func(q page.Query) (prompt.Page, error) {
				return a.PromptLists.Visible(t.Context(), by, tt.f, q)
			}) {
				got = append(got, p.Name)
			}
			slices.Sort(got)
			same(t, "found", got, tt.want)
		})
	}
	t.Run("a draft that changes is found by its new text", func(t *testing.T) {
		change := prompt.VersionChanges{Labels: &[]string{"new"},
			Content: func(c prompt.Content) prompt.Content { c.Text = "Renewed"; return c }}
		_, err := a.Prompts.EditVersion(t.Context(), by, draft.ID, prompt.Ref{Number: 1},
			func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
				return p.ChangeVersion(by, nil, v, change, usedLabels)
			})
		must(t, err)
		found, err := a.PromptLists.Visible(t.Context(), by, prompt.Filter{Query: "renewed"}, page.Query{Limit: 5})
		must(t, err)
		if len(found.Items) != 1 || found.Items[0].ID != draft.ID {
			t.Errorf("found %+v", found.Items)
		}
	})
}
