// Package chaos breaks what Atrium depends on while clients write: its process, its database, the network between them,
// the disk, and the running version. Acknowledged writes must be complete afterwards, and requests that cannot be
// served meanwhile must get an error.
//
// The binary is built without the race detector, unlike that of test/e2e, because a process is started hundreds of
// times here and its speed counts.
package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/program"
)

// root is the module's folder, from here.
var root = filepath.Join("..", "..")

// folder is for the binaries.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "atrium-chaos-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// present builds the program of this tree, once.
var present = sync.OnceValues(func() (string, error) {
	if err := fixture.DependOnSources(root); err != nil {
		return "", err
	}
	return program.Build(root, "present", filepath.Join(folder, "present"))
})

// current is present, but fails the test on an error.
func current(t *testing.T) string {
	t.Helper()
	binary, err := present()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// onEach runs a test on both engines.
func onEach(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range []string{sqlite, postgres} {
		t.Run("on "+engine, func(t *testing.T) { test(t, engine) })
	}
}
