package chat_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNewRegistry(t *testing.T) {
	t.Run("what an item leaves out has a default", func(t *testing.T) {
		item := registry(t).Agents[0]
		if item.Name != "agent" || item.Status != chat.ItemAvailable || item.Effects != chat.EffectsRead {
			t.Errorf("item %+v", item)
		}
	})
	t.Run("the revision is a hash of all that is in it", func(t *testing.T) {
		make := func(change func(*chat.Item)) string {
			item := chat.Item{ID: "a", ConfigSchema: json.RawMessage(`{}`)}
			change(&item)
			r, errs := chat.NewRegistry(chat.Registry{Agents: []chat.Item{item}, Tools: []chat.Item{{ID: "t"}}})
			if errs != nil {
				t.Fatal(errs)
			}
			return r.Revision
		}
		seen := map[string]bool{}
		for _, change := range []func(*chat.Item){
			func(*chat.Item) {}, func(i *chat.Item) { i.ID = "b" }, func(i *chat.Item) { i.Description = "x" },
			func(i *chat.Item) { i.Version = "2" }, func(i *chat.Item) { i.Status = chat.ItemDisabled },
			func(i *chat.Item) { i.ConfigSchema = json.RawMessage(`{"type":"object"}`) },
			func(i *chat.Item) { i.Requires = []string{"t"} }, func(i *chat.Item) { i.Effects = chat.EffectsWrite },
			func(i *chat.Item) { i.EmbedSafe = true },
		} {
			if r := make(change); r != make(change) || seen[r] || len(r) != 16 {
				t.Errorf("revision %q", r)
			} else {
				seen[r] = true
			}
		}
	})
	for label, tt := range map[string]struct {
		r    chat.Registry
		want []string
	}{
		"an id that is none": {chat.Registry{Agents: []chat.Item{{ID: "A b"}}}, []string{"agents[0].id"}},
		"no id":              {chat.Registry{Tools: []chat.Item{{}}}, []string{"tools[0].id"}},
		"an id of 65 characters": {chat.Registry{Workflows: []chat.Item{{ID: strings.Repeat("a", 65)}}},
			[]string{"workflows[0].id"}},
		"the same id twice in a list": {chat.Registry{Capabilities: []chat.Item{{ID: "a"}, {ID: "a"}}},
			[]string{"capabilities[1].id"}},
		"the same id in two lists": {chat.Registry{Agents: []chat.Item{{ID: "a"}}, Tools: []chat.Item{{ID: "a"}}},
			nil},
		"a status that there is not": {chat.Registry{Agents: []chat.Item{{ID: "a", Status: "new"}}},
			[]string{"agents[0].status"}},
		"effects that there are not": {chat.Registry{Agents: []chat.Item{{ID: "a", Effects: "none"}}},
			[]string{"agents[0].effects"}},
		"requiring what is not there": {chat.Registry{Agents: []chat.Item{{ID: "a", Requires: []string{"b"}}}},
			[]string{"agents[0].requires"}},
		"requiring itself": {chat.Registry{Agents: []chat.Item{{ID: "a", Requires: []string{"a"}}}},
			[]string{"agents[0].requires"}},
		"requiring a later item": {chat.Registry{Agents: []chat.Item{{ID: "a", Requires: []string{"w"}}},
			Workflows: []chat.Item{{ID: "w"}}}, nil},
		"a schema that is none":    {schema(`{"type":"strnig"}`), []string{"tools[0].config_schema"}},
		"a schema that is a list":  {schema(`[]`), []string{"tools[0].config_schema"}},
		"a schema that is no JSON": {schema(`{`), []string{"tools[0].config_schema"}},
		"a schema that refers to one": {schema(`{"$ref":"file:///etc/hostname"}`),
			[]string{"tools[0].config_schema"}},
		"or to one on the network": {schema(`{"$ref":"https://example.com/schema.json"}`),
			[]string{"tools[0].config_schema"}},
		"a pattern that is none": {schema(`{"pattern":"("}`), []string{"tools[0].config_schema"}},
		"a schema that refers to itself": {
			schema(`{"$defs":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`), nil},
		"all of it at once": {chat.Registry{Agents: []chat.Item{{ID: "A", Status: "x"}}, Tools: []chat.Item{{ID: "B"}}},
			[]string{"agents[0].id", "agents[0].status", "tools[0].id"}},
	} {
		t.Run(label, func(t *testing.T) {
			registry, errs := chat.NewRegistry(tt.r)
			var got []string
			for _, err := range errs {
				e, ok := errors.AsType[*chat.ItemError](err)
				if !ok {
					t.Fatal(err)
				}
				got = append(got, e.Key)
			}
			if !slices.Equal(got, tt.want) || (registry == nil) != (len(tt.want) > 0) {
				t.Errorf("wrong are %q, want %q", got, tt.want)
			}
		})
	}
}

func schema(s string) chat.Registry {
	return chat.Registry{Tools: []chat.Item{{ID: "t", ConfigSchema: json.RawMessage(s)}}}
}

func TestChoices(t *testing.T) {
	tool := func(config string) chat.Content {
		return chat.Content{Tools: []chat.Selected{{ID: "tool", Config: json.RawMessage(config)}}}
	}
	unknown, invalid := chat.ErrUnknownItem.Code, chat.ErrInvalidConfig.Code
	for label, tt := range map[string]struct {
		c    chat.Content
		err  error
		want []string
	}{
		"what the registry offers": {chat.Content{Agents: []chat.Selected{{ID: "agent"}, {ID: "old-agent"}},
			Tools:        []chat.Selected{{ID: "tool", Config: json.RawMessage(`{"queue":"a","n":5}`)}},
			Capabilities: []string{"capability"}}, nil, nil},
		"what it does not": {chat.Content{Agents: []chat.Selected{{ID: "agent"}, {ID: "tool"}},
			Tools: []chat.Selected{{ID: "x"}}, Capabilities: []string{"capability", "y"}}, chat.ErrUnknownItem,
			[]string{"/agents/1/id " + unknown, "/tools/0/id " + unknown, "/capabilities/1 " + unknown}},
		"what is disabled": {chat.Content{Agents: []chat.Selected{{ID: "off-agent"}}},
			chat.ErrUnknownItem, []string{"/agents/0/id " + unknown}},
		"no configuration where the schema asks for": {chat.Content{Tools: []chat.Selected{{ID: "tool"}}},
			chat.ErrInvalidConfig, []string{"/tools/0/config/queue " + invalid}},
		"a configuration that breaks the schema": {tool(`{"queue":"way too long","level":"top","n":9,"x":1}`),
			chat.ErrInvalidConfig, []string{"/tools/0/config/level " + invalid, "/tools/0/config/n " + invalid,
				"/tools/0/config/queue " + invalid, "/tools/0/config/queue " + invalid,
				"/tools/0/config/x " + invalid}},
		"one that is no object": {tool(`[1]`), chat.ErrInvalidConfig, []string{"/tools/0/config " + invalid}},
		"both kinds of faults": {chat.Content{Agents: []chat.Selected{{ID: "x"}}, Tools: []chat.Selected{{ID: "tool"}}},
			chat.ErrUnknownItem,
			[]string{"/agents/0/id " + unknown, "/tools/0/config/queue " + invalid}},
		"any configuration where there is no schema": {
			chat.Content{Agents: []chat.Selected{{ID: "agent", Config: json.RawMessage(`{"a":[1]}`)}}}, nil, nil},
	} {
		t.Run(label, func(t *testing.T) {
			tt.c.Name = "Support"
			_, err := chat.New(owner, chat.Draft{Content: tt.c}, facts(t))
			require.ErrorIs(t, err, tt.err)
			got := faulty(t, err)
			slices.Sort(got)
			slices.Sort(tt.want)
			assert.EqualSlice(t, "wrong are", got, tt.want)
		})
	}
	t.Run("a prompt that the caller cannot see", func(t *testing.T) {
		_, err := chat.New(owner, chat.Draft{
			Content: chat.Content{Name: "Support", Prompt: chat.Prompt{Template: "ptpl", Ref: "v1"}}},
			chat.Facts{Registry: registry(t)})
		require.ErrorIs(t, err, chat.ErrPromptUnavailable)
		assert.EqualSlice(t, "wrong are", faulty(t, err), []string{"/prompt prompt_unavailable"})
	})
}

// TestNoAnswerQuotesAConfiguration runs values through every keyword that a schema may have.
func TestNoAnswerQuotesAConfiguration(t *testing.T) {
	const value = "s3cretvalue"
	for keyword, config := range map[string]string{
		`"type":"integer"`: `"X"`, `"enum":["a",1]`: `"X"`, `"const":"a"`: `"X"`, `"format":"date-time"`: `"X"`,
		`"format":"uri"`: `"X y"`, `"minLength":99`: `"X"`, `"maxLength":3`: `"X"`, `"pattern":"^[0-9]+$"`: `"X"`,
		`"minItems":3`: `["X"]`, `"maxItems":0`: `["X"]`, `"uniqueItems":true`: `["X","X"]`,
		`"contains":{"const":1}`: `["X"]`, `"prefixItems":[{"type":"number"}]`: `["X"]`,
		`"items":{"type":"number"}`: `["X"]`,
		`"minimum":5`:               `4`, `"maximum":5`: `6`, `"exclusiveMinimum":5`: `5`, `"exclusiveMaximum":5`: `5`,
		`"multipleOf":3`:   `4`,
		`"required":["a"]`: `{"b":"X"}`, `"properties":{"b":{"type":"number"}}`: `{"b":"X"}`,
		`"additionalProperties":{"type":"number"}`: `{"b":"X"}`, `"minProperties":2`: `{"b":"X"}`,
		`"maxProperties":0`:               `{"b":"X"}`,
		`"dependentRequired":{"b":["c"]}`: `{"b":"X"}`, `"anyOf":[{"type":"number"},{"type":"null"}]`: `"X"`,
		`"oneOf":[{"type":"number"},{"type":"null"}]`: `"X"`, `"allOf":[{"type":"number"}]`: `"X"`, `"not":{}`: `"X"`,
		`"unevaluatedProperties":false`: `{"b":"X"}`,
	} {
		t.Run(keyword, func(t *testing.T) {
			r, errs := chat.NewRegistry(schema(`{"properties":{"v":{` + keyword + `}}}`))
			if errs != nil {
				t.Fatal(errs)
			}
			config := `{"v":` + strings.ReplaceAll(config, "X", value) + `}`
			_, err := chat.New(owner, chat.Draft{
				Content: chat.Content{Name: "Support",
					Tools: []chat.Selected{{ID: "t", Config: json.RawMessage(config)}}}}, chat.Facts{Registry: r})
			require.ErrorIs(t, err, chat.ErrInvalidConfig)
			f, _ := errors.AsType[*fault.Error](err)
			for _, field := range f.Fields {
				if strings.Contains(field.Detail, value) || !strings.HasPrefix(field.Pointer, "/tools/0/config/v") ||
					field.Detail == "" {
					t.Errorf("field %+v", field)
				}
			}
		})
	}
}

func TestIssues(t *testing.T) {
	c := sharedTemplate()
	if issues := registry(t).Issues(new(c.Summary())); issues != nil {
		t.Errorf("issues of a template that has nothing: %+v", issues)
	}
	c.Agents, c.Tools, c.Capabilities = []chat.Selected{{ID: "agent"}, {ID: "off-agent"}, {ID: "gone"}},
		[]chat.Selected{{ID: "tool"}, {ID: "gone"}}, []string{"off-capability", "gone"}
	c.Workflows = []chat.Workflow{{ID: "workflow"}, {ID: "off-workflow"}, {ID: "gone"}}
	c.PromptGone, c.PromptLost = true, true
	var got []string
	for _, i := range registry(t).Issues(new(c.Summary())) {
		got = append(got, i.Pointer+" "+i.Code)
		if i.Detail == "" {
			t.Errorf("issue %+v", i)
		}
	}
	want := []string{
		"/prompt prompt_gone", "/prompt prompt_unreadable", "/agents/0 requirement_missing",
		"/agents/1 item_disabled", "/agents/2 item_gone", "/tools/1 item_gone",
		"/capabilities/0 item_disabled", "/capabilities/1 item_gone", "/workflows/1 workflow_disabled",
		"/workflows/2 workflow_gone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("issues %q\nwant   %q", got, want)
	}
	t.Run("a configuration that a changed schema forbids is an issue that does not show it", func(t *testing.T) {
		c := sharedTemplate()
		c.Agents, c.Tools = []chat.Selected{{ID: "agent", Config: []byte(`{"a":1}`)}},
			[]chat.Selected{{ID: "gone"}, {ID: "tool", Config: []byte(`{"queue":"SECRET"}`)}}
		issues := registry(t).BrokenConfigs(c)
		if len(issues) != 1 || issues[0].Code != "invalid_config" || issues[0].Pointer != "/tools/1/config" ||
			strings.Contains(issues[0].Detail, "queue") {
			t.Errorf("issues: %+v", issues)
		}
		c.Tools[1].Config = []byte(`{"queue":"mail"}`)
		if issues := registry(t).BrokenConfigs(c); len(issues) != 0 {
			t.Errorf("issues of a configuration that fits: %+v", issues)
		}
	})
	t.Run("what an item requires is there", func(t *testing.T) {
		c := sharedTemplate()
		c.Agents, c.Capabilities = []chat.Selected{{ID: "agent"}}, []string{"capability"}
		if issues := registry(t).Issues(new(c.Summary())); issues != nil {
			t.Errorf("issues: %+v", issues)
		}
	})
}

func TestEmbedSafe(t *testing.T) {
	r, errs := chat.NewRegistry(chat.Registry{Tools: []chat.Item{{ID: "safe", EmbedSafe: true},
		{ID: "off", EmbedSafe: true, Status: chat.ItemDisabled}, {ID: "internal"}}})
	if errs != nil {
		t.Fatal(errs)
	}
	if got := r.EmbedSafe([]string{"internal", "off", "safe", "gone"}); len(got) != 1 || got[0].ID != "safe" {
		t.Errorf("safe are %+v", got)
	}
}

func TestOnlyOfferedWorkflowsAreDescribed(t *testing.T) {
	c := chat.Content{Workflows: []chat.Workflow{{ID: "gone"}, {ID: "off-workflow"}, {ID: "old-workflow"},
		{ID: "workflow"}}}
	var got []string
	for _, item := range registry(t).OfferedWorkflows(c) {
		got = append(got, item.ID+" "+string(item.Status))
	}
	if !slices.Equal(got, []string{"old-workflow deprecated", "workflow available"}) {
		t.Errorf("%q", got)
	}
}
