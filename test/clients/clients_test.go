// Package clients runs the clients of all three languages against the built server, by the same tests: what one client
// does, the others do.
package clients

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

var suite = program.Suite{Root: filepath.Join("..", "..")}

func TestMain(m *testing.M) { suite.Main(m) }

const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// world is a server with a proxy in front of it, which breaks what a test asks for.
type world struct {
	*proxy
	t          *testing.T
	deployment *program.Deployment
	node       *program.Node
	key        string // of the owner
}

const config = `
server:
  rate_limit: {per_minute: 1000000, burst: 1000000, sign_ins_per_minute: 1000000}
  concurrency: {per_caller: 1000, per_workspace: 1000}
  drain: 0s
connections:
  preview_limits: {workspace_per_minute: 100000, target_per_hour: 100000}
orgs:
  - slug: default
    rows: {rows: 5000}
    egress: {allow: [127.0.0.0/8]}
    payments:
      gateway: sandbox
      plans:
        - {id: starter, name: Starter, price: {amount: 900, currency: usd}, interval: month, interval_count: 1}
`

func newWorld(t *testing.T, engine string) *world {
	t.Helper()
	url := ""
	if engine == postgres {
		url = migrated.Postgres(t)
	}
	w := &world{t: t, deployment: program.Deploy(t, url, config)}
	if engine == sqlite {
		require.NoError(t, os.Mkdir(w.deployment.Data(), 0o700))
		migrated.SQLite(t, filepath.Join(w.deployment.Data(), "atrium.db"))
	}
	w.key = w.deployment.Owner(t, suite.Binary(t), "owner@example.com", "--workspace", "default")
	w.proxy = newProxy(t)
	w.start()
	return w
}

// start starts a server, which ends with the world's test.
func (w *world) start() {
	w.t.Helper()
	w.node = w.deployment.Start(w.t, suite.Binary(w.t))
	w.proxy.forwardTo(w.t, w.node.URL)
}

// connect returns the driver with a client of the world.
func (w *world) connect(t *testing.T, d driver) *session {
	t.Helper()
	return w.connectWith(t, d, settings{MaxRetries: 2, TimeoutMS: 30_000})
}

func (w *world) connectWith(t *testing.T, d driver, s settings) *session {
	t.Helper()
	if s.Base == "" {
		s.Base = w.server.URL
	}
	s.Token = w.key
	r := d.do(t, command{Do: "new", Settings: &s}, nil)
	if r.Error != nil || strings.Contains(r.Text, w.key) {
		t.Fatalf("a new client: %+v; it prints itself as %s", r.Error, r.Text)
	}
	w.proxy.reset()
	return &session{w, d}
}

// compiled returns the folder of the TypeScript client's JavaScript, which tsc has checked.
func compiled(t *testing.T) string {
	t.Helper()
	npm := services.NPM(t)
	buildOnce.Do(func() { build.folder, build.output, build.err = compile(npm) })
	if build.err != nil {
		t.Fatalf("tsc --strict: %v\n%s", build.err, build.output)
	}
	return build.folder
}

var (
	buildOnce sync.Once
	build     struct {
		folder string
		output []byte
		err    error
	}
)

// compile installs the compiler and runs it.
func compile(npm string) (folder string, output []byte, err error) {
	const source = "../../clients/typescript"
	cache, output, err := services.Packages(npm, source, filepath.Join(".bin", "tsc"))
	if err != nil {
		return "", output, err
	}
	folder = filepath.Join(suite.Folder, "typescript")
	output, err = exec.Command(filepath.Join(cache, "node_modules", ".bin", "tsc"), "-p", source, "--outDir", folder,
		"--removeComments").CombinedOutput()
	return folder, output, err
}

func TestTheTypeScriptClientIsSmall(t *testing.T) {
	folder := compiled(t)
	files, err := filepath.Glob(filepath.Join(folder, "*.js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	var core, calls []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if filepath.Base(file) == "api.gen.js" {
			calls = text
		} else {
			core = append(core, text...)
		}
	}
	// What is written by hand has a limit of its own; what is generated grows with the operations of the contract.
	operations := bytes.Count(calls, []byte("this.caller."))
	ofCore, ofCalls := compressed(t, core), compressed(t, calls)
	t.Logf("the TypeScript client has %d bytes of JavaScript, compressed, and %d for %d operations", ofCore, ofCalls,
		operations)
	if ofCore > 13<<10 {
		t.Errorf("its core has more than 13 KiB")
	}
	if operations == 0 || ofCalls > 40*operations {
		t.Errorf("an operation has more than 40 bytes")
	}
}

// compressed returns the size of a text after gzip, in bytes.
func compressed(t *testing.T, text []byte) int {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.Close())
	return packed.Len()
}

func TestThePublicTypesOfTypeScriptHaveNoAny(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(compiled(t), "*.d.ts"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, any := range []string{": any", "<any", "any>", "any[]", "as any"} {
			if bytes.Contains(text, []byte(any)) {
				t.Errorf("%s has %q", filepath.Base(file), any)
			}
		}
	}
}

func TestThePythonClientPassesMypy(t *testing.T) {
	check := exec.Command(services.Mypy(t), "--cache-dir", filepath.Join(suite.Folder, "mypy"))
	check.Dir = "../../clients/python"
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("mypy --strict: %v\n%s", err, out)
	}
}

// TestSuitesOfTheClients runs what the clients test by themselves, with the test runners of their languages.
func TestSuitesOfTheClients(t *testing.T) {
	run := func(t *testing.T, folder, name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = folder
		c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "GOFLAGS=", "CGO_ENABLED=0",
			"ATRIUM_CLIENT="+compiledIfNode(t, name))
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	t.Run("Go", func(t *testing.T) { run(t, "../../clients/go", "go", "test", "./...") })
	t.Run("TypeScript", func(t *testing.T) {
		run(t, "../../clients/typescript", services.Node(t), "--test", "test/")
	})
	t.Run("Python", func(t *testing.T) {
		run(t, "../../clients/python", services.Python(t), "-m", "unittest", "discover", "-s", "tests")
	})
}

func compiledIfNode(t *testing.T, name string) string {
	if filepath.Base(name) != "node" {
		return ""
	}
	return filepath.Join(compiled(t), "index.js")
}
