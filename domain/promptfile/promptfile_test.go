package promptfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/promptfile"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func text(s string) promptfile.Prompt {
	return promptfile.Prompt{Type: "text", Content: promptfile.Content{Text: &s}}
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	full := text("Hello {{customer}}!\n\n---\nBye\n")
	full.Description, full.Tags = `A "first" word: yes`, []string{"a", "1", "true"}
	full.Content.Format = "none"
	full.Content.Variables = json.RawMessage(`[{"name":"customer","type":"any","required":true}]`)
	full.Content.ModelConfig = json.RawMessage(
		`{"temperature":0.2,"extra_params":{"seed":12345678901234567890,"a":null}}`)
	full.Content.Tools = json.RawMessage(`[{"type":"function","z":1e400,"a":"1"}]`)
	full.Content.ResponseFormat = json.RawMessage(`{"type":"json_object"}`)
	chat := promptfile.Prompt{Type: "chat", Content: promptfile.Content{Messages: []promptfile.Message{
		{Role: "system", Content: new("You sort mail.\n\n# user\n\\# user\n# heading")},
		{Placeholder: "history", Required: true}, {Placeholder: "more"},
		{Role: "user", Content: new("")}, {Role: "assistant", Content: new("\n\nlines\n\n")},
		{Role: "user", Content: new("# user json\n{}")},
		{Role: "assistant", Members: json.RawMessage(`{"content":null,"tool_calls":[{"id":"c1","n":1.0,"a":"<"}]}`)},
		{Role: "user", Members: json.RawMessage(`{"content":[{"type":"text","text":"# user\n\n"}]}`)},
	}}}
	for name, p := range map[string]promptfile.Prompt{"a text": text("x"), "an empty text": text(""),
		"a text that looks like settings": text("---\ntype: chat\n---\n"), "all settings": full, "messages": chat,
		"line ends of Windows": text("a\r\nb\r\n"), "only those": text("\r\n")} {
		t.Run(name, func(t *testing.T) { same(t, p) })
	}
}

func same(t rapid.TB, p promptfile.Prompt) {
	t.Helper()
	file, err := promptfile.Encode(p)
	require.NoError(t, err)
	got, err := promptfile.Decode(file)
	if err != nil {
		t.Fatalf("%v:\n%s", err, file)
	}
	if d := cmp.Diff(p, got, cmpopts.IgnoreUnexported(promptfile.Prompt{})); d != "" {
		t.Fatalf("%s\n%s", d, file)
	}
	second, err := promptfile.Encode(got)
	if err != nil || string(second) != string(file) {
		t.Fatalf("the file is written in another way, %v:\n%s", err, second)
	}
}

func TestStringsThatAreEscapedInOtherWaysGiveTheSameFile(t *testing.T) {
	file := func(value string) string {
		p := text("x")
		p.Content.Tools, p.Content.ResponseFormat = json.RawMessage("["+value+"]"), json.RawMessage(value)
		file, err := promptfile.Encode(p)
		require.NoError(t, err)
		return string(file)
	}
	for _, pair := range [][2]string{{`{"name":"\u00fc \u003c"}`, `{"name":"ü <"}`}, {`{"\u0061\/":"\u0022"}`, `{"a/":"\""}`},
		{`{"a":"\ud83d\ude00"}`, `{"a":"😀"}`}} {
		assert.Equal(t, "the file of "+pair[0], file(pair[0]), file(pair[1]))
	}
	if half := file(`{"a":"\ud83d"}`); !strings.Contains(half, `{"a":"\ud83d"}`) {
		t.Errorf("half a character is lost: %s", half)
	}
}

func TestEveryMessageIsReadAsItWasWritten(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "x", "# user", `\# system`, `\\# tool`, "# placeholder a", "---", " # user",
		"x\r", "# user\r"})
	rapid.Check(t, func(t *rapid.T) {
		p := promptfile.Prompt{Type: "chat"}
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			if rapid.Bool().Draw(t, "placeholder") {
				p.Content.Messages = append(p.Content.Messages, promptfile.Message{Placeholder: "a"})
				continue
			}
			content := strings.Join(rapid.SliceOfN(line, 1, 5).Draw(t, "lines"), "\n")
			p.Content.Messages = append(p.Content.Messages, promptfile.Message{Role: "user", Content: &content})
		}
		same(t, p)
	})
}

func TestMessagesOfTheAPIAreInTheFileWithAllOfTheirMembers(t *testing.T) {
	const messages = `[{"role":"user","content":"x"},{"placeholder":"h","required":true},` +
		`{"content":[{"type":"text","text":"x"}],"role":"user"},{"content":null,"role":"assistant","tool_calls":[1.0]},` +
		`{"content":"x","role":"tool","tool_call_id":"c1"}]`
	p := promptfile.Prompt{Type: "chat"}
	require.NoError(t, json.Unmarshal([]byte(messages), &p.Content.Messages))
	file, err := promptfile.Encode(p)
	require.NoError(t, err)
	got, err := promptfile.Decode(file)
	require.NoError(t, err)
	text, err := json.Marshal(got.Content.Messages)
	if err != nil || string(text) != messages {
		t.Errorf("%v:\n%s\n%s", err, text, file)
	}
	if i := strings.Index(string(file), "# tool json\n{\n  \"content\": \"x\",\n"); i < 0 {
		t.Errorf("the file is\n%s", file)
	}
}

func TestAMessageThatIsNoJSONIsReportedWithItsLine(t *testing.T) {
	for body, want := range map[string]string{
		"# user json\n{\n\n# user\nx":         "line 4: the message is not a JSON object",
		"# user\nx\n\n# user json\nnull":      "line 7: the message is not a JSON object",
		"# user json\n{\"role\": \"system\"}": "line 4: the role of the message belongs into the line above its JSON",
	} {
		if _, err := promptfile.Decode([]byte("---\ntype: chat\n---\n" + body)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", body, err)
		}
	}
	file := "---\ntype: chat\n---\n# user\nx\n\n# user json\n{\"content\": 1}\n"
	p, err := promptfile.Decode([]byte(file))
	require.NoError(t, err)
	assert.Equal(t, "the place", p.Locate("/messages/1/content/0/text", "Line 2: no.").Line, 7)
}

func TestFilesThatPeopleWrite(t *testing.T) {
	file := strings.ReplaceAll("---\ntags:\n  - a\nmodel_config:\n  temperature: 0.5\n---\nHi\n", "\n", "\r\n")
	got, err := promptfile.Decode([]byte(file))
	want := text("Hi")
	want.Tags, want.Content.ModelConfig = []string{"a"}, json.RawMessage(`{"temperature":0.5}`)
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(promptfile.Prompt{})); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	for name, file := range map[string]string{
		"no settings":       "Hello",
		"no end":            "---\ntype: text\n",
		"an unknown one":    "---\ntitle: x\n---\n",
		"a wrong type":      "---\ntags: x\n---\n",
		"no YAML":           "---\n\t{\n---\n",
		"aliases":           "---\ntools: &a [1]\nvariables: *a\n---\n",
		"keys that are not": "---\nmodel_config: {1: 2}\n---\n",
		"text of no one":    "---\ntype: chat\n---\nHello\n# user\nHi\n",
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := promptfile.Decode([]byte(file)); err == nil {
				t.Errorf("Decode = %+v", p)
			}
		})
	}
}

func TestPathsStayBelowTheFolder(t *testing.T) {
	if got, err := promptfile.Path("support/greeting 2"); err != nil || got != "support/greeting 2.md" {
		t.Errorf("Path = %q, %v", got, err)
	}
	for _, name := range []string{"../x", "a/../../x", "a/./b", ".git/config", `a\b`, "C:/x", "a\x00b", "x?"} {
		if got, err := promptfile.Path(name); err == nil {
			t.Errorf("the path of %q is %q", name, got)
		}
	}
}

func TestPlace(t *testing.T) {
	paths := map[string]bool{}
	for name, want := range map[string]struct {
		path  string
		named bool
	}{
		"support/greeting": {"support/greeting.md", false},
		"a: b?":            {"", true},
		".git/x":           {"", true},
		"../x":             {"", true},
		"..":               {"", true},
		`a\b|"c"*`:         {"", true},
		"Äpfel":            {"Äpfel.md", false},
	} {
		path, isNamed := promptfile.Place(name)
		if paths[path] {
			t.Errorf("two prompts are at %s", path)
		}
		paths[path] = true
		if isNamed != want.named || (!isNamed && path != want.path) || strings.ContainsAny(path, `:?\|"*`) {
			t.Errorf("%q is at %s, %v", name, path, isNamed)
		}
		if _, err := promptfile.Named(path); err != nil {
			t.Errorf("%s is no path: %v", path, err)
		}
	}
}

func TestNamed(t *testing.T) {
	if name, err := promptfile.Named("a/b.c.md"); err != nil || name != "a/b.c" {
		t.Errorf("name = %q, %v", name, err)
	}
	for _, path := range []string{"", "a.txt", ".md/../a.md", "../a.md", "/a.md", "a//b.md", `a\b.md`, "c:a.md", "a\x00.md"} {
		if name, err := promptfile.Named(path); err == nil {
			t.Errorf("%q is the prompt %q", path, name)
		}
	}
}
