package prompt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

// source returns what takes the place of {{> name}}.
func source(t require.TB, name string, c prompt.Content, sources ...prompt.Source) prompt.Source {
	if c.Format == "" {
		c.Format = prompt.Mustache
	}
	e, err := c.Expand(prompt.ID(name), sources)
	require.NoError(t, err)
	return prompt.Source{Text: e, Included: prompt.Included{Include: prompt.Include{Name: name, Ref: "active",
		Template: prompt.ID(name)}}}
}

func withTags(text string) prompt.Content { return prompt.Content{Text: text, Format: prompt.Mustache} }

func TestExpand(t *testing.T) {
	values := map[string]any{"name": "Ann", "show": true, "list": []any{
		map[string]any{"name": "one"}, map[string]any{"name": "two"},
	}}
	for label, tt := range map[string]struct {
		text, included string
		format         prompt.Format
		want           string
	}{
		"in a line":                   {"Dear {{> x}}!", "{{name}}", "", "Dear Ann!"},
		"on a line of its own":        {"a\n{{> x}}\nb", "one\ntwo", "", "a\none\ntwo\nb"},
		"that ends with a line break": {"a\n{{> x}}\nb", "one\n", "", "a\none\nb"},
		"with line breaks of Windows": {"a\r\n{{> x}}\r\nb", "one", "", "a\r\none\r\nb"},
		"indented":                    {"a\n  {{> x}}\nb", "one\n\ntwo\n", "", "a\n  one\n\n  two\nb"},
		"at the end":                  {"a\n  {{> x}}", "one\ntwo", "", "a\n  one\n  two"},
		"in a section":                {"{{#list}}{{> x}};{{/list}}", "{{name}}", "", "one;two;"},
		"whose sections are lines":    {"a\n{{> x}}\nb", "{{#show}}\nyes\n{{/show}}\n", "", "a\nyes\nb"},
		"whose sections are lines, inline": {"a {{> x}} b", "{{#show}}\n{{#show}}\nyes\n{{/show}}\n{{/show}}", "",
			"a yes\n b"},
		"that begins with a line break":    {"{{#show}}{{> x}}{{/show}}", "\nyes\n", "", "\nyes\n"},
		"that sets delimiters":             {"{{> x}} {{name}}", "{{=<% %>=}}<%name%> {{name}}", "", "Ann {{name}} Ann"},
		"where others are set":             {"{{=<% %>=}}<%> x%> <%name%>", "{{name}}", "", "Ann Ann"},
		"where others are set, on a line":  {"{{=<% %>=}}\n <%> x%>\n<%name%>", "{{name}}", "", " Ann\nAnn"},
		"that is used as it is":            {"{{> x}} {{name}}", "{{name}} <% {", prompt.Verbatim, "{{name}} <% { Ann"},
		"that is used as it is, on a line": {"{{> x}}\n{{name}}", "{{name}}", prompt.Verbatim, "{{name}}\nAnn"},
		"before another tag":               {"{{> x}}{{name}}", "{", "", "{Ann"},
		"between other tags":               {"{{name}}{{> x}}{{name}}", " ", "", "Ann Ann"},
		"as a comment":                     {"a{{> x}}b", "{{! nothing }}", "", "ab"},
	} {
		t.Run(label, func(t *testing.T) {
			x := source(t, "x", prompt.Content{Text: tt.included, Format: tt.format})
			e, err := withTags(tt.text).Expand("of", []prompt.Source{x})
			require.NoError(t, err)
			got, err := e.Content.Render(values, prompt.Strict)
			if err != nil || got.Text != tt.want {
				t.Errorf("%q renders as %q, %v; want %q", e.Content.Text, got.Text, err, tt.want)
			}
			if len(e.Content.IncludeTags()) != 0 {
				t.Errorf("an include is left in %q", e.Content.Text)
			}
		})
	}
}

// An included text renders as it does by itself, and changes nothing of what is around it: the include could be a
// variable that has what the text renders to.
func TestAnIncludePrintsWhatItsTextRendersTo(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", " ", "\n", "{", "}", "(name)", "(#show)", "(#show)\n", "\n(/show)",
		"(/show)", "(^hide)", "(/hide)", "(!c)", "\n(!c)\n", "=", "%", "<"})
	// Tags are drawn in parentheses, and written with the delimiters that are in force, which = changes.
	draw := func(t *rapid.T, label string, minimum int) (text string, others bool) {
		set := map[bool]string{false: "{{=<% %>=}}", true: "<%={{ }}=%>"}
		for _, p := range rapid.SliceOfN(piece, minimum, 8).Draw(t, label) {
			if p == "=" {
				text, others = text+set[others], !others
				continue
			}
			open, end := "{{", "}}"
			if others {
				open, end = "<%", "%>"
			}
			text += strings.NewReplacer("(", open, ")", end).Replace(p)
		}
		return text, others
	}
	values, comparedCount := map[string]any{"name": "Ann", "show": true, "hide": false}, 0
	defer func() { t.Logf("%d texts were compared", comparedCount) }()
	rapid.Check(t, func(t *rapid.T) {
		includedText, _ := draw(t, "included", 1)
		previous, others := draw(t, "before", 0)
		next, _ := draw(t, "after", 0)
		open, end := "{{", "}}"
		if others {
			open, end, next = "<%", "%>", "<%={{ }}=%>"+next
		}
		format := rapid.SampledFrom([]prompt.Format{prompt.Mustache, prompt.Verbatim}).Draw(t, "format")
		// An include that is alone on its line is in TestExpand.
		textWith := func(tag string) string { return previous + "." + open + tag + end + next }
		e, err := prompt.Content{Text: includedText, Format: format}.Expand("x", nil)
		if err != nil {
			return // not valid
		}
		x := prompt.Source{Text: e, Included: prompt.Included{Include: prompt.Include{Name: "x", Ref: "active"}}}
		full, err := withTags(textWith("> x")).Expand("of", []prompt.Source{x})
		if err != nil || len(full.Includes) == 0 {
			return // not valid, or the tag is in a comment
		}
		solo, err := prompt.Content{Text: includedText, Format: format}.Render(values, prompt.Strict)
		require.NoError(t, err)
		plain := map[string]any{"name": "Ann", "show": true, "hide": false, "printed": solo.Text}
		want, err := withTags(textWith("printed")).Render(plain, prompt.Strict)
		if err != nil {
			return // not valid
		}
		comparedCount++
		got, err := full.Content.Render(values, prompt.Strict)
		if err != nil || got.Text != want.Text {
			t.Fatalf("%q with %q is %q: renders as %q, %v; want %q", textWith("> x"), includedText, full.Content.Text,
				got.Text, err, want.Text)
		}
	})
}

func TestIncludesBringTheirVariables(t *testing.T) {
	rules := source(t, "rules", prompt.Content{Text: "{{tone}} {{lang}}", Variables: []prompt.Variable{
		{Name: "tone", Type: "string", Required: true}, {Name: "lang", Type: "string", Default: []byte(`"en"`)},
	}})
	inferredContent := withTags("Hi {{name}}, {{> rules}}")
	inferredContent.Variables = []prompt.Variable{{Name: "name", Type: "any", Required: true}}
	e, err := inferredContent.Expand("of", []prompt.Source{rules})
	require.NoError(t, err)
	want := []prompt.Variable{
		{Name: "tone", Type: "string", Required: true}, {Name: "lang", Type: "string", Default: []byte(`"en"`)},
		{Name: "name", Type: "any", Required: true},
	}
	if diff := cmp.Diff(want, e.Content.Variables); diff != "" {
		t.Error(diff)
	}
	e, err = withTags("{{#items}}{{> rules}}{{/items}}").Expand("of", []prompt.Source{rules})
	if err != nil || e.Content.Variables[0].Required {
		t.Errorf("in a section, the variable %+v must be given, %v", e.Content.Variables[0], err)
	}
}

func TestIncludesThatAreRefused(t *testing.T) {
	deep := source(t, "0", withTags("end"))
	for i := range prompt.MaxIncludeDepth {
		next := source(t, fmt.Sprint(i+1), withTags(fmt.Sprintf("{{> %d}}", i)), deep)
		deep = next
	}
	for label, tt := range map[string]struct {
		text   string
		source prompt.Source
		want   error
	}{
		"nothing of that name": {"{{> y}}", source(t, "x", withTags("a")), prompt.ErrIncludeNotFound},
		"itself":               {"{{> of}}", source(t, "of", withTags("a")), prompt.ErrIncludeCycle},
		"itself through others": {"{{> x}}", source(t, "x", withTags("{{> of}}"), source(t, "of", withTags("a"))),
			prompt.ErrIncludeCycle},
		"six levels": {"{{> 5}}", deep, prompt.ErrIncludeTooDeep},
		"too much text": {strings.Repeat("{{> x}}", 300), source(t, "x", withTags(strings.Repeat("a", 1000))),
			prompt.ErrIncludeTooLarge},
	} {
		t.Run(label, func(t *testing.T) {
			if _, err := withTags(tt.text).Expand("of", []prompt.Source{tt.source}); !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestIncludeTags(t *testing.T) {
	got := withTags("a\n{{#x}}{{> folder/a b @ live }}{{/x}} {{>q@r@v3}}{{> folder/a b@live}}{{>plain}}").IncludeTags()
	want := []prompt.IncludeTag{
		{Include: prompt.Include{Name: "folder/a b", Ref: "live"}, Pointer: "/text", Line: 2},
		{Include: prompt.Include{Name: "q@r", Ref: "v3"}, Pointer: "/text", Line: 2},
		{Include: prompt.Include{Name: "plain", Ref: "active"}, Pointer: "/text", Line: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if tags := (prompt.Content{Text: "{{> x}}", Format: prompt.Verbatim}).IncludeTags(); tags != nil {
		t.Errorf("a text without a syntax includes %v", tags)
	}
}
