package prompt

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestInference(t *testing.T) {
	for text, want := range map[string][]Variable{
		"no tags at all":                           nil,
		"{{b}} {{a}} {{b}}":                        {{Name: "b", Type: "any", Required: true}, {Name: "a", Type: "any", Required: true}},
		"{{{a}}} {{&b}} {{! c }}":                  {{Name: "a", Type: "any", Required: true}, {Name: "b", Type: "any", Required: true}},
		"{{user.name}}":                            {{Name: "user", Type: "any", Required: true}},
		"{{user}} {{user.name}}":                   {{Name: "user", Type: "any", Required: true}},
		"{{#formal}}Dear{{/formal}}":               {{Name: "formal", Type: "any", Required: true}},
		"{{^formal}}Hi{{/formal}}":                 {{Name: "formal", Type: "any"}},
		"{{#f}}Dear{{/f}}{{^f}}Hi{{/f}}":           {{Name: "f", Type: "any"}},
		"Hi {{name}}{{^name}}friend{{/name}}":      {{Name: "name", Type: "any"}},
		"{{#note}}Note: {{note}}{{/note}}":         {{Name: "note", Type: "any"}},
		"{{#note}}Note: {{note}}{{/note}}{{note}}": {{Name: "note", Type: "any", Required: true}},
		"{{#user}}{{user.name}}{{/user}}":          {{Name: "user", Type: "any"}},
		"{{#words}}{{.}}{{/words}}":                {{Name: "words", Type: "any", Required: true}},
		"{{#items}}- {{name}}{{/items}}":           {{Name: "items", Type: "any", Required: true}},
		"{{#vip}}Dear {{name}}{{/vip}}{{name}}":    {{Name: "vip", Type: "any", Required: true}, {Name: "name", Type: "any", Required: true}},
		"{{^vip}}Hi {{name}}{{/vip}}":              {{Name: "vip", Type: "any"}},
		"{{^vip}}Hi {{name}}{{/vip}}{{name}}":      {{Name: "vip", Type: "any"}, {Name: "name", Type: "any", Required: true}},
		"{{#a}}{{#b}}{{c}}{{/b}}{{/a}}":            {{Name: "a", Type: "any", Required: true}},
		"{{#a}}{{#b}}{{c}}{{/b}}{{/a}}{{b}}":       {{Name: "a", Type: "any", Required: true}, {Name: "b", Type: "any", Required: true}},
		"{{#a}}{{^none}}x{{/none}}{{/a}}":          {{Name: "a", Type: "any", Required: true}},
		"{{#o.list}}{{x}}{{/o.list}}":              {{Name: "o", Type: "any", Required: true}},
		"{{#o.id}}No. {{o.id}}{{/o.id}}":           {{Name: "o", Type: "any"}},
		"{{^o.id}}none{{/o.id}}{{o.name}}":         {{Name: "o", Type: "any", Required: true}},
		"{{#o}}{{id}}{{/o}}{{o.id}}":               {{Name: "o", Type: "any", Required: true}},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := (Content{Text: text, Variables: []Variable{{Name: "stale and wrong"}}}).checked(Text, false)
			require.NoError(t, err)
			if diff := cmp.Diff(append([]Variable{}, want...), append([]Variable{}, got.Variables...)); diff != "" {
				t.Error(diff)
			}
			if second, err := got.checked(Text, true); err != nil {
				t.Errorf("declared as they were inferred: %v", err)
			} else if second.Hash() != got.Hash() {
				t.Error("declared as they were inferred, the hash is another")
			}
		})
	}
	t.Run("over all messages, placeholders left out", func(t *testing.T) {
		c := Content{Messages: []Message{says("{{#vip}}{{name}}{{/vip}}"), {Placeholder: "history", Required: true},
			says("{{name}} {{#history}}{{content}}{{/history}}")}}
		got, err := c.checked(Chat, false)
		require.NoError(t, err)
		want := []Variable{{Name: "vip", Type: "any", Required: true},
			{Name: "name", Type: "any", Required: true}}
		if diff := cmp.Diff(want, got.Variables); diff != "" {
			t.Error(diff)
		}
	})
}

// drawValue draws a value of any type for a variable, at times one without the members that a text names.
func drawValue(t *rapid.T) any {
	return rapid.SampledFrom([]any{nil, true, false, "", "{{value}}", 7.0, []any{},
		[]any{"x", map[string]any{"x": 1.0}}, map[string]any{}, map[string]any{"x": "X", "y": nil, "a": true, "b": []any{"c"}}}).Draw(t, "value")
}

// A strict render of inferred variables takes values of any type, and succeeds exactly if nothing is missing.
func TestInferredVariablesSuffice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Content{Text: "x" + drawText(t, 3)}
		c, err := c.checked(Text, false)
		if err != nil {
			t.Fatalf("%q: %v", c.Text, err)
		}
		if _, err := c.checked(Text, true); err != nil {
			t.Fatalf("%q is not declared by what was inferred from it: %v", c.Text, err)
		}
		values := map[string]any{}
		for _, name := range []string{"a", "b", "c", "d"} {
			if rapid.Bool().Draw(t, "given") {
				values[name] = drawValue(t)
			}
		}
		out, err := c.Render(values, Partial)
		if err != nil {
			t.Fatalf("%q gives %+v, %v", c.Text, out, err)
		}
		strict, err := c.Render(values, Strict)
		if (err == nil) != (len(out.Missing) == 0) || (err == nil && strict.Text != out.Text) ||
			(err != nil && !errors.Is(err, ErrMissingVariables)) {
			t.Fatalf("%q without %q gives %+v, %v", c.Text, out.Missing, strict, err)
		}
	})
}

// drawText draws a text of well-formed tags and sections.
func drawText(t *rapid.T, depth int) string {
	names := []string{"a", "b", "c", "d", "a.x", "b.y"}
	var out strings.Builder
	for range rapid.IntRange(0, 5).Draw(t, "pieces") {
		name := rapid.SampledFrom(names).Draw(t, "name")
		switch rapid.IntRange(0, 3+min(depth, 1)).Draw(t, "kind") {
		case 0:
			out.WriteString(rapid.SampledFrom([]string{"text", "\n", " ", "{ }", "<é>"}).Draw(t, "text"))
		case 1, 2:
			out.WriteString("{{" + name + "}}")
		case 3:
			out.WriteString("{{{ " + name + " }}}")
		case 4:
			sigil := rapid.SampledFrom([]string{"#", "^"}).Draw(t, "sigil")
			out.WriteString("{{" + sigil + name + "}}" + drawText(t, depth-1) + "{{/" + name + "}}")
		}
	}
	return out.String()
}
