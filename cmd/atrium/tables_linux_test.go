package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/atrium-hq/atrium/test/support/fixture"
)

// headings are the names of columns.
var headings = regexp.MustCompile(`^[A-Z]+( {1,}[A-Z]+)*$`)

// TestListsAreTablesOnATerminal runs every command that lists or shows something.
func TestListsAreTablesOnATerminal(t *testing.T) {
	folder := t.TempDir()
	environ := []string{"ATRIUM_DATA=" + filepath.Join(folder, "data"), "ATRIUM_LOG_LEVEL=error"}
	for _, args := range []string{"migrate", "user create --email ann@example.com --role owner --workspace space"} {
		var out bytes.Buffer
		if code := run(strings.Fields(args), environ, &out, &out); code != 0 {
			t.Fatalf("%s ended with %d: %s", args, code, out.String())
		}
	}
	flags := map[string]string{ // of each command that lists or shows
		"config show": "", "doctor all": "", "doctor payments": "", "events verify": "", "keys list": "",
		"payments events list": "", "token list": "--workspace space", "user list": "",
		"user show": "--email ann@example.com", "workspace list": "",
		"session list": "--email ann@example.com",
		"doctor oidc":  "",
	}
	var commands []string
	for _, c := range (&kong.Application{Node: declared(t)}).Leaves(false) {
		path := strings.TrimPrefix(c.FullPath(), "atrium ")
		if slices.Contains([]string{"list", "show", "verify"}, c.Name) || strings.HasPrefix(path, "doctor ") {
			if strings.HasPrefix(path, "prompts ") {
				continue // it calls a server: see test/clients
			}
			commands = append(commands, path)
		}
	}
	slices.Sort(commands)
	if existing := slices.Sorted(maps.Keys(flags)); !slices.Equal(commands, existing) {
		t.Fatalf("the commands are %v; this test knows %v", commands, existing)
	}
	for command, extra := range flags {
		t.Run(command, func(t *testing.T) {
			args := strings.Fields(command + " " + extra)
			visibleText := func(args ...string) string {
				terminal := fixture.NewTerminal(t)
				var failedBuffer bytes.Buffer
				if code := run(args, environ, terminal.TTY, &failedBuffer); code != 0 {
					t.Errorf("%v ended with %d: %s", args, code, failedBuffer.String())
				}
				return strings.ReplaceAll(terminal.Close(), "\r", "")
			}
			text := visibleText(args...)
			isHeading := func(line string) bool { return headings.MatchString(strings.TrimSpace(line)) }
			if !slices.ContainsFunc(strings.Split(text, "\n"), isHeading) || strings.Contains(text, "\t") {
				t.Errorf("it is no table with names of columns:\n%s", text)
			}
			if text := visibleText(append(args, "--json")...); !json.Valid([]byte(text)) {
				t.Errorf("it is not JSON: %s", text)
			}
			var pipedBuffer, failure bytes.Buffer
			if code := run(args, environ, &pipedBuffer, &failure); code != 0 ||
				slices.ContainsFunc(strings.Split(pipedBuffer.String(), "\n"), isHeading) {
				t.Errorf("other programs get names of columns:\n%s%s", pipedBuffer.String(), failure.String())
			}
		})
	}
}
