package db_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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
var startsGeneration = regexp.MustCompile(`(?m)^\t+((?:db|tx|t|(?:tx|db)\.\w+)\.` +
	`(?:changing|changingAll|forget|begin)\(.*\))(?: //.*)?$`)

// TestEachPlaceThatStartsAGenerationIsTested builds the tests of this package with all of these statements made
// conditional, runs them without one statement after the other, and expects that a test fails. That needs a minute,
// so only make prove does it.
func TestEachPlaceThatStartsAGenerationIsTested(t *testing.T) {
	proof.Only(t)
	binary, places := withoutEach(t)
	if len(places) < 18 {
		t.Errorf("only %d places were found", len(places))
	}
	run := func(without int) (out []byte, err error) {
		for _, tests := range []string{"^(TestEveryChangeOfAWorkspaceStartsAGeneration|" +
			"TestCachedCredentialsFollowEveryChangeOfTheirPerson|" +
			"TestAChangeOfAPersonStartsAGenerationOfEachOfTheirWorkspaces)$", "^TestContract$/^sqlite$/^SignIns$"} {
			cmd := exec.CommandContext(t.Context(), binary, "-test.run", tests,
				"-test.skip", "/^postgres$|//^postgres$")
			cmd.Env = append(os.Environ(), fmt.Sprint("ATRIUM_WITHOUT=", without))
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

// withoutEach builds the tests of this package. Their program leaves out the statement whose index ATRIUM_WITHOUT has.
func withoutEach(t *testing.T) (binary string, places []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	dir, replace := t.TempDir(), map[string]string{}
	put := func(file string, code []byte) {
		original, err := filepath.Abs(file)
		require.NoError(t, err)
		replace[original] = filepath.Join(dir, file)
		require.NoError(t, os.WriteFile(replace[original], code, 0o600))
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		var changed []byte
		end := 0
		for _, at := range startsGeneration.FindAllSubmatchIndex(code, -1) {
			statement := code[at[2]:at[3]]
			changed = fmt.Appendf(append(changed, code[end:at[2]]...), "if leftOut != \"%d\" { %s }", len(places),
				statement)
			end = at[3]
			places = append(places,
				fmt.Sprintf("%s:%d %s", file, 1+bytes.Count(code[:at[2]], []byte("\n")), statement))
		}
		if end > 0 {
			put(file, append(changed, code[end:]...))
		}
	}
	put("without.go", []byte("package sqlstore\n\nimport \"os\"\n\nvar leftOut = os.Getenv(\"ATRIUM_WITHOUT\")\n"))
	names, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, names, 0o600))
	binary = filepath.Join(dir, "tests")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return binary, places
}
