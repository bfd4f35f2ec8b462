package prompt_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestDiffContents(t *testing.T) {
	user := func(s string) prompt.Message { return prompt.Message{Role: "user", Content: s} }
	for _, tt := range []struct {
		name     string
		from, to prompt.Content
		want     string
	}{
		{"equal texts", text("a\nb\n"), text("a\nb\n"), ""},
		{"one line of a text, with three around it", text("1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
			text("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
			"--- v1\n+++ v2\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"a text without a newline at its end", text("a"), text("b"),
			"--- v1\n+++ v2\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		{"a newline at the end", text("a"), text("a\n"),
			"--- v1\n+++ v2\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"messages below their roles", chat(prompt.Message{Role: "system", Content: "Be kind."}, user("{{q}}")),
			chat(prompt.Message{Role: "system", Content: "Be brief."}, prompt.Message{Placeholder: "h", Required: true},
				user("{{q}}")),
			"--- v1\n+++ v2\n@@ -1,5 +1,8 @@\n system:\n-Be kind.\n+Be brief.\n+\n+placeholder (required):\n+h\n \n " +
				"user:\n {{q}}\n"},
		{"a role alone", chat(user("x")), chat(prompt.Message{Role: "developer", Content: "x"}),
			"--- v1\n+++ v2\n@@ -1,2 +1,2 @@\n-user:\n+developer:\n x\n"},
		{"whether a placeholder is required", chat(prompt.Message{Placeholder: "h"}),
			chat(prompt.Message{Placeholder: "h", Required: true}),
			"--- v1\n+++ v2\n@@ -1,2 +1,2 @@\n-placeholder:\n+placeholder (required):\n h\n"},
		{"parts, and what else a message has", chat(user("x"), user("y")),
			chat(prompt.Message{Role: "user", Parts: []prompt.Part{{Type: "text", Text: "x"},
				{Type: "file", Members: map[string]json.RawMessage{"file": json.RawMessage(`{"file_id":"f"}`)}}}},
				prompt.Message{Role: "user", Content: "y", Name: "anna"}),
			"--- v1\n+++ v2\n@@ -1,5 +1,7 @@\n user:\n x\n+{\"type\":\"file\",\"file\":{\"file_id\":\"f\"}}\n \n" +
				" user:\n y\n+{\"name\":\"anna\"}\n"},
		{"a newline at the end of a message", chat(user("x")), chat(user("x\n")),
			"--- v1\n+++ v2\n@@ -1,2 +1,3 @@\n user:\n x\n+\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := prompt.DiffContents("v1", "v2", tt.from, tt.to)
			if diff := cmp.Diff(tt.want, d.Unified); diff != "" {
				t.Error(diff)
			}
			if (len(d.Changed) == 0) != (d.Unified == "") {
				t.Errorf("changed = %q", d.Changed)
			}
		})
	}
}

func TestChangedFields(t *testing.T) {
	half, one := 0.5, 1.0
	base := func() prompt.Content {
		return prompt.Content{Text: "x", Format: prompt.Mustache,
			Variables: []prompt.Variable{{Name: "a", Type: "object", Default: json.RawMessage(`{"a":1,"b":2}`)}},
			Model:     &prompt.ModelConfig{Temperature: &half}, Tools: json.RawMessage(`[{"a":1,"b":2}]`)}
	}
	t.Run("none by no list of variables and an empty one", func(t *testing.T) {
		if got := prompt.DiffContents("a", "b", text("x"),
			prompt.Content{Text: "x", Format: prompt.Mustache, Variables: []prompt.Variable{}}).Changed; got != nil {
			t.Errorf("changed = %q", got)
		}
	})
	for _, tt := range []struct {
		name   string
		change func(*prompt.Content)
		want   []string
	}{
		{"none", func(*prompt.Content) {}, nil},
		{"none by the order of keys, by blanks or by empty lists", func(c *prompt.Content) {
			c.Tools, c.Variables[0].Default, c.Messages = json.RawMessage(`[ {"b":2, "a":1} ]`),
				json.RawMessage(`{"b":2,"a":1.0}`), []prompt.Message{}
		}, nil},
		{"the text", func(c *prompt.Content) { c.Text = "y" }, []string{"text"}},
		{"a variable", func(c *prompt.Content) { c.Variables[0].Required = true }, []string{"variables"}},
		{"no variables", func(c *prompt.Content) { c.Variables = nil }, []string{"variables"}},
		{"a temperature", func(c *prompt.Content) { c.Model = &prompt.ModelConfig{Temperature: &one} },
			[]string{"model_config"}},
		{"all, in the order of the contract", func(c *prompt.Content) {
			*c = prompt.Content{Messages: []prompt.Message{{Placeholder: "h"}}, Format: prompt.Verbatim,
				ResponseFormat: json.RawMessage(`{}`)}
		}, []string{"text", "messages", "format", "variables", "model_config", "tools", "response_format"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target := base()
			tt.change(&target)
			assert.EqualSlice(t, "changed", prompt.DiffContents("a", "b", base(), target).Changed, tt.want)
			if got := prompt.DiffContents("b", "a", target, base()).Changed; !slices.Equal(got, tt.want) {
				t.Errorf("changed = %q the other way round, want %q", got, tt.want)
			}
		})
	}
}

// patched applies a unified diff.
func patched(t rapid.TB, from, unifiedText string) string {
	t.Helper()
	if unifiedText == "" {
		return from
	}
	old, out, index := strings.SplitAfter(from, "\n"), []string{}, 0
	lines := strings.SplitAfter(unifiedText, "\n")[2:]
	for i, line := range lines {
		if line == "" || line[0] == '\\' {
			continue
		}
		content := line[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\\") {
			content = strings.TrimSuffix(content, "\n")
		}
		switch line[0] {
		case '@':
			begin, _, _ := strings.Cut(strings.TrimPrefix(strings.Fields(line)[1], "-"), ",")
			n, err := strconv.Atoi(begin)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if !strings.Contains(strings.Fields(line)[1], ",0") { // before line 1, not after it
				n--
			}
			for ; index < n; index++ {
				out = append(out, old[index])
			}
		case '+':
			out = append(out, content)
		case '-', ' ':
			if index >= len(old) || old[index] != content {
				t.Fatalf("the diff expects %q", content)
			}
			if index++; line[0] == ' ' {
				out = append(out, content)
			}
		default:
			t.Fatalf("%q is no line of a diff", line)
		}
	}
	return strings.Join(append(out, old[index:]...), "")
}

func TestDiffCanBeApplied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string {
			lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "é", "\r"}), 0, 30).Draw(t, name)
			return strings.Join(lines, "\n")
		}
		from, to := draw("from"), draw("to")
		unifiedUnified := prompt.DiffContents("a", "b", text(from), text(to)).Unified
		if got := patched(t, from, unifiedUnified); got != to {
			t.Fatalf("from %q to %q:\n%s\ngives %q", from, to, unifiedUnified, got)
		}
	})
}

// TestDiffIsBounded compares the largest texts in their worst forms. The diff must be correct even if
// the search for the shortest is abandoned.
func TestDiffIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	// lines returns the largest possible text, of up to 20,000 lines.
	lines := func(line func(i int) string) string {
		var out strings.Builder
		for i := 0; i < 20_000 && out.Len() < prompt.MaxTextBytes-16; i++ {
			out.WriteString(line(i) + "\n")
		}
		return out.String()
	}
	letter := func(int) string { return string('a' + rune(random.IntN(26))) }
	number := func(i int) string { return fmt.Sprint(i) }
	for name, pair := range map[string][2]string{
		"nothing in common": {lines(func(i int) string { return fmt.Sprintf("before %5d", i) }),
			lines(func(i int) string { return fmt.Sprintf("after %6d", i) })},
		"one letter on a line": {lines(letter), lines(letter)},
		"every other line":     {lines(number), lines(func(i int) string { return fmt.Sprint(i * (1 - 2*(i%2))) })},
		"empty lines":          {lines(func(int) string { return "" }), lines(number)},
		"moved by a half": {lines(number),
			lines(func(i int) string { return fmt.Sprint((i + 10_000) % 20_000) })},
		"one line of everything": {strings.Repeat("a", prompt.MaxTextBytes), strings.Repeat("b", prompt.MaxTextBytes)},
		"few lines among many": {lines(func(i int) string { return fmt.Sprint(i % 7) }),
			lines(func(i int) string { return fmt.Sprint(i % 11) })},
	} {
		t.Run(name, func(t *testing.T) {
			unifiedUnified := prompt.DiffContents("a", "b", text(pair[0]), text(pair[1])).Unified
			if patched(t, pair[0], unifiedUnified) != pair[1] {
				t.Error("the diff does not lead from one to the other")
			}
		})
	}
	t.Run("more lines than any prompt has", func(t *testing.T) {
		from, to := text(strings.Repeat("\n", prompt.MaxTextBytes)), text(strings.Repeat("a\n", prompt.MaxTextBytes/2))
		d := prompt.DiffContents("v1", "v2", from, to)
		if d.Unified != "Files v1 and v2 differ\n" || !slices.Equal(d.Changed, []string{"text"}) {
			t.Errorf("got %.100q, changed %q", d.Unified, d.Changed)
		}
		if d := prompt.DiffContents("v1", "v2", from, from); d.Unified != "" || d.Changed != nil {
			t.Errorf("equal ones give %.100q, changed %q", d.Unified, d.Changed)
		}
	})
}
