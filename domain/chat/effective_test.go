package chat_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestInstructionsComeFromThePrompt(t *testing.T) {
	c := chat.Content{Reply: chat.Reply{Variables: json.RawMessage(`{"shop":"Pens & Co"}`)}}
	for name, tt := range map[string]struct {
		content prompt.Content
		values  map[string]any
		want    string
		errors  []string
	}{
		"a text": {prompt.Content{Text: "You work for {{shop}}."}, nil, "You work for Pens & Co.", nil},
		"the messages of the system": {prompt.Content{Messages: []prompt.Message{
			{Role: "system", Content: "You work for {{shop}}."}, {Role: "user", Content: "never"},
			{Placeholder: "history", Required: true}, {Role: "developer", Content: "Be brief."}}}, nil,
			"You work for Pens & Co.\n\nBe brief.", nil},
		"a variable of the other messages needs no value": {prompt.Content{Variables: declared("").Variables,
			Messages: []prompt.Message{{Role: "system", Content: "You work for {{shop}}."},
				{Role: "user", Content: "Is there a shop in {{city}}?"}}}, nil, "You work for Pens & Co.", nil},
		"a required variable needs one": {declared("{{shop}} in {{city}}"), nil, "",
			[]string{"/variables/city required"}},
		"a value has its variable's type": {declared("{{shop}} in {{city}}"), map[string]any{"city": 7.0}, "",
			[]string{"/variables/city wrong_type"}},
		"given values win": {declared("{{shop}} in {{city}}"), map[string]any{"shop": "Ink", "city": "Rome"},
			"Ink in Rome", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Effective(tt.content, tt.values)
			if !slices.Equal(wrongs(err), tt.errors) || (err != nil) != (tt.errors != nil) ||
				chat.IsUnfilled(err) != (tt.errors != nil) || got.Instructions != tt.want {
				t.Errorf("%q, %v", got.Instructions, err)
			}
		})
	}
}

// declared is a text with two required variables.
func declared(text string) prompt.Content {
	requiredVariable := func(name string) prompt.Variable {
		return prompt.Variable{Name: name, Type: "string", Required: true}
	}
	return prompt.Content{Text: text, Variables: []prompt.Variable{requiredVariable("shop"), requiredVariable("city")}}
}

func TestTheChatsSettingsReplaceThoseOfItsPromptOneByOne(t *testing.T) {
	all := prompt.ModelConfig{Provider: "openai", ModelName: "gpt-5", Temperature: new(0.5), MaxTokens: new(9),
		TopP: new(0.1), TopK: new(5), StopSequences: []string{"END"}, ExtraParams: map[string]any{"seed": 7.0}}
	for name, tt := range map[string]struct {
		base, own *prompt.ModelConfig
		want      string
		sources   map[string]chat.Source
	}{
		"neither has any": {nil, nil, `null`, nil},
		"only the prompt": {&prompt.ModelConfig{TopK: new(5)}, nil, `{"top_k":5}`,
			map[string]chat.Source{"top_k": chat.FromPrompt}},
		"only the chat": {nil, &prompt.ModelConfig{Temperature: new(0.0)}, `{"temperature":0}`,
			map[string]chat.Source{"temperature": chat.FromChat}},
		"both": {&all, &prompt.ModelConfig{ModelName: "gpt-5-mini", ExtraParams: map[string]any{"user": "a"}},
			`{"provider":"openai","model_name":"gpt-5-mini","temperature":0.5,"max_tokens":9,"top_p":0.1,"top_k":5,` +
				`"stop_sequences":["END"],"extra_params":{"user":"a"}}`,
			map[string]chat.Source{"provider": chat.FromPrompt, "model_name": chat.FromChat,
				"temperature": chat.FromPrompt, "max_tokens": chat.FromPrompt, "top_p": chat.FromPrompt,
				"top_k": chat.FromPrompt, "stop_sequences": chat.FromPrompt, "extra_params": chat.FromChat}},
	} {
		t.Run(name, func(t *testing.T) {
			p := prompt.Content{Text: "Be brief.", Model: tt.base, Tools: json.RawMessage(`[{}]`),
				ResponseFormat: json.RawMessage(`{"type":"text"}`)}
			got, err := chat.Content{Model: tt.own}.Effective(p, nil)
			require.NoError(t, err)
			text, err := json.Marshal(got.Model)
			require.NoError(t, err)
			if string(text) != tt.want || !maps.Equal(got.ModelFrom, tt.sources) {
				t.Errorf("%s from %v", text, got.ModelFrom)
			}
			if string(got.Tools) != `[{}]` || string(got.ResponseFormat) != `{"type":"text"}` {
				t.Errorf("tools %s, response format %s", got.Tools, got.ResponseFormat)
			}
		})
	}
	if got := (chat.Content{Instructions: "Be brief.", Model: &all}).Own(); got.Instructions != "Be brief." ||
		got.ModelFrom["top_k"] != chat.FromChat {
		t.Errorf("a chat without a prompt: %+v", got)
	}
}

func TestARuntimeHasOnlyItemsThatTheRegistryOffers(t *testing.T) {
	r := &chat.Registry{
		Agents:       []chat.Item{{ID: "assistant"}, {ID: "old", Status: chat.ItemDisabled}},
		Tools:        []chat.Item{{ID: "search"}, {ID: "refund", Status: chat.ItemDisabled}},
		Capabilities: []chat.Item{{ID: "citations"}, {ID: "voice", Status: chat.ItemDisabled}},
	}
	c := chat.Content{Agents: []chat.Selected{{ID: "assistant"}, {ID: "old"}},
		Tools:        []chat.Selected{{ID: "refund"}, {ID: "gone"}, {ID: "search", Config: json.RawMessage(`{"n":1}`)}},
		Capabilities: []string{"voice", "citations", "gone"}}
	got := r.Offered(c)
	if len(got.Agents) != 1 || got.Agents[0].ID != "assistant" || len(got.Tools) != 1 || got.Tools[0].ID != "search" ||
		string(got.Tools[0].Config) != `{"n":1}` || !slices.Equal(got.Capabilities, []string{"citations"}) {
		t.Errorf("%+v", got)
	}
	if len(c.Tools) != 3 || c.Tools[0].ID != "refund" || c.Capabilities[0] != "voice" {
		t.Errorf("the template itself changed: %+v", c)
	}
}
