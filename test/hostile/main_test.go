// Package hostile attacks a running deployment with one self-made account of one org, and measures what a
// customer of another org notices. make test takes few samples and prints durations; make prove takes many and
// asserts that the victim's 99th percentile stays at or below 5 times its quiet one plus 50 ms.
package hostile

import (
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/migrated"
	"github.com/atrium-hq/atrium/test/program"
)

var suite = program.Suite{Root: filepath.Join("..", "..")}

func TestMain(m *testing.M) { suite.Main(m) }

// onEach runs a test on both engines, one after the other: they would disturb each other's measurements.
func onEach(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("on SQLite", func(t *testing.T) { test(t, "") })
	t.Run("on PostgreSQL", func(t *testing.T) { test(t, migrated.Postgres(t)) })
}
