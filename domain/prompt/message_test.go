package prompt_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/histories"
	"github.com/atrium-hq/atrium/test/support/require"
)

// messagesOf reads messages as the API has them.
func messagesOf(t *testing.T, texts ...string) (list []prompt.Message) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte("["+strings.Join(texts, ",")+"]"), &list))
	return list
}

// jsonOf returns each message as the API has it.
func jsonOf(t *testing.T, list []prompt.Message) []string {
	t.Helper()
	texts := make([]string, len(list))
	for i, m := range list {
		text, err := m.MarshalJSON()
		require.NoError(t, err)
		texts[i] = string(text)
	}
	return texts
}

const (
	seeing  = `{"role":"user","content":[{"type":"text","text":"What is {{thing}}?","cache_control":{"type":"ephemeral"}},{"type":"image_url","image_url":{"url":"https://example.com/{{x}}.png","detail":"low"}}]}`
	hearing = `{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"file","file":{"file_id":"file-1"}}],"name":"anna"}`
	calling = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look_up","arguments":"{\"q\":\"{{x}} & <y>\"}"}}]}`
	replies = `{"role":"tool","content":"{{thing}} is 42","tool_call_id":"c1"}`
)

func TestMessagesAreWrittenAsTheyWereRead(t *testing.T) {
	for _, text := range []string{seeing, hearing, calling, replies, `{"role":"user","content":"x & <y>"}`,
		`{"placeholder":"history","required":true}`, `{"placeholder":"history"}`, `{"role":"user","content":""}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function"}]}`,
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"},"text":5}]}`} {
		assert.Equal(t, "the message", jsonOf(t, messagesOf(t, text))[0], text)
	}
	for _, text := range []string{`{"role":1}`, `{"content":1}`, `{"content":[1]}`, `{"content":[{}]}`,
		`{"content":[{"type":1}]}`, `{"content":[{"type":"text","text":1}]}`} {
		if err := new(prompt.Message).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is a message", text)
		}
	}
}

func TestTextPartsAreRenderedAndEverythingElseStays(t *testing.T) {
	c := chat(messagesOf(t, seeing, hearing, calling, replies)...)
	out, err := c.Render(map[string]any{"thing": "{{this}}"}, prompt.Strict)
	require.NoError(t, err)
	want := []string{strings.Replace(seeing, "{{thing}}", "{{this}}", 1), hearing, calling,
		strings.Replace(replies, "{{thing}}", "{{this}}", 1)}
	if diff := cmp.Diff(want, jsonOf(t, out.Messages)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{seeing, hearing, calling, replies}, jsonOf(t, c.Messages)); diff != "" {
		t.Errorf("the version has changed: %s", diff)
	}
	empty := chat(messagesOf(t, `{"role":"assistant","content":"{{x}}","tool_calls":[{"id":"c1"}]}`)...)
	empty.Variables = []prompt.Variable{{Name: "x", Type: "string"}}
	if out, err = empty.Render(nil, prompt.Strict); err != nil {
		t.Fatal(err)
	}
	assert.Equal(t, "a text that renders to nothing", jsonOf(t, out.Messages)[0],
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1"}]}`)
}

func TestWhatGoesThroughAPlaceholderComesOutByteEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := histories.Draw(t)
		list := json.RawMessage("[" + strings.Join(items, ", ") + "]")
		c := chat(prompt.Message{Placeholder: "history"}, prompt.Message{Role: "user", Content: "Hi"},
			prompt.Message{Placeholder: "history"})
		values := map[string]any{"history": list}
		if rapid.Bool().Draw(t, "default") {
			c.Variables = []prompt.Variable{{Name: "history", Type: "array", Default: list}}
			values = nil
		}
		out, err := c.Render(values, prompt.Strict)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range out.Messages {
			if i == len(items) {
				continue // between the two lists
			}
			text, err := m.MarshalJSON()
			if want := items[i%(len(items)+1)]; err != nil || !bytes.Equal(text, []byte(want)) {
				t.Fatalf("%s became %s, %v", want, text, err)
			}
		}
	})
}
