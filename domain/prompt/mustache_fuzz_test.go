package prompt

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/proof"
)

// FuzzMustache parses texts and checks that the nodes cover the text without gaps other than comments,
// and that a partial render without values returns the text as it is written.
func FuzzMustache(f *testing.F) {
	for _, text := range []string{
		"Hi {{name}}!", "{{#a}}\n{{.}}\n{{/a}}\n", "{{^a}}x{{/a}}", "{{{a.b}}} {{&c}}", "a\n  {{! note }}  \r\nb",
		"{{!{{}}}}", "{{#a}}{{! in }}{{/a}}", "{{=<% %>=}}", "{{> x}}", "{{", "}}{{a}}", "{{{a}}", "{{#a}}{{/b}}",
		"{{ # a }}{{ / a }}", strings.Repeat("{{#a}}", 33), "{{a\n}}", "{{.}}", "{{a.}}", "\xff{{a}}\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		begun := time.Now()
		nodes, err := parseMustache(text)
		proof.Within(t, "the text", time.Since(begun), time.Second)
		if err != nil {
			return
		}
		want := covered(t, text, nodes, 0, len(text))
		c, err := Content{Text: text}.checked(Text, false)
		if err != nil || len(c.IncludeTags()) > 0 || c.Text != text ||
			slices.ContainsFunc(c.Variables, func(v Variable) bool { return !v.Required }) {
			return // too long, or it renders something without values
		}
		if out, err := c.Render(nil, Partial); err != nil || out.Text != want {
			t.Errorf("%q without values gives %q, %v", text, out.Text, err)
		}
	})
}

// comments matches comments and set delimiters, and whatever is between other delimiters.
var comments = regexp.MustCompile(`(?s)^\{\{\s*!.*\}\}$|\{\{\s*=|^\S+\s*[!=]`)

// covered checks the nodes of text[from:to], and returns that text without the comments between them.
func covered(t *testing.T, text string, nodes []node, from, to int) string {
	var kept strings.Builder
	gap := func(until int) {
		if between := strings.TrimSpace(text[from:until]); between != "" && !comments.MatchString(between) {
			t.Errorf("%q is lost from %q", between, text)
		}
	}
	for _, n := range nodes {
		if n.start < from || n.end <= n.start || n.end > to {
			t.Fatalf("%q: a node from %d to %d after %d", text, n.start, n.end, from)
		}
		gap(n.start)
		if n.kind == literal && strings.Contains(text[n.start:n.end], tagOpen) &&
			!strings.Contains(text, "=") {
			t.Errorf("%q: a tag is taken for text", text)
		}
		for i, inner := range n.nodes {
			if inner.start < n.start || inner.end > n.end || i > 0 && inner.start < n.nodes[i-1].end {
				t.Errorf("%q: what is in a section stands outside of it", text)
			}
		}
		kept.WriteString(text[n.start:n.end])
		from = n.end
	}
	gap(to)
	return kept.String()
}
