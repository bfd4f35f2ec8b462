// Package chaos breaks what Atrium depends on while clients write: its process, its database, the network between them,
// the disk, and the running version. Acknowledged writes must be complete afterwards, and requests that cannot be
// served meanwhile must get an error.
//
// The binary is built without the race detector, unlike that of test/e2e, because a process is started hundreds of
// times here and its speed counts.
package chaos

import (
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
)

var suite = program.Suite{Root: filepath.Join("..", "..")}

func TestMain(m *testing.M) { suite.Main(m) }

const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// besideOthers lets a test run in parallel, except in make prove, which asserts durations.
func besideOthers(t *testing.T) {
	t.Helper()
	if !proof.Running() {
		t.Parallel()
	}
}

// onEach runs a test on both engines.
func onEach(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range []string{sqlite, postgres} {
		t.Run("on "+engine, func(t *testing.T) { test(t, engine) })
	}
}
