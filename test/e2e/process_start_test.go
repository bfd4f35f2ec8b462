package e2e

import (
	"database/sql"
	"os/exec"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// What initialises packages allocates much, and frees little. With Go's default, it would collect garbage twice.
func TestAShortCommandCollectsNoGarbage(t *testing.T) {
	t.Parallel()
	collections := func(settings ...string) int {
		c := exec.Command(plain, "version")
		c.Env = append(settings, "GODEBUG=gctrace=1") // a line of each collection
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Count("\n"+string(out), "\ngc ")
	}
	if n := collections("GOGC=100"); n == 0 {
		t.Error("with Go's default there is none: the test finds nothing")
	}
	assert.Equal(t, "there were", collections(), 0)
}

// The loops of a start take turns, so that they share its first two connections. One more listens, and one looks up
// credentials: four in all. On a slow machine some of their first rounds overlap, which needs one more or two. If all
// loops begin at once, a start needs eight or more.
func TestTheLoopsOfAnIdleServerShareConnections(t *testing.T) {
	const most = 6
	t.Parallel()
	d := deployMigrated(t, postgres)
	db := d.open(t)
	counts := []int{}
	for range 5 {
		s := d.start(t)
		counts = append(counts, connectionsOf(t, db))
		s.stop(t)
		if counts[len(counts)-1] <= most {
			return
		}
	}
	t.Errorf("five starts have opened %v connections, want at most %d", counts, most)
}

// connectionsOf returns how many connections a server has, two seconds after it began to listen: each loop has then had
// more than one round.
func connectionsOf(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	proof.Eventually(t, "the server listens", func() (listens bool) {
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*), COALESCE(
				BOOL_OR(query LIKE 'LISTEN%' AND clock_timestamp() > backend_start + INTERVAL '2 s'), false)
			FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
				AND pid <> pg_backend_pid()`).Scan(&n, &listens))
		return listens
	})
	return n
}
