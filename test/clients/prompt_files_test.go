package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// promptFiles runs as a part of TestCommandsOfAServer. id is that of the prompt support/greeting.
func promptFiles(t *testing.T, home, id string, check func(...string) string, refuses func(string, ...string)) {
	t.Helper()
	dir := filepath.Join(home, "prompts")
	path := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(path(name))
		require.NoError(t, err)
		return string(text)
	}
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path(name), []byte(text), 0o600))
	}
	prints := func(want string, args ...string) {
		t.Helper()
		if out := check(args...); out != want {
			t.Errorf("atrium %v prints %q, want %q", args, out, want)
		}
	}
	const greeting = "support/greeting.md"
	versions := "/api/prompt-templates/" + id + "/versions"

	prints("support/greeting\tnew on the server\n", "prompts", "pull", "prompts", "--folder", "support")
	first, lock := read(greeting), read("prompts.lock.json")
	if !strings.HasSuffix(first, "\n---\nHello {{customer}}: {{#items}}{{.}};{{/items}}\n") ||
		!strings.Contains(lock, `"version_number": 1`) {
		t.Errorf("the file is %q, the lock %q", first, lock)
	}
	prints("", "prompts", "diff", "prompts")
	prints("", "prompts", "pull", "prompts")
	if read(greeting) != first || read("prompts.lock.json") != lock {
		t.Error("the second pull writes other files")
	}

	write(greeting, strings.Replace(first, "Hello", "Dear", 1))
	write("support/new.md", "---\ntype: chat\ntags: [mail]\n---\n# system\nSort {{mail}}.\n\n# placeholder history\n")
	refuses("changed here", "prompts", "pull", "prompts")
	refuses("prompts that differ: 2", "prompts", "diff", "prompts")
	prints("support/greeting\tchanged here\nsupport/new\tnew here\n", "prompts", "push", "prompts", "-m", "Dearer")
	prints("", "prompts", "diff", "prompts")
	if out := check("api", "GET", versions+"/v2"); !strings.Contains(out, `"Dear {{customer}}`) ||
		!strings.Contains(out, `"commit_message": "Dearer"`) {
		t.Errorf("version 2 is %s", out)
	}
	pushedText := read("support/new.md")
	if strings.Contains(pushedText, "variables: ") || !strings.Contains(pushedText, "# placeholder history\n") {
		t.Errorf("the new file is %q", pushedText)
	}

	// Variables that were inferred are inferred again; what is wrong is said with its file and line, in all files.
	write(greeting, strings.Replace(read(greeting), "Dear {{customer}}", "Dear {{customer}} {{title}}", 1))
	prints("support/greeting\tchanged here\n", "prompts", "push", "prompts", "--label", "staging")
	if out := check("api", "GET", versions+"/staging"); !strings.Contains(out, `"name": "title"`) {
		t.Errorf("the version with the label is %s", out)
	}
	write("support/one.md", "---\nvariables:\n  - {name: a}\n---\n{{a}}\n{{b}}\n")
	write("support/two.md", "---\n---\nHello\n{{#c}}\n")
	for _, want := range []string{"support/one.md: line 6: uses b, which is not declared.",
		"support/two.md: line 4: "} {
		refuses(want, "prompts", "push", "prompts")
	}
	for _, name := range []string{"support/one.md", "support/two.md"} {
		require.NoError(t, os.Remove(path(name)))
	}

	// The other files are sent, and a file that was moved keeps its prompt.
	write("support/about.md", "How we write prompts.")
	write(greeting, strings.Replace(read(greeting), "Dear ", "Dearest ", 1))
	refuses("support/about.md: line 1: the file does not begin", "prompts", "push", "prompts")
	require.NoError(t, os.Rename(path("support/about.md"), path("support/about.txt")))
	prints("", "prompts", "diff", "prompts")
	idOf := func(name string) string {
		found := regexp.MustCompile(`"` + name + `": \{\s+"id": "(ptpl_\w+)"`).FindStringSubmatch(read("prompts.lock.json"))
		return append(found, "", "")[1]
	}
	newID := idOf("support/new")
	require.NoError(t, os.Rename(path("support/new.md"), path("support/sorting.md")))
	refuses("moved here", "prompts", "pull", "prompts")
	prints("support/sorting\tmoved here\n", "prompts", "push", "prompts")
	prints("", "prompts", "diff", "prompts")
	if id := idOf("support/sorting"); id == "" || id != newID || idOf("support/new") != "" {
		t.Errorf("the prompt %s of the moved file is now %q", newID, id)
	}

	// A name that is no path has the file of the export.
	check("api", "POST", "/api/prompt-templates", "-d", `{"name": "support/faq: refunds?", "version": {"text": "Yes."}}`)
	const odd = "support/faq_ refunds_-"
	out := check("prompts", "pull", "prompts")
	file, _, hasMark := strings.Cut(strings.TrimPrefix(out, odd), "\t")
	if !hasMark || !strings.Contains(read(odd+file+".md"), `name: "support/faq: refunds?"`) {
		t.Errorf("the pull of an odd name prints %q", out)
	}
	write(odd+file+".md", strings.Replace(read(odd+file+".md"), "Yes.", "No.", 1))
	prints(odd+file+"\tchanged here\n", "prompts", "push", "prompts")
	prints("", "prompts", "diff", "prompts")

	// What was pushed and is pulled again leaves the repository as it is. A pull of another version changes two files.
	git := func(args ...string) string {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "pushed")
	prints("", "prompts", "pull", "prompts", "--force")
	assert.Equal(t, "after a push and a pull, git sees changes", git("status", "--porcelain"), "")

	check("api", "POST", versions, "-d", `{"text": "Elsewhere"}`)
	refuses("prompts that differ: 1", "prompts", "diff", "prompts")
	write(greeting, first)
	refuses("pull it first", "prompts", "push", "prompts")
	prints("support/greeting\tchanged here and on the server\n", "prompts", "pull", "prompts", "--force")
	if got := read(greeting); !strings.HasSuffix(got, "---\nElsewhere\n") {
		t.Errorf("the file is %q", got)
	}
	if change := git("status", "--porcelain"); change != " M prompts.lock.json\n M support/greeting.md\n" {
		t.Errorf("after a pull of another version, git sees changes:\n%s", change)
	}
	write("outside.md", "---\n---\nx\n")
	refuses("not in the folder support", "prompts", "push", "prompts")
	require.NoError(t, os.Remove(path("outside.md")))
	write(greeting, "no settings")
	refuses("greeting.md: line 1: the file does not begin", "prompts", "push", "prompts")
	check("prompts", "pull", "prompts", "--force")
}
