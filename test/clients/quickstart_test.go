package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestQuickstarts runs the programs of docs/clients.md from its text.
func TestQuickstarts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/clients.md")
	require.NoError(t, err)
	programs := map[string]string{}
	for _, found := range regexp.MustCompile("(?s)```(ts|python|go)\n(.*?)```").FindAllStringSubmatch(string(text),
		-1) {
		programs[found[1]] = found[2]
	}
	client, err := filepath.Abs("../../clients")
	require.NoError(t, err)
	w := newWorld(t, sqlite)
	run := func(t *testing.T, language, file string, files map[string]string, name string, args ...string) {
		t.Helper()
		if programs[language] == "" {
			t.Fatal("docs/clients.md has no program")
		}
		folder := t.TempDir()
		for name, content := range files {
			path := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(programs[language]), 0o644))
		c := exec.Command(name, args...)
		c.Dir = folder
		c.Env = append(os.Environ(), "ATRIUM_URL="+w.node.URL, "ATRIUM_KEY="+w.key, "GOFLAGS=",
			"CGO_ENABLED=0",
			"PYTHONPATH="+filepath.Join(client, "python"), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=*")
		out, err := c.CombinedOutput()
		if want := "Hello Ann!\ncreated once\nname_taken\n"; err != nil || string(out) != want {
			t.Errorf("it wrote %q, want %q (%v)", out, want, err)
		}
	}
	t.Run("TypeScript", func(t *testing.T) {
		run(t, "ts", "quickstart.mjs", map[string]string{
			"node_modules/@atrium-hq/client/package.json": `{"type": "module", "exports": "./index.js"}`,
			"node_modules/@atrium-hq/client/index.js": "export * from " + `"` + filepath.Join(compiled(t),
				"index.js") + `"`,
		}, services.Node(t), "quickstart.mjs")
	})
	t.Run("Python", func(t *testing.T) { run(t, "python", "quickstart.py", nil, services.Python(t), "quickstart.py") })
	t.Run("Go", func(t *testing.T) {
		run(t, "go", "main.go", map[string]string{"go.mod": "module quickstart\n\ngo 1.26.0\n\nrequire " +
			"github.com/atrium-hq/atrium/clients/go v0.0.0\n\nreplace github.com/atrium-hq/atrium/clients/go => " +
			filepath.Join(client, "go") + "\n"}, "go", "run", ".")
	})
}
