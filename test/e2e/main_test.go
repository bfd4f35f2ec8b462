// Package e2e drives the built binary the way its users do: as a process with a command line, and
// over HTTP. Every answer is checked against openapi.yaml on its way.
package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		err = dependOnSources()
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

// notYet are the documented answers that are still without a test. The list only gets shorter: what is
// not on it must be seen, and what is on it must not.
var notYet = []string{
	"cancelSubscription 409", "cancelSubscription 502",
	"createSetupIntent 502",
	"createSubscription 502",
	"deletePaymentMethod 422", "deletePaymentMethod 502",
	"deletePresence 403",
	"listInvoices 409",
	"listPaymentMethods 409",
	"receivePaymentEvent 429",
	"setDefaultPaymentMethod 409", "setDefaultPaymentMethod 422", "setDefaultPaymentMethod 502",
	"streamPresences 200",
	"updateSubscription 402", "updateSubscription 409", "updateSubscription 502",
}

// unreached says which documented answers no test has seen, but for those of notYet, and which of these
// one has seen since.
func unreached() (code int) {
	missing, err := fixture.Unreached()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	for _, m := range missing {
		if !slices.Contains(notYet, m) {
			fmt.Fprintln(os.Stderr, "openapi.yaml documents an answer that no test has seen:", m)
			code = 1
		}
	}
	for _, m := range notYet {
		if !slices.Contains(missing, m) {
			fmt.Fprintln(os.Stderr, "a test sees what notYet says that none does:", m)
			code = 1
		}
	}
	return code
}

// dependOnSources looks at every file that the binary is built from, so that go test, which notes
// what a test looks at, does not answer from its cache for another binary.
func dependOnSources() error {
	root := filepath.Join("..", "..")
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name[0] == '.' || name == "test" || name == "docs" || name == "tools") {
			return filepath.SkipDir
		}
		_, err = os.Stat(path)
		return err
	})
}

const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// onEach runs a test on both engines at once.
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
