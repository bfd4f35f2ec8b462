package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestInference(t *testing.T) {
	for text, want := range map[string][]Variable{
		"no tags at all":                           nil,
		"{{b}} {{a}} {{b}}":                        {{Name: "b", Type: "string", Required: true}, {Name: "a", Type: "string", Required: true}},
		"{{{a}}} {{&b}} {{! c }}":                  {{Name: "a", Type: "string", Required: true}, {Name: "b", Type: "string", Required: true}},
		"{{user.name}}":                            {{Name: "user", Type: "object", Required: true}},
		"{{user}} {{user.name}}":                   {{Name: "user", Type: "object", Required: true}},
		"{{#formal}}Dear{{/formal}}":               {{Name: "formal", Type: "boolean", Required: true}},
		"{{^formal}}Hi{{/formal}}":                 {{Name: "formal", Type: "boolean"}},
		"{{#f}}Dear{{/f}}{{^f}}Hi{{/f}}":           {{Name: "f", Type: "boolean"}},
		"Hi {{name}}{{^name}}friend{{/name}}":      {{Name: "name", Type: "string"}},
		"{{#note}}Note: {{note}}{{/note}}":         {{Name: "note", Type: "string"}},
		"{{#note}}Note: {{note}}{{/note}}{{note}}": {{Name: "note", Type: "string", Required: true}},
		"{{#user}}{{user.name}}{{/user}}":          {{Name: "user", Type: "object"}},
		"{{#words}}{{.}}{{/words}}":                {{Name: "words", Type: "array", Required: true}},
		"{{#items}}- {{name}}{{/items}}":           {{Name: "items", Type: "array", Required: true}},
		"{{#vip}}Dear {{name}}{{/vip}}{{name}}":    {{Name: "vip", Type: "boolean", Required: true}, {Name: "name", Type: "string", Required: true}},
		"{{^vip}}Hi {{name}}{{/vip}}":              {{Name: "vip", Type: "boolean"}, {Name: "name", Type: "string", Required: true}},
		"{{#a}}{{#b}}{{c}}{{/b}}{{/a}}":            {{Name: "a", Type: "array", Required: true}},
		"{{#a}}{{#b}}{{c}}{{/b}}{{/a}}{{b}}":       {{Name: "a", Type: "boolean", Required: true}, {Name: "b", Type: "array", Required: true}},
		"{{#a}}{{^none}}x{{/none}}{{/a}}":          {{Name: "a", Type: "array", Required: true}},
		"{{#o.list}}{{x}}{{/o.list}}":              {{Name: "o", Type: "object", Required: true}},
		"{{#o.id}}No. {{o.id}}{{/o.id}}":           {{Name: "o", Type: "object"}},
		"{{^o.id}}none{{/o.id}}{{o.name}}":         {{Name: "o", Type: "object", Required: true}},
		"{{#o}}{{id}}{{/o}}{{o.id}}":               {{Name: "o", Type: "object", Required: true}},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := (Content{Text: text, Variables: []Variable{{Name: "stale and wrong"}}}).checked(Text, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]Variable{}, want...), append([]Variable{}, got.Variables...)); diff != "" {
				t.Error(diff)
			}
			if again, err := got.checked(Text, true); err != nil {
				t.Errorf("declared as they were inferred: %v", err)
			} else if again.Hash() != got.Hash() {
				t.Error("declared as they were inferred, the hash is another")
			}
		})
	}
	t.Run("over all messages, placeholders left out", func(t *testing.T) {
		c := Content{Messages: []Message{says("{{#vip}}{{name}}{{/vip}}"), {Placeholder: "history", Required: true},
			says("{{name}} {{#history}}{{content}}{{/history}}")}}
		got, err := c.checked(Chat, false)
		if err != nil {
			t.Fatal(err)
		}
		want := []Variable{{Name: "vip", Type: "boolean", Required: true},
			{Name: "name", Type: "string", Required: true}}
		if diff := cmp.Diff(want, got.Variables); diff != "" {
			t.Error(diff)
		}
	})
}

// fitting returns a value for a variable.
func fitting(v Variable) any {
	switch v.Type {
	case "boolean":
		return true
	case "array":
		return []any{map[string]any{"x": "y"}}
	case "object":
		return map[string]any{"x": "y"}
	}
	return "{{value}}"
}

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
		for _, v := range c.Variables {
			values[v.Name] = fitting(v)
		}
		out, err := c.Render(values, Strict)
		if err != nil || len(out.Missing) > 0 || len(out.Unused) > 0 {
			t.Fatalf("%q gives %+v, %v", c.Text, out, err)
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
