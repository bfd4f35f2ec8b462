package chats_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// unfilling is a mocked service with a prompt that needs shop and city, and with chats that use it.
func unfilling(t *testing.T, all []*chat.Template, released int) *mockedService {
	s := newMocked(t)
	reading := &prompt.Reading{ID: "ptpl", Subject: access.Subject{Workspace: "acme", Owner: "ann"}}
	v := &prompt.Version{Content: prompt.Content{Text: "{{shop}} in {{city}}", Variables: []prompt.Variable{
		{Name: "shop", Type: "string", Required: true}, {Name: "city", Type: "string", Required: true}}}}
	v.ID, v.Number, v.Template, v.Frozen = "pver", 2, "ptpl", true
	s.prompts.EXPECT().GetVersion(s.ctx, anything, prompt.ID("ptpl"), prompt.Ref{ID: "pver"}).Return(reading, v, nil)
	latest := &prompt.Version{}
	latest.Number = released
	s.prompts.EXPECT().GetVersion(s.ctx, anything, prompt.ID("ptpl"), prompt.Ref{Latest: true, Frozen: true}).
		Return(reading, latest, nil).AnyTimes()
	var uses []prompt.Use
	for _, template := range all {
		uses = append(uses, prompt.Use{ID: string(template.ID)})
		s.chats.EXPECT().Get(s.ctx, anything, template.ID).Return(template, nil).AnyTimes()
	}
	s.lists.EXPECT().Uses(s.ctx, identity.WorkspaceID("acme"), prompt.ID("ptpl"), []string{"active", "latest"}, 201).
		Return(uses, nil).AnyTimes()
	return s
}

func replier(id chat.ID, ref, variables string) *chat.Template {
	return &chat.Template{ID: id, Resource: access.Resource{Subject: access.Subject{Workspace: "acme", Owner: "ann"}},
		Content: chat.Content{Name: "Chat " + string(id), Prompt: chat.Prompt{Template: "ptpl", Ref: ref},
			Reply: chat.Reply{Kind: chat.HTTPReply, Connection: "con", Variables: []byte(variables)}}}
}

func TestAnActivationNamesTheChatsThatLackVariables(t *testing.T) {
	silent := replier("silent", "active", `{}`)
	silent.Reply = chat.Reply{}
	lost := replier("lost", "active", `{}`)
	lost.PromptLost = true
	foreign := replier("foreign", "active", `{}`)
	foreign.Owner = "sam"
	published := replier("published", "active", `{"shop":"Pens","city":"Rome"}`)
	published.Published = &chat.Version{Content: replier("", "active", `{"city":"Rome"}`).Content}
	all := []*chat.Template{replier("filled", "active", `{"shop":"Pens","city":"Rome"}`),
		replier("empty", "active", `{}`), replier("mistyped", "latest", `{"shop":7,"city":"Rome"}`),
		replier("label", "staging", `{}`), published, silent, lost, foreign}
	named := func(t *testing.T, released int) (out []string) {
		s := unfilling(t, all, released)
		found, isComplete, err := s.Unfilled(s.ctx, owner, "ptpl", prompt.Ref{ID: "pver"})
		require.NoError(t, err)
		assert.Equal(t, "complete", isComplete, true)
		for _, u := range found {
			out = append(out, fmt.Sprint(u.ID, " ", u.Name, " ", u.Variables))
		}
		return out
	}
	want := []string{"empty Chat empty [city shop]", "mistyped Chat mistyped [shop]",
		"published Chat published [shop]"}
	if got := named(t, 1); !slices.Equal(got, want) {
		t.Errorf("named are %q", got)
	}
	if got := named(t, 3); !slices.Equal(got, slices.Delete(want, 1, 2)) {
		t.Errorf("beside a later released version, named are %q", got)
	}
}

func TestAnActivationNamesAtMost20Chats(t *testing.T) {
	var all []*chat.Template
	for i := range 30 {
		all = append(all, replier(chat.ID(fmt.Sprintf("c%02d", i)), "active", `{}`))
	}
	s := unfilling(t, all, 1)
	found, isComplete, err := s.Unfilled(s.ctx, owner, "ptpl", prompt.Ref{ID: "pver"})
	require.NoError(t, err)
	if len(found) != 20 || isComplete {
		t.Errorf("%d are named, complete: %v", len(found), isComplete)
	}
}

func TestChatsAreNamedOnlyToCallersWhoMayReadThem(t *testing.T) {
	s := unfilling(t, nil, 1)
	reader := owner
	reader.Scopes = "prompts:read"
	found, _, err := s.Unfilled(s.ctx, reader, "ptpl", prompt.Ref{ID: "pver"})
	require.NoError(t, err)
	assert.Equal(t, "chats", len(found), 0)
	_, _, err = unfilling(t, nil, 1).Unfilled(s.ctx, stranger, "ptpl", prompt.Ref{ID: "pver"})
	require.ErrorIs(t, err, prompt.ErrNotFound)
}
