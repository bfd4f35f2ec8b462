package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// programs are the programs of a page, by language.
type programs map[string]string

func programsOf(t *testing.T, page string) programs {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	require.NoError(t, err)
	all := programs{}
	for _, found := range regexp.MustCompile("(?s)```(ts|python|go)\n(.*?)```").FindAllStringSubmatch(string(text),
		-1) {
		all[found[1]] = found[2]
	}
	if len(all) != 3 {
		t.Fatalf("%s has programs in %d languages", page, len(all))
	}
	return all
}

// ready writes the program in a language into a folder, and returns a function that runs it there and returns what it
// wrote.
func (p programs) ready(t *testing.T, w *world, language string, variables ...string) func(t *testing.T) string {
	t.Helper()
	client, err := filepath.Abs("../../clients")
	require.NoError(t, err)
	folder := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	var command []string
	switch language {
	case "ts":
		write("node_modules/@atrium-hq/client/package.json", `{"type": "module", "exports": "./index.js"}`)
		write("node_modules/@atrium-hq/client/index.js", "export * from "+`"`+filepath.Join(compiled(t), "index.js")+`"`)
		write("program.mjs", p[language])
		command = []string{services.Node(t), "program.mjs"}
	case "python":
		write("program.py", p[language])
		command = []string{services.Python(t), "program.py"}
	case "go":
		write("go.mod", "module program\n\ngo 1.26.0\n\nrequire github.com/atrium-hq/atrium/clients/go v0.0.0\n\n"+
			"replace github.com/atrium-hq/atrium/clients/go => "+filepath.Join(client, "go")+"\n")
		write("main.go", p[language])
		command = []string{"go", "run", "."}
	}
	return func(t *testing.T) string {
		t.Helper()
		c := exec.Command(command[0], command[1:]...)
		c.Dir = folder
		c.Env = append(os.Environ(), "ATRIUM_URL="+w.node.URL, "ATRIUM_KEY="+w.key, "GOFLAGS=", "CGO_ENABLED=0",
			"PYTHONPATH="+filepath.Join(client, "python"), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=*")
		c.Env = append(c.Env, variables...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
}

// TestQuickstarts runs the programs of docs/clients.md from its text.
func TestQuickstarts(t *testing.T) {
	t.Parallel()
	all, w := programsOf(t, "clients.md"), newWorld(t, sqlite)
	for language := range all {
		t.Run(language, func(t *testing.T) {
			assert.Equal(t, "it wrote", all.ready(t, w, language)(t), "Hello Ann!\ncreated once\nname_taken\n")
		})
	}
	t.Run("mirrors", func(t *testing.T) { mirrorsFollowASource(t, w) })
}

// mirrorsFollowASource runs the programs of docs/mirror.md from its text, before and after a file has changed.
func mirrorsFollowASource(t *testing.T, w *world) {
	write := func(text string) {
		path := filepath.Join(w.deployment.Data(), "sheets", "guild.csv")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("Mail;Name\n"+text), 0o600))
	}
	write("ada@example.com;Ada\nbob@example.com;Bob\ncy@example.com;Cy\n")
	s := w.connect(t, languages["Go"](t))
	id := s.must(t, command{Name: "dataSources.attach", HasBody: true, Body: object{"type": "contacts",
		"location": object{"url": "file:guild.csv", "header_row": 1}, "mapping": []object{
			{"field": "email", "column": "Mail"}, {"field": "full_name", "column": "Name"}}}}).at(t, "id")
	compare := func(comparisons int) {
		t.Helper()
		for _, key := range []any{nil, "email"} { // a new key compares at once
			s.must(t, command{Name: "dataSources.update", Args: []string{id}, HasBody: true,
				Body: object{"change_key": key}})
		}
		proof.Await(t, "a comparison", func() int {
			return len(s.must(t, command{Name: "dataSources.changes.list", Args: []string{id}, HasQuery: true,
				Query: object{}, Options: callOptions{All: true}}).Value.([]any))
		}, func(count int) bool { return count == comparisons })
	}
	all, run := programsOf(t, "mirror.md"), map[string]func(*testing.T) string{}
	compare(1)
	for language := range all {
		run[language] = all.ready(t, w, language, "ATRIUM_SOURCE="+id)
		assert.Equal(t, language, run[language](t), "ada@example.com bob@example.com cy@example.com\n")
	}
	write("ada@example.com;Augusta\ncy@example.com;Cy\nzoe@example.com;Zoe\n")
	compare(2)
	for language := range all {
		assert.Equal(t, language, run[language](t), "ada@example.com cy@example.com zoe@example.com\n")
	}
}
