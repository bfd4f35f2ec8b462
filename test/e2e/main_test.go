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
	"runtime/debug"
	"testing"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// binary is the path of the program under test. With ATRIUM_RACE=all, as in make race, it has the race detector, which
// needs four times the processor. plain is the program without it, for short commands of which tests run hundreds.
var binary, plain string

func TestMain(m *testing.M) {
	if os.Getenv(nodeOf) != "" {
		os.Exit(workAsNode())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	// Every response is decoded and compared with its schema: with the usual 100, a quarter of this process's time went
	// into collecting garbage. Atrium's processes have their own setting.
	debug.SetGCPercent(400)
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
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	code := m.Run()
	if chromium.end != nil {
		chromium.end()
	}
	if flag.Lookup("test.run").Value.String() == "" {
		code = max(code, unreached())
	}
	return code
}

// build builds the program without the race detector, and with it if it should and can.
func build() (err error) {
	folder := filepath.Join(filepath.Dir(binary), "plain")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	plain, err = program.Present(filepath.Join("..", ".."), filepath.Join(folder, "atrium"))
	_, empty := exec.LookPath(cmp.Or(os.Getenv("CC"), "gcc"))
	if err != nil || empty != nil || os.Getenv("ATRIUM_RACE") != "all" {
		binary = plain
		return err
	}
	build := exec.Command("go", "build", "-race", "-ldflags", "-s -w", "-o", binary,
		"github.com/atrium-hq/atrium/cmd/atrium")
	flags := cmp.Or(os.Getenv("ATRIUM_RACE_GOFLAGS"), os.Getenv("GOFLAGS"))
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS="+flags)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	return nil
}

// unreached reports the documented responses that no test has seen.
func unreached() (code int) {
	missing, others, err := conformance.Unreached()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	for _, m := range missing {
		fmt.Fprintln(os.Stderr, "openapi.yaml documents an answer that no test has seen:", m)
		code = 1
	}
	fmt.Fprintln(os.Stderr, "Codes of openapi.yaml that no test has seen and none expects yet:", others)
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
