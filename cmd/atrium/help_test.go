package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestHelpListsOnlyFlagsWithAMeaning(t *testing.T) {
	for command, uses := range map[string]bool{
		"": true, "serve": true, "events verify": true, "healthcheck": true, "doctor": true, // data of this machine
		"api": false, "whoami": false, "login": false, "events tail": false, "events export": false, "prompts": false,
		"prompts pull": false, "completion": false, "man": false, "openapi": false, "version": false,
	} {
		var out, errs bytes.Buffer
		if code := run(append(strings.Fields(command), "--help"), nil, &out, &errs); code != 0 {
			t.Fatalf("atrium %s --help: code %d, %s", command, code, &errs)
		}
		for _, flag := range []string{"--config=FILE", "--data=DIR"} {
			if got := strings.Contains(out.String(), flag); got != uses {
				t.Errorf("the help of atrium %s lists %s: %v", command, flag, got)
			}
		}
		if got := strings.Contains(out.String(), "--version  "); got != (command == "") {
			t.Errorf("the help of atrium %s lists --version: %v", command, got)
		}
	}
}

func TestACommandThatUsesNoDataRefusesItsFlags(t *testing.T) {
	for line, want := range map[string]string{
		`api POST /api/webhooks --data {}`: "atrium: atrium api uses no data of this machine, so it has no --data; " +
			"the body of a request is --body\n",
		"--config x.yaml events tail": "atrium: atrium events tail uses no data of this machine, so it has no " +
			"--config\n",
	} {
		var out, errs bytes.Buffer
		if code := run(strings.Fields(line), nil, &out, &errs); code != exitUsage || errs.String() != want {
			t.Errorf("atrium %s: code %d, %q, want %q", line, code, &errs, want)
		}
	}
	var out, errs bytes.Buffer // a variable is for all commands
	if code := run([]string{"version"}, []string{"ATRIUM_CONFIG=x.yaml"}, &out, &errs); code != 0 {
		t.Errorf("with ATRIUM_CONFIG: code %d, %s", code, &errs)
	}
}

// TestCommandLinesInDocumentsAreValid parses each line that calls atrium in a code block, and each code span.
func TestCommandLinesInDocumentsAreValid(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "clients/*/README.md", "examples/*/README.md"} {
		found, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		documents = append(documents, found...)
	}
	call := regexp.MustCompile("(?m)(?:^ *|`|-- |exec |/)atrium(?:-admin)? ([a-z].*)$")
	word := regexp.MustCompile(`^ *((?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^\s'"|;&<>#()` + "`" + `])+)`)
	lines := 0
	for _, path := range documents {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		joinedText := strings.ReplaceAll(string(text), "\\\n", " ")
		for _, found := range call.FindAllStringSubmatch(joinedText, -1) {
			var args []string
			for rest := found[1]; ; {
				next := word.FindStringSubmatch(rest)
				if next == nil {
					break
				}
				rest = rest[len(next[0]):]
				args = append(args, strings.NewReplacer("'", "", `"`, "").Replace(next[1]))
			}
			lines++
			if err := validLine(t, args); err != nil {
				t.Errorf("%s: atrium %q: %v", strings.TrimPrefix(path, "../../"), args, err)
			}
		}
	}
	if lines < 60 {
		t.Errorf("only %d lines were found", lines)
	}
}

// validLine returns what is wrong with a command line. A text may name a command without its arguments.
func validLine(t *testing.T, args []string) error {
	t.Helper()
	parser, err := kong.New(&commandLine{}, kong.Name("atrium"), kong.Vars{"version": "v1"},
		kong.Exit(func(int) { t.Fatalf("%q ended", args) }))
	require.NoError(t, err)
	context, err := parser.Parse(slices.DeleteFunc(args, func(a string) bool { return a == "--help" }))
	if err == nil {
		return refuseFlags(context)
	}
	for _, incomplete := range []string{"missing flags", "expected ", "no such file"} {
		if strings.Contains(err.Error(), incomplete) {
			return nil
		}
	}
	return err
}
