package prompt

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/mustache"
	"github.com/atrium-hq/atrium/test/support/proof"
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
		start := time.Now()
		nodes, err := mustache.Parse(text, checkInclude)
		proof.Within(t, "the text", time.Since(start), time.Second)
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
func covered(t *testing.T, text string, nodes []mustache.Node, from, to int) string {
	var keptText strings.Builder
	gap := func(end int) {
		if separator := strings.TrimSpace(text[from:end]); separator != "" && !comments.MatchString(separator) {
			t.Errorf("%q is lost from %q", separator, text)
		}
	}
	for _, n := range nodes {
		if n.Start < from || n.End <= n.Start || n.End > to {
			t.Fatalf("%q: a node from %d to %d after %d", text, n.Start, n.End, from)
		}
		gap(n.Start)
		if n.Kind == mustache.Literal && strings.Contains(text[n.Start:n.End], mustache.Usual.Opening) &&
			!strings.Contains(text, "=") {
			t.Errorf("%q: a tag is taken for text", text)
		}
		for i, inner := range n.Nodes {
			if inner.Start < n.Start || inner.End > n.End || (i > 0 && inner.Start < n.Nodes[i-1].End) {
				t.Errorf("%q: what is in a section stands outside of it", text)
			}
		}
		keptText.WriteString(text[n.Start:n.End])
		from = n.End
	}
	gap(to)
	return keptText.String()
}
