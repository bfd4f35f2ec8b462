package db_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// startsGeneration matches a statement that starts a generation of a workspace, or that clears what is cached of
// credentials.
var startsGeneration = regexp.MustCompile(`(?m)^\t+(\w+(?:\.\w+)?\.(?:DeclareChange|DeclareWideChange|Forget|begin)` +
	`\(.*\))(?: //.*)?$`)

// TestEachPlaceThatStartsAGenerationIsTested builds the tests of the stores with all of these statements made
// conditional, runs them without one statement after the other, and expects that a test fails.
func TestEachPlaceThatStartsAGenerationIsTested(t *testing.T) {
	proof.Only(t)
	overlay, places := withoutEach(t)
	if len(places) < 18 {
		t.Errorf("only %d places were found", len(places))
	}
	type suite struct{ program, tests string }
	var suites []suite
	for folder, tests := range map[string]string{
		".": "^(TestEveryChangeOfAWorkspaceStartsAGeneration|TestCachedCredentialsFollowEveryChangeOfTheirPerson|" +
			"TestAChangeOfAPersonStartsAGenerationOfEachOfTheirWorkspaces)$",
		"..": "^TestContract$/^sqlite$/^SignIns$",
	} {
		program := filepath.Join(t.TempDir(), "tests")
		cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", program, folder)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		suites = append(suites, suite{program, tests})
	}
	run := func(otherCount int) (out []byte, err error) {
		for _, s := range suites {
			cmd := exec.CommandContext(t.Context(), s.program, "-test.run", s.tests,
				"-test.skip", "/^postgres$|//^postgres$")
			cmd.Env = append(os.Environ(), fmt.Sprint("ATRIUM_WITHOUT=", otherCount))
			if out, err = cmd.CombinedOutput(); err != nil {
				break
			}
		}
		return out, err
	}
	if out, err := run(-1); err != nil {
		t.Fatalf("with every statement: %v\n%s", err, out)
	}
	for i, place := range places {
		t.Run(place, func(t *testing.T) {
			out, err := run(i)
			switch {
			case err == nil:
				t.Errorf("no test notices that it is missing:\n%s", out)
			case !bytes.Contains(out, []byte("--- FAIL: Test")):
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// withoutEach returns an overlay of the stores' sources, with which a program leaves out the statement whose index
// ATRIUM_WITHOUT has.
func withoutEach(t *testing.T) (overlay string, places []string) {
	t.Helper()
	folder, replace := t.TempDir(), map[string]string{}
	put := func(original string, code []byte) {
		replace[original] = filepath.Join(folder, strings.ReplaceAll(original, "/", "_"))
		require.NoError(t, os.WriteFile(replace[original], code, 0o600))
	}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		code, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var change []byte
		end := 0
		for _, positions := range startsGeneration.FindAllSubmatchIndex(code, -1) {
			statement := code[positions[2]:positions[3]]
			change = fmt.Appendf(append(change, code[end:positions[2]]...), "if leftOut != \"%d\" { %s }", len(places),
				statement)
			end = positions[3]
			places = append(places, fmt.Sprintf("%s:%d %s", strings.TrimPrefix(file, root+"/"),
				1+bytes.Count(code[:positions[2]], []byte("\n")), statement))
		}
		if end > 0 {
			put(file, append(change, code[end:]...))
			put(filepath.Join(filepath.Dir(file), "without.go"), fmt.Appendf(nil,
				"%s\n\nimport \"os\"\n\nvar leftOut = os.Getenv(\"ATRIUM_WITHOUT\")\n", packageClause.Find(code)))
		}
		return nil
	}))
	names, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay = filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, names, 0o600))
	return overlay, places
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)
