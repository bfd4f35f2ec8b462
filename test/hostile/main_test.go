// Package hostile attacks a running deployment with one self-made account of one org, and measures what a
// customer of another org notices. make test takes few samples and prints durations; make prove takes many and
// asserts that the victim's 99th percentile stays at or below 5 times its quiet one plus 50 ms.
package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/program"
	"github.com/atrium-hq/atrium/test/services"
)

var folder string // of the binary

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "atrium-hostile-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// built builds the program of this tree once.
var built = sync.OnceValues(func() (string, error) {
	root := filepath.Join("..", "..")
	if err := fixture.DependOnSources(root); err != nil {
		return "", err
	}
	return program.Build(root, "hostile", filepath.Join(folder, "atrium"))
})

func binary(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// onEach runs a test on both engines, one after the other: they would disturb each other's measurements.
func onEach(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("on SQLite", func(t *testing.T) { test(t, "") })
	t.Run("on PostgreSQL", func(t *testing.T) { test(t, services.Postgres(t)) })
}
