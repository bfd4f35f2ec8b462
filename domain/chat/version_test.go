package chat_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// published returns a template whose greeting was changed since it was published.
func published(t *testing.T) *chat.Template {
	t.Helper()
	c := sharedTemplate()
	require.NoError(t, c.Publish(manager, nil, chat.Release{}))
	first := c.Published
	c = sharedTemplate()
	c.Published, c.Versions, c.Status, c.Greeting = first, 1, chat.StatusPublished, "Hi"
	return c
}

func TestPublishingTheDraftMakesAVersion(t *testing.T) {
	c := published(t)
	version := c.Published
	if c.Served().Greeting != "" || !c.HasChanges() {
		t.Fatal("the draft is served before it is published")
	}
	require.NoError(t, c.Publish(manager, revision.Match{7}, chat.Release{Expected: &version.ID, Reason: "Friendlier"}))
	v, p := c.NewVersion, c.Publication
	if v == nil || v.Number != 2 || v.Greeting != "Hi" || v.CreatedBy != "max" || c.Versions != 2 || c.HasChanges() ||
		c.Served().Greeting != "Hi" {
		t.Fatalf("version %+v", v)
	}
	want := chat.Publication{FromID: version.ID, FromNumber: 1, ToID: v.ID, ToNumber: 2, Reason: "Friendlier",
		By: "max", At: now}
	if p == nil || *p != want {
		t.Errorf("publication %+v", p)
	}
	recorded(t, c, manager, "chat_template.published")
	assert.Equal(t, "revision", c.Revision, 8)
}

func TestPublishingWhatIsPublishedChangesNothing(t *testing.T) {
	c := published(t)
	c.Greeting = ""
	require.NoError(t, c.Publish(manager, nil, chat.Release{}))
	require.NoError(t, c.Publish(manager, nil, chat.Release{Version: c.Published}))
	if c.NewVersion != nil || c.Publication != nil || len(c.Recorded()) > 0 || c.Revision != 7 {
		t.Errorf("saves %+v, %+v", c.NewVersion, c.Publication)
	}
}

func TestRollingBackKeepsTheDraft(t *testing.T) {
	c := published(t)
	first := c.Published
	require.NoError(t, c.Publish(owner, nil, chat.Release{}))
	require.NoError(t, c.Publish(owner, nil, chat.Release{Version: first}))
	if c.Published != first || c.Greeting != "Hi" || c.Served().Greeting != "" || c.Versions != 2 ||
		c.Publication.FromNumber != 2 {
		t.Errorf("published %+v", c.Published)
	}
}

func TestPublicationsAreRefused(t *testing.T) {
	other := chat.VersionID("cver_other")
	empty := chat.VersionID("")
	for name, tt := range map[string]struct {
		change  func(*chat.Template)
		release chat.Release
		want    error
	}{
		"when another version was expected": {nil, chat.Release{Expected: &other}, chat.ErrPublishedChanged},
		"when none was expected":            {nil, chat.Release{Expected: &empty}, chat.ErrPublishedChanged},
		"when the prompt of the draft is gone": {
			func(c *chat.Template) { c.PromptGone = true }, chat.Release{}, chat.ErrPromptGone},
		"when the prompt of a version is gone": {
			nil, chat.Release{Version: &chat.Version{}, PromptGone: true}, chat.ErrPromptGone},
		"beyond a thousand versions": {
			func(c *chat.Template) { c.Versions = 1000 }, chat.Release{}, chat.ErrVersionLimit},
	} {
		t.Run(name, func(t *testing.T) {
			c := published(t)
			if tt.change != nil {
				tt.change(c)
			}
			require.ErrorIs(t, c.Publish(manager, nil, tt.release), tt.want)
			if c.NewVersion != nil || c.Publication != nil {
				t.Error("something is saved")
			}
		})
	}
	t.Run("with a reason of more than 500 characters", func(t *testing.T) {
		err := published(t).Publish(manager, nil, chat.Release{Reason: strings.Repeat("é", 501)})
		if got := faulty(t, err); !slices.Equal(got, []string{"/reason too_long"}) {
			t.Error(got)
		}
	})
	for name, by := range map[string]struct {
		by   func() error
		want error
	}{
		"an editor":  {func() error { return published(t).Publish(editor, nil, chat.Release{}) }, chat.ErrForbidden},
		"a stranger": {func() error { return published(t).Publish(stranger, nil, chat.Release{}) }, chat.ErrNotFound},
	} {
		t.Run("of "+name, func(t *testing.T) { require.ErrorIs(t, by.by(), by.want) })
	}
}

func TestTheStatusPublishedPublishesTheDraft(t *testing.T) {
	status := chat.StatusPublished
	c := sharedTemplate()
	require.NoError(t, c.Change(manager, nil, chat.Changes{Status: &status}, facts(t)))
	if c.NewVersion == nil || c.Published != c.NewVersion || c.Publication == nil || c.Revision != 8 {
		t.Errorf("version %+v", c.NewVersion)
	}
	recorded(t, c, manager, "chat_template.updated", "chat_template.published")
	c = published(t)
	c.Status = chat.StatusDisabled
	require.NoError(t, c.Change(manager, nil, chat.Changes{Status: &status}, facts(t)))
	if c.NewVersion == nil || c.NewVersion.Number != 2 {
		t.Error("the draft is not published when the chat is enabled again")
	}
	c = published(t)
	require.NoError(t, c.Change(editor, nil, chat.Changes{Description: new("x")}, facts(t)))
	if c.NewVersion != nil || c.Served().Description != "" {
		t.Error("a change of a published chat is published by itself")
	}
	template, err := chat.New(owner, chat.Draft{Content: chat.Content{Name: "n"}, Status: status}, facts(t))
	require.NoError(t, err)
	if template.NewVersion == nil || template.Versions != 1 || template.Revision != 1 {
		t.Errorf("a chat that is created as published has the version %+v", template.NewVersion)
	}
}

func TestDifferences(t *testing.T) {
	full := chat.Content{Name: "a", Description: "b", AvatarURL: "c", Instructions: "d", Prompt: chat.Prompt{Ref: "e"},
		Agents: []chat.Selected{{ID: "f", Config: json.RawMessage(`{"a": 1}`)}}, Tools: []chat.Selected{{ID: "g"}},
		Capabilities: []string{"h"}, Model: &prompt.ModelConfig{}, Greeting: "i", Starters: []string{"j"},
		Metadata: json.RawMessage(`{"k":1}`), Reply: chat.Reply{Kind: chat.HTTPReply}, Theme: chat.Theme{Font: "l"}}
	want := []string{"name", "description", "avatar_url", "instructions", "prompt", "agents", "tools", "capabilities",
		"model_config", "greeting", "conversation_starters", "metadata", "reply", "theme"}
	assert.EqualSlice(t, "differences", (chat.Content{}).Differences(full), want)
	same := full
	same.Agents = []chat.Selected{{ID: "f", Config: json.RawMessage(`{"a":1}`)}}
	if got := full.Differences(same); len(got) != 0 {
		t.Errorf("differences in white space %v", got)
	}
	empty := chat.Content{Agents: []chat.Selected{}, Metadata: json.RawMessage(`{}`),
		Reply: chat.Reply{Kind: chat.NoReply}}
	if got := (chat.Content{}).Differences(empty); len(got) != 0 {
		t.Errorf("differences of empty contents %v", got)
	}
}

func TestVersionRefs(t *testing.T) {
	id := string(published(t).Published.ID)
	for text, want := range map[string]chat.VersionRef{
		"draft": {Draft: true}, "published": {Published: true}, "v12": {Number: 12}, id: {ID: chat.VersionID(id)},
		"v0": {}, "v01": {}, "12": {}, "v": {}, "v-1": {}, "": {}, "latest": {},
	} {
		assert.Equal(t, text+": ParseVersionRef", chat.ParseVersionRef(text), want)
	}
}

func TestCopyingAChat(t *testing.T) {
	c := published(t)
	c.Tools = []chat.Selected{{ID: "gone"}} // what the registry no longer has is copied all the same
	template, err := c.Copy(editorWithin, chat.Copying{}, facts(t))
	require.NoError(t, err)
	if template.Name != "Support copy" || template.Owner != "eve" || template.Status != chat.StatusDraft ||
		template.Published != nil ||
		template.ID == c.ID || template.Instructions != "Be kind." || template.Visibility != access.Private {
		t.Errorf("the copy: %+v", template)
	}
	_, err = c.Copy(viewer, chat.Copying{}, facts(t))
	require.ErrorIs(t, err, chat.ErrForbidden)
	_, err = c.Copy(stranger, chat.Copying{}, facts(t))
	require.ErrorIs(t, err, chat.ErrNotFound)
}

// editorWithin is the editor as a member of the workspace, who can create templates.
var editorWithin = actor("eve", identity.Member)

func TestWorkflowsArePartOfVersions(t *testing.T) {
	c := published(t)
	c.Greeting = ""
	_, _, err := c.Attach(editor, "workflow", registry(t))
	require.NoError(t, err)
	if got := c.Published.Differences(c.Content); !slices.Equal(got, []string{"workflows"}) || !c.HasChanges() {
		t.Errorf("the draft differs in %q", got)
	}
	if len(c.Served().Workflows) != 0 {
		t.Error("attaching changes what is published")
	}
	first := c.Published
	require.NoError(t, c.Publish(manager, nil, chat.Release{}))
	require.NoError(t, c.Detach(editor, nil, "workflow"))
	if got := c.Served().Workflows; len(got) != 1 || got[0].ID != "workflow" {
		t.Errorf("after it is detached from the draft, %+v are served", got)
	}
	require.NoError(t, c.Publish(manager, nil, chat.Release{Version: first}))
	if len(c.Served().Workflows) != 0 {
		t.Error("rolling back keeps the workflow of the later version")
	}
	one := chat.Content{Workflows: []chat.Workflow{{ID: "a"}, {ID: "b"}}}
	two := chat.Content{Workflows: []chat.Workflow{{ID: "b", AttachedBy: "eve"}, {ID: "a"}}}
	if got := one.Differences(two); len(got) > 0 {
		t.Errorf("the same workflows in another order differ in %q", got)
	}
}
