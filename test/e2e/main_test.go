// Package e2e drives the built binary as its users do: as a process with a command line, and over HTTP. Every response
// is checked against openapi.yaml.
package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/fixture"
)

// binary is the path of the program under test.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(nodeOf) != "" {
		os.Exit(workAsNode())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "atrium-e2e-")
	if err == nil {
		err = fixture.DependOnSources(filepath.Join("..", ".."))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(folder)
	binary = filepath.Join(folder, "atrium")
	build := exec.Command("go", "build", "-o", binary)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, err := exec.LookPath(cmp.Or(os.Getenv("CC"), "gcc")); err == nil { // which the race detector needs
		build.Args = append(build.Args, "-race")
		build.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	build.Args = append(build.Args, "github.com/atrium-hq/atrium/cmd/atrium")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build.Args, err, out)
		return 2
	}
	code := m.Run()
	if flag.Lookup("test.run").Value.String() == "" {
		code = max(code, unreached())
	}
	return code
}

// unreached reports the documented responses that no test has seen.
func unreached() (code int) {
	missing, err := fixture.Unreached()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	for _, m := range missing {
		fmt.Fprintln(os.Stderr, "openapi.yaml documents an answer that no test has seen:", m)
		code = 1
	}
	return code
}

const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// onEach runs a test on both engines concurrently.
func onEach(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	t.Parallel()
	for _, engine := range []string{sqlite, postgres} {
		t.Run("on "+engine, func(t *testing.T) {
			t.Parallel()
			test(t, engine)
		})
	}
}
