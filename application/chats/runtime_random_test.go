package chats_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// randomRuntime makes chats, prompts and registries. Its texts have braces only in tags.
type randomRuntime struct{ *rand.Rand }

func (r randomRuntime) name() string { return string(rune('a' + r.IntN(5))) }

// template returns a text with tags of all forms that the format has.
func (r randomRuntime) template(depth int) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		name := r.name()
		forms := []string{"words ", "{{" + name + "}}", "{{ " + name + " }}", "{{{" + name + "}}}", "{{&" + name + "}}",
			"{{! a comment }}", "{{" + name + ".inner}}", "{{=<% %>=}}<%" + name + "%><%={{ }}=%>"}
		if depth > 0 {
			inner := r.template(depth - 1)
			forms = append(forms, "{{#"+name+"}}"+inner+"{{/"+name+"}}", "{{^"+name+"}}"+inner+"{{/"+name+"}}",
				"\n{{#"+name+"}}\n"+inner+"\n{{/"+name+"}}\n")
		}
		b.WriteString(forms[r.IntN(len(forms))])
	}
	return b.String()
}

func (r randomRuntime) value() any {
	values := []any{"text", "", nil, 0, 7.5, true, false, []any{}, []any{"x", "y"}, map[string]any{"inner": "i"},
		[]any{map[string]any{"inner": 1}}}
	return values[r.IntN(len(values))]
}

// values has some of the variables.
func (r randomRuntime) values() map[string]any {
	all := map[string]any{}
	for range r.IntN(8) {
		all[r.name()] = r.value()
	}
	return all
}

// version returns a new prompt's version, with the variables that its texts use.
func (r randomRuntime) version() (*prompt.Version, error) {
	kind, content := prompt.Text, prompt.Content{Text: r.template(2)}
	if r.IntN(2) == 0 {
		kind, content = prompt.Chat, r.messages()
	}
	template, err := prompt.New(owner, prompt.Draft{Name: "p", Type: kind})
	if err != nil {
		return nil, err
	}
	return template.AddVersion(owner, prompt.VersionDraft{Content: content}, prompt.Labels{})
}

func (r randomRuntime) messages() prompt.Content {
	c := prompt.Content{Messages: []prompt.Message{{Role: "system", Content: r.template(2)}}}
	for range r.IntN(3) {
		role := []string{"system", "developer", "user", "assistant"}[r.IntN(4)]
		c.Messages = append(c.Messages, prompt.Message{Role: role, Content: r.template(1)})
	}
	if r.IntN(2) == 0 { // a placeholder's messages are no instructions
		c.Messages = append(c.Messages, prompt.Message{Placeholder: "history", Required: true})
	}
	return c
}

// items are registry items with random statuses, and the usable ones.
func (r randomRuntime) items(kind string) (items []chat.Item, usable []string) {
	statuses := []chat.ItemStatus{chat.ItemAvailable, chat.ItemDeprecated, chat.ItemDisabled}
	for i := range r.IntN(5) {
		item := chat.Item{ID: fmt.Sprint(kind, i), Status: statuses[r.IntN(len(statuses))]}
		if items = append(items, item); item.Status != chat.ItemDisabled {
			usable = append(usable, item.ID)
		}
	}
	return items, usable
}

// chosen are item ids, which the registry may not have.
func (r randomRuntime) chosen(kind string) (ids []string) {
	for i := range 7 {
		if r.IntN(2) == 0 {
			ids = append(ids, fmt.Sprint(kind, i))
		}
	}
	return ids
}

func selected(ids []string) (out []chat.Selected) {
	for _, id := range ids {
		out = append(out, chat.Selected{ID: id})
	}
	return out
}

func TestNoRuntimeHasAnUnrenderedTagOrADisabledItem(t *testing.T) {
	r := randomRuntime{rand.New(rand.NewPCG(proof.Seed(t), 1))}
	complete, refused := 0, 0
	for range proof.Sample(300, 20_000) {
		offer := chat.Registry{}
		usable := map[string][]string{}
		offer.Agents, usable["agent"] = r.items("agent")
		offer.Tools, usable["tool"] = r.items("tool")
		offer.Capabilities, usable["capability"] = r.items("capability")
		offer.Workflows, usable["workflow"] = r.items("workflow")
		c := chat.Content{Agents: selected(r.chosen("agent")), Tools: selected(r.chosen("tool")),
			Capabilities: r.chosen("capability")}
		for _, id := range r.chosen("workflow") {
			c.Workflows = append(c.Workflows, chat.Workflow{ID: id})
		}
		variables, err := json.Marshal(r.values())
		require.NoError(t, err)
		c.Reply = chat.Reply{Kind: chat.HTTPReply, Connection: "con", Variables: variables}
		c.Prompt = chat.Prompt{Template: "ptpl", Ref: "active"}
		version, err := r.version()
		require.NoError(t, err)
		s := newMocked(t)
		s.registry = &offer
		s.chats.EXPECT().Get(gomock.Any(), owner, chat.ID("ctpl")).Return(&chat.Template{ID: "ctpl", Content: c,
			Resource: access.Resource{Subject: access.Subject{Workspace: "acme", Owner: "ann"}}}, nil)
		s.prompts.EXPECT().Referenced(gomock.Any(), gomock.Any(), gomock.Any()).
			Return(&prompt.Reading{}, version, false, nil)
		found, err := s.Runtime(s.ctx, owner, "ctpl", r.values())
		if chat.IsUnfilled(err) {
			refused++
			continue
		}
		require.NoError(t, err)
		complete++
		if strings.Contains(found.Instructions, "{{") || strings.Contains(found.Instructions, "<%") {
			t.Fatalf("instructions %q of %+v with %s", found.Instructions, version.Content, variables)
		}
		got := map[string][]string{"agent": chat.SelectedIDs(found.Template.Agents),
			"tool": chat.SelectedIDs(found.Template.Tools), "capability": found.Template.Capabilities,
			"workflow": chat.WorkflowIDs(found.Template.Workflows)}
		for _, w := range found.Workflows {
			got["workflow"] = append(got["workflow"], w.ID)
		}
		for kind, ids := range got {
			for _, id := range ids {
				if !slices.Contains(usable[kind], id) {
					t.Fatalf("the %s %s is in the runtime; the registry offers %q", kind, id, usable[kind])
				}
			}
		}
	}
	if complete < 20 || refused < 20 {
		t.Errorf("%d runtimes are complete, and %d are refused: this tests little", complete, refused)
	}
}
