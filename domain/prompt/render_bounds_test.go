package prompt_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestRenderIsBounded(t *testing.T) {
	numbers := make([]any, 3000)
	for i := range numbers {
		numbers[i] = float64(i)
	}
	objects := make([]any, 20000)
	for i := range objects {
		objects[i] = map[string]any{}
	}
	messages := make([]any, 70_000)
	for i := range messages {
		messages[i] = map[string]any{"role": "user", "content": "x"}
	}
	values := map[string]any{"messages": messages, "l": numbers, "one": []any{map[string]any{}}, "objects": objects,
		"big": strings.Repeat("x", 64<<10), "o": map[string]any{"a": "b"},
		"half": strings.Repeat("y", prompt.MaxRenderedBytes/2)}
	nestedText := func(name, inner string, depth int) string {
		return strings.Repeat("{{#"+name+"}}", depth) + inner + strings.Repeat("{{/"+name+"}}", depth)
	}
	long := strings.Repeat("m", 64)
	for name, content := range map[string]prompt.Content{
		"a list in itself that prints":         text(nestedText("l", "x", 5)),
		"a list in itself that prints nothing": text(nestedText("l", "", 30)),
		"a list in itself that looks far up":   text(nestedText("l", "{{none}}", 30)),
		"long names that are nowhere": text("{{#objects}}{{a" + strings.Repeat("."+long, 3) + "}}" +
			strings.Repeat("{{a.b"+strings.Repeat(".c", 120)+"}}", 4) + "{{/objects}}"),
		"names that are looked for in many items": text(nestedText("one", "{{#objects}}{{"+long+"}}{{/objects}}", 25)),
		"a list that prints objects":              text("{{#objects}}" + strings.Repeat("{{o}}", 100) + "{{/objects}}"),
		"a list that prints empty objects":        text("{{#objects}}" + strings.Repeat("{{.}}", 8) + "{{/objects}}"),
		"one message for each of many items": {Format: prompt.Mustache,
			Messages: []prompt.Message{{Placeholder: "messages"}}},
		"a list that prints a text":  text("{{#l}}{{big}}{{/l}}"),
		"a list that prints numbers": text(nestedText("l", "{{.}}", 2)),
		"a text and messages together": chat(prompt.Message{Role: "user", Content: "{{half}}"},
			prompt.Message{Role: "user", Content: "{{half}}x"}),
		"one byte too many": text("{{half}}{{half}}x"),
		"one message too many from a placeholder": {Format: prompt.Mustache,
			Messages: []prompt.Message{{Role: "user", Content: "{{half}}{{half}}"}, {Placeholder: "h"}},
			Variables: []prompt.Variable{
				{Name: "h", Type: "array", Default: json.RawMessage(`[{"role":"user","content":"x"}]`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := content.Render(values, prompt.Strict)
			assert.ErrorIs(t, err, prompt.ErrRenderTooLarge)
			if out.Text != "" || out.Messages != nil {
				t.Error("something was rendered")
			}
		})
	}
	t.Run("all that may be", func(t *testing.T) {
		if out, err := text("{{half}}{{half}}").Render(values, prompt.Strict); err != nil ||
			len(out.Text) != prompt.MaxRenderedBytes {
			t.Errorf("%d bytes, %v", len(out.Text), err)
		}
	})
	t.Run("a long list in a long prompt is no trouble", func(t *testing.T) {
		if _, err := text("{{#objects}}{{none}} {{.}} {{big.none}}\n{{/objects}}{{^none}}{{/none}}").Render(values,
			prompt.Partial); err != nil {
			t.Error(err)
		}
	})
}

func TestRenderProperties(t *testing.T) {
	t.Run("a text without tags stays as it is", rapid.MakeCheck(func(t *rapid.T) {
		s := strings.ReplaceAll(rapid.String().Draw(t, "text"), "{{", "{ {")
		out, err := text(s).Render(map[string]any{"a": "A"}, prompt.Strict)
		if err != nil || out.Text != s {
			t.Fatalf("%q gives %q, %v", s, out.Text, err)
		}
	}))
	t.Run("a verbatim text stays as it is", rapid.MakeCheck(func(t *rapid.T) {
		s := rapid.String().Draw(t, "text") +
			rapid.SampledFrom([]string{"", "{{a}}", "{{#a}}", "{{> x}}", "{{"}).Draw(t, "tag")
		out, err := prompt.Content{Text: s, Format: prompt.Verbatim}.Render(map[string]any{"a": "A"}, prompt.Strict)
		if err != nil || out.Text != s {
			t.Fatalf("%q gives %q, %v", s, out.Text, err)
		}
	}))
	t.Run("a value comes out literally", rapid.MakeCheck(func(t *rapid.T) {
		v := rapid.String().Draw(t, "before") +
			rapid.SampledFrom([]string{"{{x}}", "{{> /etc/hostname}}", "{{#x}}", "{{=| |=}}", "<&>\"'"}).Draw(t,
				"tag") + rapid.String().Draw(t, "after")
		out, err := text("{{x}}|{{#x}}{{.}}{{/x}}|{{{x}}}").Render(map[string]any{"x": v}, prompt.Strict)
		if want := v + "|" + v + "|" + v; err != nil || out.Text != want {
			t.Fatalf("%q gives %q, %v", v, out.Text, err)
		}
	}))
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"Hi {{name}}", "{{#a}}{{.}}{{/a}}", "{{#a}}{{#a}}{{#a}}{{b}}{{/a}}{{/a}}{{/a}}",
		" {{^a}} \r\n{{/a}}\n", "{{a.b.c}}", "{{> x}}", "{{{a}}}", "{{&a}}"} {
		f.Add(s, `{"a":[1,{"b":[2.50,1e400]},"x"],"name":"N"}`)
		f.Add(s, `{"a":{"b":{"c":0}},"b":null,"a.b":true}`)
	}
	f.Fuzz(func(t *testing.T, s, valuesText string) {
		dec := json.NewDecoder(strings.NewReader(valuesText))
		dec.UseNumber()
		var values map[string]any
		if err := dec.Decode(&values); err != nil {
			return
		}
		for _, c := range []prompt.Content{text(s, prompt.Variable{Name: "a", Type: "array", Required: true}),
			chat(prompt.Message{Role: "user", Content: s}, prompt.Message{Placeholder: "a", Required: true}),
			{Text: s, Format: prompt.Verbatim}} {
			if len(c.IncludeTags()) > 0 {
				continue // no render sees them
			}
			for _, mode := range []prompt.Mode{prompt.Strict, prompt.Partial} {
				out, err := c.Render(values, mode)
				var foreseen *fault.Error
				if err != nil && !errors.As(err, &foreseen) {
					t.Fatal(err)
				}
				size := len(out.Text)
				for _, m := range out.Messages {
					size += len(m.Content)
				}
				if size > prompt.MaxRenderedBytes {
					t.Fatalf("%d bytes", size)
				}
				if err == nil && c.Format == prompt.Verbatim && out.Text != s {
					t.Fatalf("%q gives %q", s, out.Text)
				}
			}
		}
	})
}
