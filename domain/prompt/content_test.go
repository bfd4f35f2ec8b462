package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/require"
)

// complaint returns an error's code and, for each field, pointer and code.
func complaint(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid {
		t.Fatalf("error = %v, which no client may see", err)
	}
	out := []string{f.Code}
	for _, field := range f.Fields {
		out = append(out, field.Pointer+" "+field.Code)
		if field.Detail == "" {
			t.Errorf("%s has no detail", field.Pointer)
		}
	}
	return out
}

func says(content string) Message { return Message{Role: "user", Content: content} }

func TestCheckedRefuses(t *testing.T) {
	big := strings.Repeat("x", MaxTextBytes)
	long := strings.Repeat("n", 65)
	variables := func(v ...Variable) Content { return Content{Text: "x", Variables: v} }
	for _, tt := range []struct {
		name    string
		of      Type
		content Content
		want    []string
	}{
		{"nothing for a text", Text, Content{}, []string{"/text required"}},
		{"nothing for a chat", Chat, Content{}, []string{"/messages required"}},
		{"messages for a text", Text, Content{Messages: []Message{says("x")}},
			[]string{"/text required", "/messages not_allowed_value"}},
		{"a text for a chat", Chat, Content{Text: "x"}, []string{"/text not_allowed_value", "/messages required"}},
		{"a text that is too long", Text, Content{Text: big + "x"}, []string{"/text too_long"}},
		{"a text that is too long in bytes alone", Text, Content{Text: strings.Repeat("é", MaxTextBytes/2) + "x"},
			[]string{"/text too_long"}},
		{"NUL in a text", Text, Content{Text: "a\x00b"}, []string{"/text invalid_characters"}},
		{"broken UTF-8", Text, Content{Text: "a\xffb"}, []string{"/text invalid_characters"}},
		{"too many messages", Chat, Content{Messages: slices.Repeat([]Message{says("x")}, MaxMessages+1)},
			[]string{"/messages too_many_items"}},
		{"messages that are too long together", Chat, Content{Messages: []Message{says(big), says("x")}},
			[]string{"/messages too_long"}},
		{"NUL in a message", Chat, Content{Messages: []Message{says("x"), says("\x00")}},
			[]string{"/messages/1/content invalid_characters"}},
		{"a response format that is too large", Text,
			Content{Text: "x", ResponseFormat: json.RawMessage(`{"x":"` + big + `"}`)},
			[]string{"/response_format too_long"}},
		{"tools that are too large", Text, Content{Text: "x", Tools: json.RawMessage(`[{"x":"` + big + `"}]`)},
			[]string{"/tools too_long"}},
		{"extra parameters that are too large", Text,
			Content{Text: "x", Model: &ModelConfig{ExtraParams: map[string]any{"x": big}}},
			[]string{"/model_config/extra_params too_long"}},
		{"a role that is none", Chat, Content{Messages: []Message{{Role: "bot", Content: "x"}}},
			[]string{"/messages/0/role not_allowed_value"}},
		{"a role without content", Chat, Content{Messages: []Message{{Role: "user"}}},
			[]string{"/messages/0/content required"}},
		{"content without a role", Chat, Content{Messages: []Message{{Content: "x"}}},
			[]string{"/messages/0/role required"}},
		{"a message and placeholder", Chat,
			Content{Messages: []Message{{Role: "user", Content: "x", Placeholder: "p"}}},
			[]string{"/messages/0 not_allowed_value"}},
		{"a role with a placeholder", Chat, Content{Messages: []Message{{Role: "user", Placeholder: "p"}}},
			[]string{"/messages/0 not_allowed_value"}},
		{"neither message nor placeholder", Chat, Content{Messages: []Message{says("x"), {}}},
			[]string{"/messages/1 required"}},
		{"a required message", Chat, Content{Messages: []Message{{Role: "user", Content: "x", Required: true}}},
			[]string{"/messages/0/required not_allowed_value"}},
		{"a placeholder without a proper name", Chat, Content{Messages: []Message{{Placeholder: "a b"}}},
			[]string{"/messages/0/placeholder invalid_format"}},
		{"a format that is none", Text, Content{Text: "x", Format: "jinja"}, []string{"/format not_allowed_value"}},
		{"tools that are no array", Text, Content{Text: "x", Tools: json.RawMessage(`{}`)},
			[]string{"/tools wrong_type"}},
		{"tools that are no JSON", Text, Content{Text: "x", Tools: json.RawMessage(`[] []`)},
			[]string{"/tools wrong_type"}},
		{"a tool that is no object", Text, Content{Text: "x", Tools: json.RawMessage(`[{"type":"web_search"},"x"]`)},
			[]string{"/tools/1 wrong_type"}},
		{"a tool without members", Text, Content{Text: "x", Tools: json.RawMessage(`[{}]`)},
			[]string{"/tools/0 too_few_items"}},
		{"two tools with one name", Text, Content{Text: "x", Tools: json.RawMessage(
			`[{"type":"function","function":{"name":"a"}},{"name":"b","input_schema":{}},{"name":"a"}]`)},
			[]string{"/tools/2 duplicate_item"}},
		{"arguments of a tool that are no schema", Text, Content{Text: "x", Tools: json.RawMessage(
			`[{"type":"function","function":{"name":"a","parameters":5}}]`)}, []string{"/tools/0 wrong_type"}},
		{"properties of a tool's arguments that are no object", Text, Content{Text: "x", Tools: json.RawMessage(
			`[{"name":"a","input_schema":{"type":"object","properties":5}}]`)}, []string{"/tools/0 wrong_type"}},
		{"a response format without members", Text, Content{Text: "x", ResponseFormat: json.RawMessage(`{}`)},
			[]string{"/response_format too_few_items"}},
		{"a response format that is no schema", Text, Content{Text: "x", ResponseFormat: json.RawMessage(
			`{"type":"nonsense","properties":5}`)}, []string{"/response_format wrong_type"}},
		{"a schema of a response format that is none", Text, Content{Text: "x", ResponseFormat: json.RawMessage(
			`{"type":"json_schema","json_schema":{"name":"x","schema":[]}}`)}, []string{"/response_format wrong_type"}},
		{"a response format that is no object", Text, Content{Text: "x", ResponseFormat: json.RawMessage(`"json"`)},
			[]string{"/response_format wrong_type"}},

		{"a variable without a name", Text, variables(Variable{}), []string{"/variables/0/name invalid_format"}},
		{"a name that begins with a digit", Text, variables(Variable{Name: "1a"}),
			[]string{"/variables/0/name invalid_format"}},
		{"a name with a newline at its end", Text, variables(Variable{Name: "a\n"}),
			[]string{"/variables/0/name invalid_format"}},
		{"a name that is too long", Text, variables(Variable{Name: long}),
			[]string{"/variables/0/name invalid_format"}},
		{"a name twice", Text, variables(Variable{Name: "a"}, Variable{Name: "b"}, Variable{Name: "a"}),
			[]string{"/variables/2/name duplicate_item"}},
		{"a type that is none", Text, variables(Variable{Name: "a", Type: "integer"}),
			[]string{"/variables/0/type not_allowed_value"}},
		{"NUL in a description", Text, variables(Variable{Name: "a", Description: "\x00"}),
			[]string{"/variables/0/description invalid_characters"}},
		{"a default of another type", Text,
			variables(Variable{Name: "a", Type: "number", Default: json.RawMessage(`"1"`)}),
			[]string{"/variables/0/default wrong_type"}},
		{"a default that is no JSON", Text, variables(Variable{Name: "a", Default: json.RawMessage(`x`)}),
			[]string{"/variables/0/default wrong_type"}},
		{"a default that is not allowed", Text,
			variables(Variable{Name: "a", Default: json.RawMessage(`"z"`), Enum: []any{"x", "y"}}),
			[]string{"/variables/0/default not_allowed_value"}},
		{"an enum that allows nothing", Text, variables(Variable{Name: "a", Enum: []any{}}),
			[]string{"/variables/0/enum too_few_items"}},
		{"allowed values of another type", Text, variables(Variable{Name: "a", Enum: []any{"x", 1.0, nil}}),
			[]string{"/variables/0/enum/1 wrong_type", "/variables/0/enum/2 wrong_type"}},
		{"numbers that are written too long", Text,
			variables(Variable{Name: "a", Type: "number", Default: json.RawMessage("1." + strings.Repeat("0", 63)),
				Enum: []any{json.Number("1." + strings.Repeat("0", 62)), json.Number("1." + strings.Repeat("0", 63))}}),
			[]string{"/variables/0/enum/1 too_long", "/variables/0/default too_long"}},
		{"an allowed value twice", Text,
			variables(Variable{Name: "a", Type: "number", Enum: []any{1.0, json.Number("1.0")}}),
			[]string{"/variables/0/enum/1 duplicate_item"}},
		{"a placeholder that is declared a string", Chat,
			Content{Messages: []Message{{Placeholder: "p"}}, Variables: []Variable{{Name: "p", Type: "string"}}},
			[]string{"/variables/0/type not_allowed_value"}},
		{"a default for a placeholder that is no message", Chat,
			Content{Messages: []Message{{Placeholder: "p"}},
				Variables: []Variable{
					{Name: "p", Type: "array", Default: json.RawMessage(`[{"role":"user","content":"x"},{"role":5},"x"]`)}}},
			[]string{"/variables/0/default/1/role wrong_type", "/variables/0/default/2 wrong_type"}},
		{"a placeholder with a name", Chat, Content{Messages: []Message{{Placeholder: "p", Name: "n"}}},
			[]string{"/messages/0 not_allowed_value"}},
		{"a name that is too long for a message", Chat,
			Content{Messages: []Message{{Role: "user", Content: "x", Name: strings.Repeat("ä", 65)}}},
			[]string{"/messages/0/name too_long"}},
		{"NUL in a name and in a call's id", Chat,
			Content{Messages: []Message{{Role: "tool", Content: "x", Name: "\x00", ToolCallID: "\x00"}}},
			[]string{"/messages/0/name invalid_characters", "/messages/0/tool_call_id invalid_characters"}},
		{"tool calls of a user", Chat,
			Content{Messages: []Message{{Role: "user", ToolCalls: json.RawMessage(`[{}]`), NoContent: true}}},
			[]string{"/messages/0/tool_calls not_allowed_value"}},
		{"tool calls that are no array", Chat,
			Content{Messages: []Message{{Role: "assistant", ToolCalls: json.RawMessage(`{}`), NoContent: true}}},
			[]string{"/messages/0/tool_calls wrong_type"}},
		{"an answer of an assistant to a call", Chat,
			Content{Messages: []Message{{Role: "assistant", Content: "x", ToolCallID: "c"}}},
			[]string{"/messages/0/tool_call_id not_allowed_value"}},
		{"no parts", Chat, Content{Messages: []Message{{Role: "user", Parts: []Part{}}}},
			[]string{"/messages/0/content too_few_items"}},
		{"too many parts", Chat,
			Content{Messages: []Message{{Role: "user", Parts: slices.Repeat([]Part{{Type: "text", Text: "x"}}, 101)}}},
			[]string{"/messages/0/content too_many_items"}},
		{"parts that are none", Chat, Content{Messages: []Message{{Role: "user", Parts: []Part{{Type: "video"},
			{Type: "text"}, {Type: "text", Text: "\x00"}, {Type: "image_url"},
			{Type: "file", Members: map[string]json.RawMessage{"file": json.RawMessage(`"x"`)}}}}}},
			[]string{"/messages/0/content/0/type not_allowed_value", "/messages/0/content/1/text required",
				"/messages/0/content/2/text invalid_characters", "/messages/0/content/3/image_url required",
				"/messages/0/content/4/file required"}},
		{"an image of the system", Chat, Content{Messages: []Message{{Role: "system", Parts: []Part{
			{Type: "image_url", Members: map[string]json.RawMessage{"image_url": json.RawMessage(`{}`)}}}}}},
			[]string{"/messages/0/content/0/type not_allowed_value"}},
		{"parts that are too long together", Chat, Content{Messages: []Message{{Role: "user",
			Parts: []Part{{Type: "text", Text: big}, {Type: "text", Text: "x"}}}}},
			[]string{"/messages too_long"}},
		{"everything at once", Chat, Content{Text: "x", Format: "jinja",
			Messages: []Message{{Role: "bot", Content: "\x00"}}, Variables: []Variable{{Name: "-"}}},
			[]string{"/text not_allowed_value", "/messages/0/role not_allowed_value",
				"/messages/0/content invalid_characters", "/format not_allowed_value",
				"/variables/0/name invalid_format"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.content.checked(tt.of, true)
			if diff := cmp.Diff(append([]string{"invalid_fields"}, tt.want...), complaint(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("too many variables, declared", func(t *testing.T) {
		c := Content{Text: "x"}
		for i := range MaxVariables + 1 {
			c.Variables = append(c.Variables, Variable{Name: fmt.Sprintf("v%d", i)})
		}
		if _, err := c.checked(Text, true); !slices.Equal(complaint(t, err),
			[]string{"invalid_fields", "/variables too_many_items"}) {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("too many variables, inferred", func(t *testing.T) {
		c := Content{}
		for i := range MaxVariables + 1 {
			c.Text += fmt.Sprintf("{{v%d}}", i)
		}
		if _, err := c.checked(Text, false); !slices.Equal(complaint(t, err),
			[]string{"invalid_fields", "/variables too_many_items"}) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestCheckedKeeps(t *testing.T) {
	t.Run("the largest text", func(t *testing.T) {
		if _, err := (Content{Text: strings.Repeat("x", MaxTextBytes)}).checked(Text, true); err != nil {
			t.Error(err)
		}
	})
	t.Run("the most messages", func(t *testing.T) {
		if _, err := (Content{Messages: slices.Repeat([]Message{says("x")}, MaxMessages)}).checked(Chat,
			true); err != nil {
			t.Error(err)
		}
	})
	t.Run("what is given, with defaults for what is not", func(t *testing.T) {
		input := Content{Text: "{{a}} {{b.c}}",
			Variables: []Variable{{Name: "a", Required: true},
				{Name: "b", Type: "object", Default: json.RawMessage(" null ")}}}
		got, err := input.checked(Text, true)
		require.NoError(t, err)
		want := Content{Text: input.Text, Format: Mustache,
			Variables: []Variable{{Name: "a", Type: "string", Required: true}, {Name: "b", Type: "object"}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if input.Variables[0].Type != "" {
			t.Error("the caller's own variables were changed")
		}
	})
	t.Run("a verbatim text with whatever is in it", func(t *testing.T) {
		got, err := (Content{Text: "{{> x}} {{#a}} {{", Format: Verbatim}).checked(Text, false)
		if err != nil || len(got.Variables) > 0 {
			t.Errorf("variables = %v, error = %v", got.Variables, err)
		}
	})
}

func TestUndeclared(t *testing.T) {
	str, arr, obj, yes := Variable{Name: "s"}, Variable{Name: "list", Type: "array"},
		Variable{Name: "o", Type: "object"}, Variable{Name: "b", Type: "boolean"}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a variable that is declared", "{{s}}", nil},
		{"a member of one that is declared", "{{o.x.y}}", nil},
		{"each that is not, once", "{{s}}\n{{x}} {{y}}{{x}}{{x.z}}",
			[]string{"/text Line 2 uses x, which is not declared.", "/text Line 2 uses y, which is not declared."}},
		{"a section that is not", "{{#x}}{{y}}{{/x}}", []string{"/text Line 1 uses x, which is not declared."}},
		{"an inverted section that is not", "{{^x}}{{y}}{{/x}}", []string{"/text Line 1 uses x, which is not declared.",
			"/text Line 1 uses y, which is not declared."}},
		{"members of the items of a list", "{{#list}}{{x}}{{#y}}{{z}}{{/y}}{{/list}}", nil},
		{"members of an object", "{{#o}}{{x}}{{/o}}{{#o.list}}{{x}}{{/o.list}}", nil},
		{"nothing inside of a condition", "{{#b}}{{x}}{{/b}}", []string{"/text Line 1 uses x, which is not declared."}},
		{"nothing inside of a text", "{{#s}}{{.}}{{x}}{{/s}}", []string{"/text Line 1 uses x, which is not declared."}},
		{"nothing in an inverted list", "{{^list}}{{x}}{{/list}}",
			[]string{"/text Line 1 uses x, which is not declared."}},
		{"a name with a dot, declared whole", "{{dotted.name}} {{dotted.name.more}}", nil},
		{"a name with a dot, of which the beginning is not declared", "{{dotted}}",
			[]string{"/text Line 1 uses dotted, which is not declared."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := (Content{Text: tt.text, Variables: []Variable{str, arr, obj, yes, {Name: "dotted.name"}}}).
				checked(Text, true)
			var got []string
			var f *fault.Error
			if errors.As(err, &f) {
				for _, field := range f.Fields {
					got = append(got, field.Pointer+" "+field.Detail)
				}
			}
			if !slices.Equal(got, tt.want) || (err != nil) != (tt.want != nil) ||
				(err != nil && !errors.Is(err, ErrUndeclaredVariable)) {
				t.Errorf("error = %v %q, want %q", err, got, tt.want)
			}
		})
	}
	t.Run("names 500 at most", func(t *testing.T) {
		c := Content{}
		for i := range 600 {
			c.Text += fmt.Sprintf("{{v%d}}", i)
		}
		_, err := c.checked(Text, true)
		if got := complaint(t, err); len(got) != 1+500 {
			t.Errorf("it names %d", len(got)-1)
		}
	})
	t.Run("names the message", func(t *testing.T) {
		_, err := (Content{Messages: []Message{{Placeholder: "p"}, says("{{#p}}{{content}}{{/p}}"), says("{{x}}")}}).
			checked(Chat, true)
		if got, want := complaint(t, err),
			[]string{"undeclared_variable", "/messages/2/content undeclared_variable"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestToolsAndResponseFormatsOfProvidersAreTaken(t *testing.T) {
	for name, c := range map[string]Content{
		"tools without names, of one type": {Text: "x", Tools: json.RawMessage(
			`[{"type":"mcp","server_label":"a"},{"type":"mcp","server_label":"b"}]`)},
		"a tool without arguments": {Text: "x", Tools: json.RawMessage(`[{"type":"function","name":"a","parameters":null}]`)},
		"a response format with a schema": {Text: "x", ResponseFormat: json.RawMessage(
			`{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{}}}}`)},
		"a response format that is a schema": {Text: "x", ResponseFormat: json.RawMessage(`{"type":"OBJECT","properties":{}}`)},
	} {
		_, err := c.checked(Text, false)
		if refusal := complaint(t, err); refusal != nil {
			t.Errorf("%s is refused: %q", name, refusal)
		}
	}
}

func FuzzChecked(f *testing.F) {
	for _, text := range []string{"Hi {{name}}", "{{#a}}{{.}}{{/a}}", "{{^a}}\n{{/a}}\n", "{{{a.b}}}", "{{> x}}",
		"{{=| |=}}", "{{!", "\x00", "{{#a}}{{#a}}{{/a}}{{/a}}"} {
		f.Add(text, `"x"`, true)
		f.Add(text, `[1,1e999]`, false)
	}
	f.Fuzz(func(t *testing.T, text, value string, isDeclared bool) {
		c := Content{Text: text, Variables: []Variable{{Name: "a", Default: json.RawMessage(value)}},
			Tools: json.RawMessage(value)}
		for _, kind := range []Type{Text, Chat} {
			got, err := c.checked(kind, isDeclared)
			if complaint(t, err) != nil {
				continue
			}
			second, err := got.checked(kind, true)
			if err != nil {
				t.Fatalf("what was checked is refused: %v", err)
			}
			if second.Hash() != got.Hash() {
				t.Fatal("what was checked twice has another hash")
			}
			if strings.Contains(text, "{{>") && !strings.Contains(text, "=") {
				rest := withoutComments(text)
				if strings.Contains(rest, "{{>") && len(got.IncludeTags()) == 0 {
					t.Fatalf("%q is kept", text)
				}
			}
		}
	})
}

// withoutComments removes everything that a comment can contain.
func withoutComments(text string) string {
	previous, rest, hasTag := strings.Cut(text, "{{")
	for out := previous; ; {
		if !hasTag {
			return out
		}
		var tag string
		if tag, rest, _ = strings.Cut(rest, "}}"); !strings.HasPrefix(strings.TrimSpace(tag), "!") {
			out += "{{" + tag + "}}"
		}
		previous, rest, hasTag = strings.Cut(rest, "{{")
		out += previous
	}
}
