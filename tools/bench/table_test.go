package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTablesTakeThePlaceOfThoseOfTheSameNameInADocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	const before = "# Page\n\n<!-- table: One -->\n| old | old |\n|---|---|\n| 1 | 2 |\n\nText.\n\n<!-- table: Two " +
		"-->\n\nEnd.\n"
	require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
	var r report
	r.section("One", "", "new")
	r.row("SQLite", "3")
	r.section("Two", "a")
	require.NoError(t, r.write(path))
	got, err := os.ReadFile(path)
	const want = "# Page\n\n<!-- table: One -->\n|  | new |\n|---|---|\n| SQLite | 3 |\n\nText.\n\n<!-- table: Two " +
		"-->\n| a |\n|---|\n\nEnd.\n"
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	r.section("Three", "a")
	require.NoError(t, r.write(path))
	if second, err := os.ReadFile(path); err != nil || string(second) != want {
		t.Errorf("a table without a mark changed the document to %s, %v", second, err)
	}
	if err := hasKnownTables(path); err == nil {
		t.Error("a table that nothing measures was not noticed")
	}
}

func TestEveryTableOfThePageIsMeasured(t *testing.T) {
	require.NoError(t, hasKnownTables("../../docs/benchmarks.md"))
}

func TestPercentilesAndMediansAreOfWhatWasMeasured(t *testing.T) {
	var sortedDurations []time.Duration
	for i := range 200 {
		sortedDurations = append(sortedDurations, time.Duration(i+1))
	}
	if p50, p99 := percentile(sortedDurations, 50), percentile(sortedDurations, 99); p50 != 100 || p99 != 198 {
		t.Errorf("p50 %d, p99 %d", p50, p99)
	}
	if m := median([]float64{3, 1, 2, 10}); m != 2.5 {
		t.Errorf("median %g", m)
	}
}
