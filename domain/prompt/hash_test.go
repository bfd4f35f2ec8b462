package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestHash(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	base := func() Content {
		return Content{Text: "{{a}}", Format: Mustache,
			Variables: []Variable{{Name: "a", Type: "string", Required: true}},
			Model: &ModelConfig{Provider: "p", Temperature: number(0.5),
				ExtraParams: map[string]any{"x": 1.0, "y": map[string]any{"a": 1.0, "b": 2.0}}},
			Tools:          json.RawMessage(`[{"name":"t","max":10}]`),
			ResponseFormat: json.RawMessage(`{"type":"json_object"}`)}
	}
	t.Run("is the same for the same", func(t *testing.T) {
		for name, change := range map[string]func(*Content){
			"keys in another order":      func(c *Content) { c.Tools = json.RawMessage(`[{"max":10, "name":"t"}]`) },
			"numbers in another writing": func(c *Content) { c.Tools = json.RawMessage(`[{"name":"t","max":1.0e1}]`) },
			"no messages, not nil":       func(c *Content) { c.Messages = []Message{} },
			"parameters decoded exactly": func(c *Content) { c.Model.ExtraParams["x"] = json.Number("1") },
		} {
			t.Run(name, func(t *testing.T) {
				c := base()
				if change(&c); c.Hash() != base().Hash() {
					t.Error("another hash")
				}
			})
		}
	})
	t.Run("is another for another", func(t *testing.T) {
		seen := map[string]string{base().Hash(): "the base"}
		for name, change := range map[string]func(*Content){
			"text":            func(c *Content) { c.Text += " " },
			"messages":        func(c *Content) { c.Messages = []Message{says("x")} },
			"format":          func(c *Content) { c.Format = Verbatim },
			"required":        func(c *Content) { c.Variables[0].Required = false },
			"default":         func(c *Content) { c.Variables[0].Default = json.RawMessage(`""`) },
			"enum":            func(c *Content) { c.Variables[0].Enum = []any{"x"} },
			"description":     func(c *Content) { c.Variables[0].Description = "x" },
			"no variables":    func(c *Content) { c.Variables = nil },
			"temperature":     func(c *Content) { c.Model.Temperature = number(0) },
			"no temperature":  func(c *Content) { c.Model.Temperature = nil },
			"parameters":      func(c *Content) { c.Model.ExtraParams["x"] = 2.0 },
			"big integers":    func(c *Content) { c.Tools = json.RawMessage(`[9007199254740993]`) },
			"bigger integers": func(c *Content) { c.Tools = json.RawMessage(`[9007199254740992]`) },
			"response format": func(c *Content) { c.ResponseFormat = nil },
		} {
			c := base()
			change(&c)
			if other, ok := seen[c.Hash()]; ok {
				t.Errorf("%s hashes as %s", name, other)
			}
			seen[c.Hash()] = name
		}
	})
	t.Run("survives a round through JSON", func(t *testing.T) {
		c := base()
		text, err := json.Marshal(c)
		require.NoError(t, err)
		var reply Content
		require.NoError(t, json.Unmarshal(text, &reply))
		if reply.Hash() != c.Hash() {
			t.Error("another hash")
		}
	})
	t.Run("is 64 hex digits", func(t *testing.T) {
		if h := base().Hash(); len(h) != 64 || strings.Trim(h, "0123456789abcdef") != "" {
			t.Errorf("hash = %q", h)
		}
	})
}
