package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// samplesFile returns the samples of the reference in one language as a function each, by template, which gets the name
// and the indented sample.
func samplesFile(t *testing.T, language, head, template, indent string) string {
	t.Helper()
	text, err := os.ReadFile("../../adapters/rest/openapi/samples.gen.json")
	require.NoError(t, err)
	var all map[string]map[string]string
	require.NoError(t, json.Unmarshal(text, &all))
	file := head
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if all[id][language] == "" {
			t.Errorf("%s has no sample", id)
		}
		file += fmt.Sprintf(template, id, strings.ReplaceAll(all[id][language], "\n", "\n"+indent))
	}
	return file
}

func TestTheSamplesInTypeScriptCompile(t *testing.T) {
	folder := compiled(t)
	writtenPath := filepath.Join(t.TempDir(), "samples.ts")
	text := samplesFile(t, "typescript", fmt.Sprintf("import type { Atrium } from '%s/index.js'\n", folder),
		"export async function %s(atrium: Atrium) {\n  %s\n}\n", "  ")
	require.NoError(t, os.WriteFile(writtenPath, []byte(text), 0o600))
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	tsc := filepath.Join(cache, "atrium-tests", "typescript", "node_modules", ".bin", "tsc")
	check := exec.Command(tsc, "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--lib",
		"es2022,dom,dom.asynciterable", "--ignoreConfig", writtenPath)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheSamplesInPythonPassMypy(t *testing.T) {
	writtenPath := filepath.Join(t.TempDir(), "samples.py")
	text := samplesFile(t, "python", "from atrium import Atrium\n",
		"\n\ndef %s(client: Atrium) -> None:\n    %s\n", "    ")
	require.NoError(t, os.WriteFile(writtenPath, []byte(text), 0o600))
	check := exec.Command(services.Mypy(t), "--strict", "--cache-dir", filepath.Join(suite.Folder, "mypy"),
		"--config-file", "pyproject.toml", writtenPath)
	check.Dir = "../../clients/python"
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("mypy --strict: %v\n%s", err, out)
	}
}
