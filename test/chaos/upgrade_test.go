package chaos

import (
	"database/sql"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestARollingUpgrade replaces two nodes of each release on one PostgreSQL, one after the other, while eight
// clients write through both. No request may be refused, no write lost, and each running node must be ready.
func TestARollingUpgrade(t *testing.T) { eachRelease(t, rollingUpgrade) }

func rollingUpgrade(t *testing.T, old release) {
	present := suite.Binary(t)
	d := on(t, postgres)
	var nodes [2]atomic.Pointer[program.Node] // nil for one that is being replaced
	run := func(binary, version string) *program.Node {
		t.Helper()
		from := d
		if binary == old.binary {
			from = asReleased(d)
		}
		n := from.Start(t, binary)
		require.Equal(t, "it says that it is of", n.Await(t, program.Greeting)[1], version)
		return n
	}
	nodes[0].Store(run(old.binary, old.tag))
	nodes[1].Store(run(old.binary, old.tag))
	var turn atomic.Int64
	// Like a load balancer, it sends each request to the next node.
	l := newLoad(t, asReleased(d).Owner(t, old.binary, "ann@example.com"), func() *program.Node {
		for {
			if n := nodes[turn.Add(1)%2].Load(); n != nil {
				return n
			}
		}
	})
	runBoth := func(phase string) {
		t.Helper()
		previous := l.answered.Load()
		for range proof.Sample(2, 40) {
			l.answers(50)
			for i := range nodes {
				ready(t, nodes[i].Load())
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		t.Logf("%s: %d requests", phase, l.answered.Load()-previous)
	}
	l.during(func() {
		runBoth("old and old")
		for i, phase := range []string{"new and old", "new and new"} {
			leaving := nodes[i].Load()
			// A load balancer first stops sending to the leaving node, and adds the new node when that is ready.
			arriving := run(present, program.PresentVersion)
			ready(t, arriving)
			ready(t, leaving)
			nodes[i].Store(arriving)
			l.drain()
			leaving.Stop(t)
			runBoth(phase)
		}
	})
	db := d.Open(t)
	waitsForADay(t, db)
	lost := l.ledger.check(t, db)
	whole(t, db)
	t.Logf("%d requests answered, %d refused, %d acknowledged writes checked, %d lost", l.answered.Load(),
		l.refused.Load(), l.ledger.acked, lost)
}

// waitsForADay expects that derived keys seal nothing for a day after the upgrade, because nodes of the release do not
// know them but must open what is sealed until then.
func waitsForADay(t *testing.T, db *sql.DB) {
	t.Helper()
	var micros int64
	require.NoError(t, db.QueryRow(`SELECT derived_at FROM keyring`).Scan(&micros))
	if rest := time.Until(time.UnixMicro(micros)); rest < 23*time.Hour || rest > 24*time.Hour+time.Minute {
		t.Errorf("keys are derived in %s", rest)
	}
}

// ready expects that the node reports readiness.
func ready(t *testing.T, n *program.Node) {
	t.Helper()
	resp, err := http.Get(n.URL + "/api/health/ready")
	if err != nil {
		t.Error(err)
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a node answers %d to whether it is ready; it wrote: %s", resp.StatusCode, n.Output)
	}
}

// drain waits for the responses to all earlier requests.
func (l *load) drain() {
	l.flight.Lock()
	l.flight.Unlock() //nolint:staticcheck // those before have ended: that is all
}

// TestAnUpgradeInPlace stops each release on SQLite and starts this tree on its file. All rows must be unchanged,
// and clients can continue.
func TestAnUpgradeInPlace(t *testing.T) { eachRelease(t, upgradeInPlace) }

func upgradeInPlace(t *testing.T, old release) {
	present := suite.Binary(t)
	d := on(t, sqlite)
	n := asReleased(d).Start(t, old.binary)
	l := newLoad(t, asReleased(d).Owner(t, old.binary, "ann@example.com"), func() *program.Node { return n })
	l.during(func() { l.answers(proof.Sample[int64](100, 2000)) })
	n.Stop(t)

	// New columns are ignored. Jobs and presences change without a request.
	db := d.Open(t)
	rows := map[string]string{}
	for _, table := range column(t, db, `SELECT name FROM sqlite_master WHERE type = 'table'
		AND name NOT LIKE 'sqlite_%' AND name NOT IN ('goose_db_version', 'jobs', 'presences', 'presence_seqs')`) {
		columns := column(t, db, `SELECT name FROM pragma_table_info('`+table+`')`)
		rows[table] = `SELECT ` + "quote(" + strings.Join(columns, ") || ',' || quote(") + ")" + ` FROM ` + table +
			` ORDER BY 1`
	}
	previous := map[string]string{}
	count := 0
	for table, query := range rows {
		lines := column(t, db, query)
		previous[table], count = strings.Join(lines, "\n"), count+len(lines)
	}
	db.Close()

	n = d.Start(t, present)
	db = d.Open(t)
	for table, query := range rows {
		if nextPath := strings.Join(column(t, db, query), "\n"); nextPath != previous[table] {
			t.Errorf("rows of %s are others:\n%.2000s\nbefore:\n%.2000s", table, nextPath, previous[table])
		}
	}
	waitsForADay(t, db)
	l.during(func() { l.answers(50) })
	lost := l.ledger.check(t, db)
	sound(t, db)
	t.Logf("%d rows of %d tables as before; %d acknowledged writes checked, %d lost", count, len(rows),
		l.ledger.acked, lost)
}

// TestMigrationsThatWereReleasedStay checks that released migrations are unchanged, because a database does not apply
// one twice.
func TestMigrationsThatWereReleasedStay(t *testing.T) {
	old := lastRelease(t)
	const folder = "adapters/sqlstore/migrations"
	change, err := git("diff", "--name-status", "--no-renames", "--diff-filter=a", old.commit, "--", folder)
	require.NoError(t, err)
	if change != "" {
		t.Errorf("these are part of %s; write a new one instead:\n%s", old.tag, change)
	}
}
