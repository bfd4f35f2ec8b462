// Package hostile attacks a running deployment with one self-made account of one org, and measures what a
// customer of another org notices. make test takes few samples and prints durations; make prove takes many and
// asserts that the victim's 99th percentile stays at or below 5 times its quiet one plus 50 ms.
package hostile

import (
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
)

var suite = program.Suite{Root: filepath.Join("..", "..")}

func TestMain(m *testing.M) { suite.Main(m) }

// onEach runs a test on both engines: when proving, one after the other, because they would disturb each other's
// measurements; else at the same time.
func onEach(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	engines := map[string]func(testing.TB) string{
		"on SQLite":     func(testing.TB) string { return "" },
		"on PostgreSQL": migrated.Postgres,
	}
	for name, database := range engines {
		t.Run(name, func(t *testing.T) {
			if !proof.Running() {
				t.Parallel()
			}
			test(t, database(t))
		})
	}
}
