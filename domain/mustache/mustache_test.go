package mustache_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/mustache"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// The cases of the specification, and those of prompts, are in domain/prompt and test/clients: they render with this
// package on the server and in the client for Go.

func noPartials(string) string { return "partials are not supported." }

func parsed(t *testing.T, text string) mustache.Text {
	t.Helper()
	nodes, err := mustache.Parse(text, noPartials)
	require.NoError(t, err)
	return mustache.Text{Text: text, Nodes: nodes}
}

func TestATextIsRenderedWithItsValues(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a variable", "Hi {{name}}!", "Hi Ada!"},
		{"nothing is escaped", "{{quote}}", `"<&>"`},
		{"a section over a list", "{{#list}}{{.}},{{/list}}", "1,2.5,"},
		{"an inverted section", "{{^none}}empty{{/none}}", "empty"},
		{"a member", "{{user.name}}", "Bo"},
		{"an object is compact JSON", "{{user}}", `{"age":7,"name":"Bo"}`},
		{"other delimiters", "{{=<% %>=}}{{name}} <%name%>", "{{name}} Ada"},
		{"a section that is alone on its lines", "a\n{{#name}}\nb\n{{/name}}\nc", "a\nb\nc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := mustache.NewRenderer()
			r.Values = map[string]any{"name": "Ada", "quote": `"<&>"`,
				"list": mustache.PlainNumbers([]any{json.Number("1.0"), json.Number("2.50")}),
				"none": []any{}, "user": map[string]any{"name": "Bo", "age": json.Number("7")}}
			text := parsed(t, tt.text)
			r.Expect([]mustache.Text{text}, nil)
			if got, err := r.Render(text); err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestANameWithoutAValueIsReportedAndStays(t *testing.T) {
	text := parsed(t, "{{a}} {{#list}}{{b}}{{/list}} {{optional}}|")
	r := mustache.NewRenderer()
	r.Values["list"] = []any{map[string]any{}, map[string]any{}}
	r.Expect([]mustache.Text{text}, map[string]bool{"optional": true})
	got, err := r.Render(text)
	if want := "{{a}} {{b}}{{b}} |"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if want := []string{"a", "list/0/b", "list/1/b"}; !slices.Equal(r.Absent(), want) {
		t.Errorf("Absent() = %q, want %q", r.Absent(), want)
	}
}

func TestARenderEndsAtItsLimits(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		limit      func(r *mustache.Renderer)
		want       error
	}{
		{"of bytes", "{{#l}}xx{{/l}}", func(r *mustache.Renderer) { r.Space = 3 }, mustache.ErrTooLarge},
		{"of work", "{{#l}}{{/l}}", func(r *mustache.Renderer) { r.Work = 40 }, mustache.ErrTooMuchWork},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := mustache.NewRenderer()
			r.Values["l"] = []any{true, true}
			tt.limit(r)
			text := parsed(t, tt.text)
			r.Expect([]mustache.Text{text}, nil)
			if _, err := r.Render(text); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestAPartialIsCheckedAndKeepsHowItIsWritten(t *testing.T) {
	var bodies []string
	nodes, err := mustache.Parse("x\n  {{> a/b@c }}\n{{>d}} y", func(body string) string {
		bodies = append(bodies, body)
		return ""
	})
	if err != nil || !slices.Equal(bodies, []string{"a/b@c", "d"}) {
		t.Fatalf("bodies %q, %v", bodies, err)
	}
	var partials []mustache.PartialTag
	for _, n := range nodes {
		if n.Kind == mustache.Partial {
			partials = append(partials, *n.Partial)
		}
	}
	want := []mustache.PartialTag{
		{Body: "a/b@c", Alone: true, Indent: "  ", LineBreak: "\n", In: mustache.Usual},
		{Body: "d", In: mustache.Usual},
	}
	assert.EqualSlice(t, "partials", partials, want)
	var invalid *mustache.SyntaxError
	if _, err := mustache.Parse("\n{{> x}}", noPartials); !errors.As(err, &invalid) || invalid.Line != 2 {
		t.Errorf("a refused partial: %v", err)
	}
}

func TestTagsTellWhichBlanksLeaveNoTrace(t *testing.T) {
	tags, current := mustache.Tags("  {{! note }}  \n{{a}}{{=<% %>=}}")
	if len(tags) != 3 || !tags[0].Trims() || tags[1].Trims() || current != (mustache.Delimiters{Opening: "<%",
		Closing: "%>"}) {
		t.Errorf("tags %+v, then %+v", tags, current)
	}
}

func TestUsesNamesOnlyWhatIsGiven(t *testing.T) {
	text := parsed(t, "{{a.b.c}}{{#d}}{{e}}{{/d}}"+strings.Repeat("{{x}}", 3))
	got := mustache.Uses([]mustache.Text{text}, map[string]any{"a.b": 1, "e": 1, "f": 1})
	if len(got) != 2 || !got["a.b"] || !got["e"] {
		t.Errorf("got %v", got)
	}
}
