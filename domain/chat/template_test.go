package chat_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNew(t *testing.T) {
	t.Run("a member makes a private draft of their own", func(t *testing.T) {
		c, err := chat.New(owner, chat.Draft{Content: chat.Content{Name: "Support"}}, facts(t))
		require.NoError(t, err)
		if !id.Valid(chat.Prefix, string(c.ID)) || c.Owner != "ann" || c.Status != chat.StatusDraft ||
			c.Visibility != access.Private || c.Revision != 1 || c.CreatedBy != "ann" || c.CreatedAt != now ||
			c.UpdatedAt != now || c.Access(owner) != access.Owner {
			t.Errorf("template %+v", c)
		}
		recorded(t, c, owner, "chat_template.created")
	})
	for name, by := range map[string]identity.Actor{"a viewer of the workspace": actor("vic", identity.Viewer),
		"a key for viewing": capped, "nobody": nobody} {
		t.Run(name+" makes none", func(t *testing.T) {
			c, err := chat.New(by, chat.Draft{Content: chat.Content{Name: "Support"}}, facts(t))
			require.ErrorIs(t, err, identity.ErrForbidden)
			if c != nil {
				t.Error("there is one")
			}
		})
	}
}

func repeated[T any](n int, item func(i int) T) (out []T) {
	for i := range n {
		out = append(out, item(i))
	}
	return out
}

func TestFields(t *testing.T) {
	good := chat.Content{Name: "Support"}
	for label, tt := range map[string]struct {
		change func(*chat.Draft)
		want   []string
	}{
		"nothing but a name":       {func(*chat.Draft) {}, nil},
		"no name":                  {func(d *chat.Draft) { d.Name = "" }, []string{"/name too_short"}},
		"a name of 120 characters": {func(d *chat.Draft) { d.Name = strings.Repeat("ü", 120) }, nil},
		"a name of 121": {func(d *chat.Draft) { d.Name = strings.Repeat("ü", 121) },
			[]string{"/name too_long"}},
		"a name with a line feed":     {func(d *chat.Draft) { d.Name = "a\nb" }, []string{"/name invalid_format"}},
		"a name that hides something": {func(d *chat.Draft) { d.Name = "a\u202eb" }, []string{"/name invalid_format"}},
		"a name that ends in a space": {func(d *chat.Draft) { d.Name = "a " }, []string{"/name invalid_format"}},
		"a long description": {func(d *chat.Draft) { d.Description = strings.Repeat("ü", 2001) },
			[]string{"/description too_long"}},
		"NUL in the description": {func(d *chat.Draft) { d.Description = "\x00" },
			[]string{"/description invalid_characters"}},
		"texts that read in another order": {func(d *chat.Draft) {
			d.Description, d.Greeting, d.Starters = "a\u202eb", "a\u2066b", []string{"fine", "a\u202db"}
		}, []string{"/description invalid_characters", "/greeting invalid_characters",
			"/conversation_starters/1 invalid_characters"}},
		"a long greeting": {func(d *chat.Draft) { d.Greeting = strings.Repeat("ü", 2001) },
			[]string{"/greeting too_long"}},
		"an avatar": {func(d *chat.Draft) { d.AvatarURL = "https://example.com/a.png?x=1#y" }, nil},
		"an avatar over http": {func(d *chat.Draft) { d.AvatarURL = "http://example.com/a.png" },
			[]string{"/avatar_url invalid_format"}},
		"a script as avatar": {func(d *chat.Draft) { d.AvatarURL = "javascript:alert(1)" },
			[]string{"/avatar_url invalid_format"}},
		"an avatar without a host": {func(d *chat.Draft) { d.AvatarURL = "https:///a.png" },
			[]string{"/avatar_url invalid_format"}},
		"an avatar with a user": {func(d *chat.Draft) { d.AvatarURL = "https://a:b@example.com/" },
			[]string{"/avatar_url invalid_format"}},
		"instructions of 64 KiB": {func(d *chat.Draft) { d.Instructions = strings.Repeat("x", 64<<10) }, nil},
		"instructions of more": {func(d *chat.Draft) { d.Instructions = strings.Repeat("ü", 32<<10) + "x" },
			[]string{"/instructions too_long"}},
		"NUL in the instructions": {func(d *chat.Draft) { d.Instructions = "a\x00" },
			[]string{"/instructions invalid_characters"}},
		"a prompt": {func(d *chat.Draft) { d.Prompt = chat.Prompt{Template: "ptpl", Ref: "v12"} },
			nil},
		"a prompt beside instructions": {
			func(d *chat.Draft) { d.Prompt, d.Instructions = chat.Prompt{Template: "ptpl", Ref: "active"}, "x" },
			[]string{"/prompt not_allowed_value"}},
		"a prompt without a reference": {func(d *chat.Draft) { d.Prompt = chat.Prompt{Template: "ptpl"} },
			[]string{"/prompt/ref invalid_format"}},
		"a reference with a zero": {func(d *chat.Draft) { d.Prompt = chat.Prompt{Template: "ptpl", Ref: "v012"} },
			[]string{"/prompt/ref invalid_format"}},
		"a reference with a space": {func(d *chat.Draft) { d.Prompt = chat.Prompt{Template: "ptpl", Ref: "a b"} },
			[]string{"/prompt/ref invalid_format"}},
		"11 agents": {func(d *chat.Draft) {
			d.Agents = repeated(11, func(i int) chat.Selected { return chat.Selected{ID: fmt.Sprint(i)} })
		}, []string{"/agents too_many_items"}},
		"51 tools": {func(d *chat.Draft) {
			d.Tools = repeated(51, func(i int) chat.Selected { return chat.Selected{ID: fmt.Sprint(i)} })
		}, []string{"/tools too_many_items"}},
		"21 capabilities": {
			func(d *chat.Draft) { d.Capabilities = repeated(21, func(i int) string { return fmt.Sprint(i) }) },
			[]string{"/capabilities too_many_items"}},
		"the same twice": {func(d *chat.Draft) {
			d.Agents, d.Tools, d.Capabilities = []chat.Selected{{ID: "a"}, {ID: "a"}},
				[]chat.Selected{{ID: "a"}, {ID: "b"}, {ID: "b"}}, []string{"c", "c"}
		}, []string{"/agents/1/id duplicate_item", "/tools/2/id duplicate_item", "/capabilities/1 duplicate_item"}},
		"11 starters": {
			func(d *chat.Draft) { d.Starters = repeated(11, func(int) string { return "x" }) },
			[]string{"/conversation_starters too_many_items"}},
		"starters too long": {
			func(d *chat.Draft) { d.Starters = []string{"", strings.Repeat("ü", 200), strings.Repeat("ü", 201)} },
			[]string{"/conversation_starters/0 too_short", "/conversation_starters/2 too_long"}},
		"metadata of more than 16 KiB": {
			func(d *chat.Draft) { d.Metadata = json.RawMessage(`"` + strings.Repeat("x", 16<<10) + `"`) },
			[]string{"/metadata too_long"}},
		"a status and a visibility that there are not": {func(d *chat.Draft) {
			d.Status, d.Visibility = "live",
				"public"
		}, []string{"/status not_allowed_value", "/visibility not_allowed_value"}},
	} {
		t.Run(label, func(t *testing.T) {
			d := chat.Draft{Content: good}
			tt.change(&d)
			_, err := chat.New(owner, d, facts(t))
			assert.EqualSlice(t, "wrong are", faulty(t, err), tt.want)
		})
	}
}

func TestChange(t *testing.T) {
	c := sharedTemplate()
	by := with(manager, func(a *identity.Actor) { a.At = now.Add(1) })
	publication, metadata := chat.StatusPublished, json.RawMessage(`{"a":1}`)
	require.ErrorIs(t, c.Change(by, nil, chat.Changes{
		Name: new("Help"), Description: new("d"), AvatarURL: new("https://example.com/"), Instructions: new(""),
		Prompt:       &chat.Prompt{Template: "ptpl", Ref: "live"},
		Agents:       &[]chat.Selected{{ID: "agent"}},
		Tools:        &[]chat.Selected{{ID: "tool", Config: json.RawMessage(`{"queue":"a"}`)}},
		Capabilities: &[]string{"capability"},
		Model:        func(*prompt.ModelConfig) *prompt.ModelConfig { return &prompt.ModelConfig{Provider: "p"} },
		Greeting:     new("g"), Starters: &[]string{"s"},
		Metadata: func(json.RawMessage) json.RawMessage { return metadata }, Status: &publication,
	}, facts(t)), nil)
	want := chat.Content{
		Name: "Help", Description: "d", AvatarURL: "https://example.com/",
		Prompt: chat.Prompt{Template: "ptpl", Ref: "live"}, Agents: []chat.Selected{{ID: "agent"}},
		Tools:        []chat.Selected{{ID: "tool", Config: json.RawMessage(`{"queue":"a"}`)}},
		Capabilities: []string{"capability"}, Model: &prompt.ModelConfig{Provider: "p"}, Greeting: "g",
		Starters: []string{"s"}, Metadata: metadata,
	}
	if !reflect.DeepEqual(c.Content, want) || c.Status != publication || c.Revision != 8 || c.UpdatedAt != by.At {
		t.Errorf("template %+v", c)
	}
	recorded(t, c, by, "chat_template.updated", "chat_template.published")
	t.Run("the event tells what changed, and nothing of what it says", func(t *testing.T) {
		data := c.Recorded()[0].Data
		if data["name"] != (event.Change{From: "Support", To: "Help"}) ||
			data["status"] != (event.Change{From: chat.StatusDraft, To: publication}) || data["instructions"] != true ||
			len(data) != 13 {
			t.Errorf("data = %v", data)
		}
		if text, err := json.Marshal(data); err != nil || strings.Contains(string(text), "Be kind") ||
			strings.Contains(string(text), "queue") {
			t.Errorf("data = %s, %v", text, err)
		}
	})
	t.Run("the same again changes nothing", func(t *testing.T) {
		second := *c
		second.Log = event.Log{}
		require.ErrorIs(t, second.Change(by, nil, chat.Changes{
			Name: new("Help"), Prompt: &chat.Prompt{Template: "ptpl", Ref: "live"},
			Agents: &[]chat.Selected{{ID: "agent"}}, Capabilities: &[]string{"capability"},
			Model:  func(m *prompt.ModelConfig) *prompt.ModelConfig { return &prompt.ModelConfig{Provider: "p"} },
			Status: &publication,
		}, facts(t)), nil)
		if len(second.Recorded()) > 0 || second.Revision != 8 {
			t.Errorf("recorded %d, revision %d", len(second.Recorded()), second.Revision)
		}
	})
	t.Run("a prompt can be taken away", func(t *testing.T) {
		require.NoError(t, c.Change(by, nil, chat.Changes{Prompt: &chat.Prompt{}}, chat.Facts{Registry: registry(t)}))
		assert.Equal(t, "prompt", c.Prompt, (chat.Prompt{}))
	})
}

func TestChangeLeavesAloneWhatTheRegistryLost(t *testing.T) {
	stale := func() *chat.Template {
		c := sharedTemplate()
		c.Agents, c.Tools, c.Capabilities = []chat.Selected{{ID: "gone"}}, []chat.Selected{{ID: "off-tool"}},
			[]string{"gone"}
		c.Instructions, c.Prompt, c.PromptGone = "", chat.Prompt{Template: "ptpl", Ref: "v9"}, true
		return c
	}
	item := chat.Facts{Registry: registry(t)}
	require.ErrorIs(t, stale().Change(editor, nil,
		chat.Changes{Greeting: new("x"), Prompt: &chat.Prompt{Template: "ptpl", Ref: "v9"}}, item), nil)
	require.ErrorIs(t, stale().Change(editor, nil, chat.Changes{Agents: &[]chat.Selected{{ID: "agent"}, {ID: "gone"}},
		Tools: &[]chat.Selected{{ID: "off-tool"}}, Capabilities: &[]string{"gone"}}, item), nil)
	require.ErrorIs(t,
		stale().Change(editor, nil, chat.Changes{Agents: &[]chat.Selected{{ID: "gone"}, {ID: "other"}}}, item),
		chat.ErrUnknownItem)
	require.ErrorIs(t, stale().Change(editor, nil, chat.Changes{Capabilities: &[]string{"other"}}, item),
		chat.ErrUnknownItem)
	require.ErrorIs(t, stale().Change(editor, nil,
		chat.Changes{Agents: &[]chat.Selected{{ID: "gone", Config: json.RawMessage(`{}`)}}}, item), chat.ErrUnknownItem)
	require.ErrorIs(t, stale().Change(editor, nil, chat.Changes{Prompt: &chat.Prompt{Template: "ptpl", Ref: "v8"}},
		item),
		chat.ErrPromptUnavailable)
}

func TestTransfer(t *testing.T) {
	user := identity.UserID("eve")
	t.Run("the old owner goes on as a manager, the new one needs no membership", func(t *testing.T) {
		c := sharedTemplate()
		require.NoError(t, c.Change(owner, nil, chat.Changes{Owner: &user}, handover(t, user)))
		if c.Owner != user || c.Access(owner) != access.Manager || c.Revision != 8 {
			t.Errorf("owner %s, the old one is %s, revision %d", c.Owner, c.Access(owner), c.Revision)
		}
		toSave(t, c, chat.Member{User: "ann", Role: access.Manager, InvitedBy: "ann", Revision: 1, CreatedAt: now,
			UpdatedAt: now}, chat.Member{User: "eve"})
		recorded(t, c, owner, "chat_template.transferred")
	})
	t.Run("of an owner who has left by the workspace's owner", func(t *testing.T) {
		c := sharedTemplate()
		c.OwnerLeft = true
		require.NoError(t, c.Change(boss, nil, chat.Changes{Owner: &user}, handover(t, user)))
		if c.Owner != user || c.OwnerLeft {
			t.Errorf("owner %s, left %v", c.Owner, c.OwnerLeft)
		}
		toSave(t, c, chat.Member{User: "eve"})
	})
	t.Run("to a user outside the workspace", func(t *testing.T) {
		require.ErrorIs(t, sharedTemplate().Change(owner, nil, chat.Changes{Owner: new(identity.UserID("usr"))},
			handover(t,
				"usr")),
			chat.ErrUserNotInWorkspace)
	})
	t.Run("to oneself changes nothing", func(t *testing.T) {
		c := sharedTemplate()
		require.NoError(t, c.Change(owner, nil, chat.Changes{Owner: new(identity.UserID("ann"))}, handover(t, "ann")))
		unchanged(t, c, sharedTemplate())
	})
}

func TestAChatReadsOnlyReleasedVersionsAsTheLatest(t *testing.T) {
	for ref, want := range map[string]prompt.Ref{
		"latest":     {Latest: true, Frozen: true},
		"active":     {Active: true},
		"previous":   {Previous: true},
		"v12":        {Number: 12},
		"production": {Label: "production"},
	} {
		assert.Equal(t, ref+": names", (chat.Prompt{Template: "ptpl", Ref: ref}).Version(), want)
	}
}
