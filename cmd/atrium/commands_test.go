package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/reference"
	"github.com/atrium-hq/atrium/test/support/require"
)

func declared(t *testing.T) *kong.Node {
	t.Helper()
	parser, err := kong.New(&commandLine{}, kong.Name("atrium"), kong.Description("The workspace backend."),
		kong.Vars{"version": "v1"})
	require.NoError(t, err)
	return parser.Model.Node
}

// TestEveryCommandPrintsJSON names the commands that have no result to print, or whose output is a file of its own.
func TestEveryCommandPrintsJSON(t *testing.T) {
	other := []string{"serve", "work", "openapi", "completion", "man", "api", "user export", "events export",
		"listen"}
	for _, c := range (&kong.Application{Node: declared(t)}).Leaves(false) {
		exists := slices.ContainsFunc(c.Flags, func(f *kong.Flag) bool { return f.Name == "json" })
		if path := strings.TrimPrefix(c.FullPath(), "atrium "); exists == slices.Contains(other, path) {
			t.Errorf("%s has --json: %v", path, exists)
		}
	}
}

// TestBashCompletes asks bash itself.
func TestBashCompletes(t *testing.T) {
	script := filepath.Join(t.TempDir(), "atrium.bash")
	var out bytes.Buffer
	require.NoError(t, reference.Complete(&out, declared(t), reference.Bash))
	require.NoError(t, os.WriteFile(script, out.Bytes(), 0o600))
	for input, want := range map[string]string{
		"us":                                "user",
		"user li":                           "link list",
		"user create --ro":                  "--role",
		"user create --role o":              "owner",
		"user create --role = o":            "owner", // as bash splits --role=o
		"user create --role =":              "owner admin member viewer",
		"--data /tmp token cr":              "create",
		"completion f":                      "fish",
		"keys rotate --js":                  "--json",
		"serve --dem":                       "--demo",
		"token create --workspace x --name": "--name",
		"probe":                             "",
		"whoami --":                         "--profile --workspace --json --help",
	} {
		words := strings.Fields(input)
		// Words reach bash as arguments.
		c := exec.Command("bash", append([]string{"-c", `script=$1; shift; source "$script"
COMP_WORDS=(atrium "$@"); COMP_CWORD=$#; _atrium; echo "${COMPREPLY[@]}"`, "bash", script}, words...)...)
		got, err := c.CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("atrium %s completes to %q, want %q: %v", input, got, want, err)
		}
	}
}

func TestFishAndZshScripts(t *testing.T) {
	for shell, want := range map[string]string{
		// It completes also when zsh calls it for the first time.
		reference.Zsh: "\ncomplete -o default -F _atrium atrium\n" +
			"if [[ ${funcstack[1]} = _atrium ]]; then _bash_complete -o default -F _atrium; fi\n",
		// events is another command than payments events.
		reference.Fish: `complete -c atrium -n 'test (__atrium_command) = \' payments events\'' -a replay`,
	} {
		var out bytes.Buffer
		if err := reference.Complete(&out, declared(t), shell); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, without %s", shell, err, want)
		}
	}
	var fish bytes.Buffer
	require.NoError(t, reference.Complete(&fish, declared(t), reference.Fish))
	for line := range strings.Lines(fish.String()) { // only commands that use data of this machine know --data
		isExcepted := strings.Contains(line, `\' whoami\'`) && !strings.Contains(line, `\' serve\'`)
		if strings.Contains(line, " -l data ") && !isExcepted {
			t.Errorf("--data is offered by %s", line)
		}
	}
	if err := reference.Complete(&bytes.Buffer{}, declared(t), "tcsh"); err == nil {
		t.Error("another shell is accepted")
	}
}

func TestManualPages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1")
	app := declared(t)
	require.NoError(t, reference.WriteManual(folder, reference.Manual(app, "v1", manualEnd)))
	pages, err := filepath.Glob(folder + "/*.1")
	if err != nil || len(pages) < len(app.Children) {
		t.Fatalf("%v, %v", pages, err)
	}
	// A line that begins with a dot or a quote is a command of roff.
	command := regexp.MustCompile(`^[.'](TH|SH|SS|TP|PP|B|BR|I|IR|nf|fi|br)\b`)
	for _, path := range pages {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if (line[0] == '.' || line[0] == '\'') && !command.MatchString(line) {
				t.Errorf("%s: %s", filepath.Base(path), line)
			}
		}
	}
	for page, want := range map[string][]string{
		"atrium.1": {"EXIT STATUS", ".BR atrium-user (1)", "\\-\\-data"},
		"atrium-user.1": {"atrium user create \\-\\-email=EMAIL \\-\\-role=owner|admin|member|viewer",
			".SH USER LIST"},
		"atrium-backup.1": {"FILE"},
	} {
		text, err := os.ReadFile(filepath.Join(folder, page))
		require.NoError(t, err)
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %s:\n%s", page, part, text)
			}
		}
	}
}
