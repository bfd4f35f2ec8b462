package prompt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cbroglie/mustache"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// decode reads values as they come in.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	var values map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &values))
	return values
}

func rendered(t testing.TB, text string, values map[string]any) string {
	t.Helper()
	out, err := inferred(t, text).Render(values, prompt.Strict)
	if err != nil {
		t.Fatalf("Render(%q) = %v", text, err)
	}
	return out.Text
}

// inferred returns a content that declares no variables.
func inferred(t testing.TB, text string) prompt.Content {
	t.Helper()
	c, err := prompt.Content{Text: text}.Inferred(prompt.Text)
	if err != nil {
		t.Fatalf("%q is refused: %v", text, err)
	}
	return c
}

// contextMisses are the cases of the specification that print a name without a value, which is nothing
// there. The API reference says that mode strict refuses them.
var contextMisses = []string{"basic context miss", "dotted names, broken chains",
	"dotted names, broken chain resolution", "dotted names, context precedence",
	"dotted names are never single keys", "context misses", "inverted parent context miss"}

// TestSpecification holds the cases of the Mustache specification, under its names, that concern
// prompts. No case declares a variable. Where the specification escapes HTML, the expectation here does
// not.
func TestSpecification(t *testing.T) {
	for _, tt := range []struct{ name, text, values, want string }{
		// interpolation
		{"no interpolation", "Hello from {Mustache}!\n", `{}`, "Hello from {Mustache}!\n"},
		{"basic interpolation", "Hello, {{subject}}!\n", `{"subject":"world"}`, "Hello, world!\n"},
		{"no re-interpolation", "{{template}}: {{planet}}", `{"template":"{{planet}}","planet":"Earth"}`,
			"{{planet}}: Earth"},
		{"html stays", "{{forbidden}}", `{"forbidden":"& \" < >"}`, `& " < >`},
		{"triple mustache", "{{{forbidden}}}", `{"forbidden":"& \" < >"}`, `& " < >`},
		{"ampersand", "{{&forbidden}}", `{"forbidden":"& \" < >"}`, `& " < >`},
		{"basic integer", `"{{mph}} miles an hour!"`, `{"mph":85}`, `"85 miles an hour!"`},
		{"triple mustache integer", `"{{{mph}}} miles an hour!"`, `{"mph":85}`, `"85 miles an hour!"`},
		{"basic decimal", `"{{power}} jiggawatts!"`, `{"power":1.210}`, `"1.21 jiggawatts!"`},
		{"basic null", "I ({{cannot}}) be seen!", `{"cannot":null}`, "I () be seen!"},
		{"basic context miss", "I ({{cannot}}) be seen!", `{}`, "I () be seen!"},
		{"dotted names", `"{{person.name}}" == "{{#person}}{{name}}{{/person}}"`, `{"person":{"name":"Joe"}}`,
			`"Joe" == "Joe"`},
		{"dotted names, arbitrary depth", `"{{a.b.c.d.e.name}}" == "Phil"`,
			`{"a":{"b":{"c":{"d":{"e":{"name":"Phil"}}}}}}`, `"Phil" == "Phil"`},
		{"dotted names, broken chains", `"{{a.b.c}}" == ""`, `{"a":{}}`, `"" == ""`},
		{"dotted names, broken chain resolution", `"{{a.b.c.name}}" == ""`, `{"a":{"b":{}},"c":{"name":"Jim"}}`,
			`"" == ""`},
		{"dotted names, initial resolution", `"{{#a}}{{b.c.d.e.name}}{{/a}}" == "Phil"`,
			`{"a":{"b":{"c":{"d":{"e":{"name":"Phil"}}}}},"b":{"c":{"d":{"e":{"name":"Wrong"}}}}}`, `"Phil" == "Phil"`},
		{"dotted names, context precedence", "{{#a}}{{b.c}}{{/a}}", `{"a":{"b":{}},"b":{"c":"ERROR"}}`, ""},
		{"dotted names are never single keys", "{{a.b}}", `{"a.b":"c"}`, ""},
		{"dotted names, no masking", "{{a.b}}", `{"a.b":"c","a":{"b":"d"}}`, "d"},
		{"interpolation, surrounding whitespace", "| {{string}} |", `{"string":"---"}`, "| --- |"},
		{"interpolation, standalone", "  {{string}}\n", `{"string":"---"}`, "  ---\n"},
		{"interpolation with padding", "|{{ string }}|", `{"string":"---"}`, "|---|"},
		{"triple mustache with padding", "|{{{ string }}}|", `{"string":"---"}`, "|---|"},
		{"ampersand with padding", "|{{& string }}|", `{"string":"---"}`, "|---|"},

		// sections
		{"truthy", `"{{#boolean}}This should be rendered.{{/boolean}}"`, `{"boolean":true}`,
			`"This should be rendered."`},
		{"falsey", `"{{#boolean}}This should not be rendered.{{/boolean}}"`, `{"boolean":false}`, `""`},
		{"null is falsey", `"{{#null}}This should not be rendered.{{/null}}"`, `{"null":null}`, `""`},
		{"context", `"{{#context}}Hi {{name}}.{{/context}}"`, `{"context":{"name":"Joe"}}`, `"Hi Joe."`},
		{"parent contexts", `"{{#sec}}{{a}}, {{b}}, {{c.d}}{{/sec}}"`,
			`{"a":"foo","b":"wrong","sec":{"b":"bar"},"c":{"d":"baz"}}`, `"foo, bar, baz"`},
		{"variable test", `"{{#foo}}{{.}} is {{foo}}{{/foo}}"`, `{"foo":"bar"}`, `"bar is bar"`},
		{"list contexts", "{{#tops}}{{#middles}}{{tname.lower}}{{mname}}.{{#bottoms}}{{tname.upper}}{{mname}}{{bname}}.{{/bottoms}}{{/middles}}{{/tops}}",
			`{"tops":[{"tname":{"upper":"A","lower":"a"},"middles":[{"mname":"1","bottoms":[{"bname":"x"},{"bname":"y"}]}]}]}`, "a1.A1x.A1y."},
		{"list", `"{{#list}}{{item}}{{/list}}"`, `{"list":[{"item":1},{"item":2},{"item":3}]}`, `"123"`},
		{"empty list", `"{{#list}}Yay lists!{{/list}}"`, `{"list":[]}`, `""`},
		{"doubled", "{{#bool}}\n* first\n{{/bool}}\n* {{two}}\n{{#bool}}\n* third\n{{/bool}}\n",
			`{"bool":true,"two":"second"}`, "* first\n* second\n* third\n"},
		{"nested truthy", "| A {{#bool}}B {{#bool}}C{{/bool}} D{{/bool}} E |", `{"bool":true}`, "| A B C D E |"},
		{"nested falsey", "| A {{#bool}}B {{#bool}}C{{/bool}} D{{/bool}} E |", `{"bool":false}`, "| A  E |"},
		{"context misses", "[{{#missing}}Found key 'missing'!{{/missing}}]", `{}`, "[]"},
		{"implicit iterator, string", `"{{#list}}({{.}}){{/list}}"`, `{"list":["a","b","c","d","e"]}`,
			`"(a)(b)(c)(d)(e)"`},
		{"implicit iterator, integer", `"{{#list}}({{.}}){{/list}}"`, `{"list":[1,2,3,4,5]}`, `"(1)(2)(3)(4)(5)"`},
		{"implicit iterator, decimal", `"{{#list}}({{.}}){{/list}}"`, `{"list":[1.10,2.20,3.30]}`, `"(1.1)(2.2)(3.3)"`},
		{"implicit iterator, array", `"{{#list}}({{#.}}{{.}}{{/.}}){{/list}}"`, `{"list":[[1,2,3],["a","b","c"]]}`,
			`"(123)(abc)"`},
		{"dotted names, truthy", `"{{#a.b.c}}Here{{/a.b.c}}" == "Here"`, `{"a":{"b":{"c":true}}}`, `"Here" == "Here"`},
		{"dotted names, falsey", `"{{#a.b.c}}Here{{/a.b.c}}" == ""`, `{"a":{"b":{"c":false}}}`, `"" == ""`},
		{"dotted names of a broken chain", `"{{#a.b.c}}Here{{/a.b.c}}" == ""`, `{"a":{}}`, `"" == ""`},
		{"surrounding whitespace", " | {{#boolean}}\t|\t{{/boolean}} | \n", `{"boolean":true}`, " | \t|\t | \n"},
		{"internal whitespace", " | {{#boolean}} {{! Important Whitespace }}\n {{/boolean}} | \n", `{"boolean":true}`,
			" |  \n  | \n"},
		{"indented inline sections", " {{#boolean}}YES{{/boolean}}\n {{#boolean}}GOOD{{/boolean}}\n",
			`{"boolean":true}`, " YES\n GOOD\n"},
		{"standalone lines", "| This Is\n{{#boolean}}\n|\n{{/boolean}}\n| A Line\n", `{"boolean":true}`,
			"| This Is\n|\n| A Line\n"},
		{"indented standalone lines", "| This Is\n  {{#boolean}}\n|\n  {{/boolean}}\n| A Line\n", `{"boolean":true}`,
			"| This Is\n|\n| A Line\n"},
		{"standalone line endings", "|\r\n{{#boolean}}\r\n{{/boolean}}\r\n|", `{"boolean":true}`, "|\r\n|"},
		{"standalone without previous line", "  {{#boolean}}\n#{{/boolean}}\n/", `{"boolean":true}`, "#\n/"},
		{"standalone without newline", "#{{#boolean}}\n/\n  {{/boolean}}", `{"boolean":true}`, "#\n/\n"},
		{"padding", "|{{# boolean }}={{/ boolean }}|", `{"boolean":true}`, "|=|"},

		// inverted sections
		{"inverted falsey", `"{{^boolean}}This should be rendered.{{/boolean}}"`, `{"boolean":false}`,
			`"This should be rendered."`},
		{"inverted truthy", `"{{^boolean}}This should not be rendered.{{/boolean}}"`, `{"boolean":true}`, `""`},
		{"inverted null", `"{{^null}}This should be rendered.{{/null}}"`, `{"null":null}`,
			`"This should be rendered."`},
		{"inverted context", `"{{^context}}Hi {{name}}.{{/context}}"`, `{"context":{"name":"Joe"}}`, `""`},
		{"inverted list", `"{{^list}}{{n}}{{/list}}"`, `{"list":[{"n":1}]}`, `""`},
		{"inverted empty list", `"{{^list}}Yay lists!{{/list}}"`, `{"list":[]}`, `"Yay lists!"`},
		{"inverted doubled", "{{^bool}}\n* first\n{{/bool}}\n* {{two}}\n{{^bool}}\n* third\n{{/bool}}\n",
			`{"bool":false,"two":"second"}`, "* first\n* second\n* third\n"},
		{"inverted nested falsey", "| A {{^bool}}B {{^bool}}C{{/bool}} D{{/bool}} E |", `{"bool":false}`,
			"| A B C D E |"},
		{"inverted context misses", "[{{^missing}}Cannot find key 'missing'!{{/missing}}]", `{}`,
			"[Cannot find key 'missing'!]"},
		{"inverted dotted names", `"{{^a.b.c}}Not Here{{/a.b.c}}"`, `{"a":{}}`, `"Not Here"`},
		{"inverted standalone lines", "| This Is\n{{^boolean}}\n|\n{{/boolean}}\n| A Line\n", `{"boolean":false}`,
			"| This Is\n|\n| A Line\n"},

		// set delimiters
		{"pair behavior", "{{=<% %>=}}(<%text%>)", `{"text":"Hey!"}`, "(Hey!)"},
		{"special characters", "({{=[ ]=}}[text])", `{"text":"It worked!"}`, "(It worked!)"},
		{"delimiters in sections",
			"[\n{{#section}}\n  {{data}}\n  |data|\n{{/section}}\n\n{{= | | =}}\n|#section|\n  {{data}}\n  |data|\n|/section|\n]\n",
			`{"section":true,"data":"I got interpolated."}`,
			"[\n  I got interpolated.\n  |data|\n\n  {{data}}\n  I got interpolated.\n]\n"},
		{"delimiters in inverted sections",
			"[\n{{^section}}\n  {{data}}\n  |data|\n{{/section}}\n\n{{= | | =}}\n|^section|\n  {{data}}\n  |data|\n|/section|\n]\n",
			`{"section":false,"data":"I got interpolated."}`,
			"[\n  I got interpolated.\n  |data|\n\n  {{data}}\n  I got interpolated.\n]\n"},
		{"delimiters, surrounding whitespace", "| {{=@ @=}} |", `{}`, "|  |"},
		{"delimiters, outlying whitespace (inline)", " | {{=@ @=}}\n", `{}`, " | \n"},
		{"delimiters, standalone tag", "Begin.\n{{=@ @=}}\nEnd.\n", `{}`, "Begin.\nEnd.\n"},
		{"delimiters, indented standalone tag", "Begin.\n  {{=@ @=}}\nEnd.\n", `{}`, "Begin.\nEnd.\n"},
		{"delimiters, standalone line endings", "|\r\n{{= @ @ =}}\r\n|", `{}`, "|\r\n|"},
		{"delimiters, standalone without previous line", "  {{=@ @=}}\n=", `{}`, "="},
		{"delimiters, standalone without newline", "=\n  {{=@ @=}}", `{}`, "=\n"},
		{"pair with padding", "|{{= @   @ =}}|", `{}`, "||"},
		{"delimiters and back again", "{{=<% %>=}}{{<% a %>}}<%={{ }}=%>{{a}}<%a%>", `{"a":1}`, "{{1}}1<%a%>"},
		{"three braces and an ampersand between other delimiters", "{{=| |=}}|{a}||&a|", `{"a":"<"}`, "<<"},

		// comments
		{"inline comment", "12345{{! Comment Block! }}67890", `{}`, "1234567890"},
		{"multiline comment", "12345{{!\n  This is a\n  multi-line comment...\n}}67890\n", `{}`, "1234567890\n"},
		{"standalone comment", "Begin.\n{{! Comment Block! }}\nEnd.\n", `{}`, "Begin.\nEnd.\n"},
		{"indented standalone comment", "Begin.\n  {{! Indented Comment Block! }}\nEnd.\n", `{}`, "Begin.\nEnd.\n"},
		{"comment line endings", "|\r\n{{! Standalone Comment }}\r\n|", `{}`, "|\r\n|"},
		{"comment without previous line", "  {{! I'm Still Standalone }}\n!", `{}`, "!"},
		{"comment without newline", "!\n  {{! I'm Still Standalone }}", `{}`, "!\n"},
		{"multiline standalone comment", "Begin.\n{{!\nSomething's going on here...\n}}\nEnd.\n", `{}`,
			"Begin.\nEnd.\n"},
		{"indented inline comment", "  12 {{! 34 }}\n", `{}`, "  12 \n"},
		{"comment whitespace", "12345 {{! Comment Block! }} 67890", `{}`, "12345  67890"},
		{"a comment is no variable", "{{! comment }}{{!comment}}", `{"comment":"x"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if slices.Contains(contextMisses, tt.name) {
				if _, err := inferred(t, tt.text).Render(decode(t, tt.values), prompt.Strict); !errors.Is(err,
					prompt.ErrMissingVariables) {
					t.Errorf("error = %v", err)
				}
				return
			}
			assert.Equal(t, "rendered", rendered(t, tt.text, decode(t, tt.values)), tt.want)
		})
	}
}

// TestLibraryAgrees renders what cbroglie/mustache can render too. It covers the rules of whitespace
// and of contexts in all their combinations.
func TestLibraryAgrees(t *testing.T) {
	pieces := []string{"a", " ", "\n", "  \n", "\r\n", "}", "{ ", "é", "{{! c }}", "{{!\n}}", "{{s}}", "{{{ s }}}",
		"{{& b}}", "{{o.s}}", "{{o.none.s}}"}
	names := []string{"s", "b", "off", "none", "list", "words", "o", "o.list", "o.none", "deep"}
	rapid.Check(t, func(t *rapid.T) {
		var text func(depth int) string
		text = func(depth int) string {
			var out strings.Builder
			for range rapid.IntRange(0, 6).Draw(t, "pieces") {
				if depth == 0 || rapid.Bool().Draw(t, "plain") {
					out.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
					continue
				}
				name := rapid.SampledFrom(names).Draw(t, "section")
				sigil := rapid.SampledFrom([]string{"#", "^", "# "}).Draw(t, "sigil")
				fmt.Fprintf(&out, "{{%s%s}}%s{{/%s}}", sigil, name, text(depth-1), name)
			}
			return out.String()
		}
		input := text(3)
		for _, name := range append(names, "o.s", "o.none.s") { // handled: without a value they print nothing
			input += "{{^" + name + "}}{{/" + name + "}}"
		}
		input += "." // contrary to the specification, the library keeps blanks between a tag and the end
		values := map[string]any{
			"s": "<S>", "b": true, "off": false,
			"list":  []any{map[string]any{"s": "1"}, map[string]any{"b": "2", "words": []any{}}},
			"words": []any{"x", "y"}, "o": map[string]any{"s": "os", "list": []any{map[string]any{"s": "ol"}}},
			"deep": []any{map[string]any{"o": map[string]any{"s": "ds"}}},
		}
		template, err := mustache.ParseStringRaw(input, true)
		require.NoError(t, err)
		want, err := template.Render(values)
		require.NoError(t, err)
		out, err := prompt.Content{Text: input, Format: prompt.Mustache}.Render(values, prompt.Strict)
		require.NoError(t, err)
		if out.Text != want {
			t.Fatalf("%q\n gives %q\n want  %q", input, out.Text, want)
		}
	})
}
