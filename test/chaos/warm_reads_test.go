package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestWarmReadsCostTheDatabaseNothing counts the transactions at PostgreSQL without requests, and while 64 connections
// read one prompt as often as they may. The node looks for changes of other nodes twice a second in both cases (ADR
// 127). With requests, it also stores when the key was last used, once a minute, and every ten seconds how often the
// version was read and how many requests were made with the key (ADR 89).
func TestWarmReadsCostTheDatabaseNothing(t *testing.T) {
	besideOthers(t)
	s, db := warmNode(t)
	path := s.things[0].path
	idle := transactions(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var pause atomic.Int64
	pause.Store(int64(50 * time.Millisecond))
	for range 64 {
		readers.Go(func() {
			for ctx.Err() == nil {
				status, err := s.send(ctx, 0, s.owner, "GET", path, "", nil)
				if ctx.Err() == nil && (err != nil || status != http.StatusOK) {
					t.Errorf("a read: %d, %v", status, err)
					return
				}
				s.answered.Add(1)
				time.Sleep(time.Duration(pause.Load()))
			}
		})
	}
	// What is read first is still new. PostgreSQL counts what a connection has read up to ten seconds later
	// (PGSTAT_IDLE_INTERVAL in its pgstat.c), and the scans are compared in make prove.
	time.Sleep(proof.Sample(time.Second, 12*time.Second))
	if proof.Running() { // otherwise, other tests run at the same time
		pause.Store(0)
	}
	before, begun, answered := scans(t, db), time.Now(), s.answered.Load()
	loaded := transactions(t, db)
	reads := float64(s.answered.Load()-answered) / time.Since(begun).Seconds()
	cancel()
	readers.Wait()
	t.Logf("%.1f transactions a second without requests, %.1f with %.1f reads a second", idle, loaded, reads)
	most := 4.0
	if !proof.Running() { // on a busy machine, a node that waits for the processor has to read again
		most = max(most, reads/10)
	}
	if loaded > idle+most {
		t.Errorf("%.1f transactions a second, and %.1f without requests: at most %.1f more are allowed", loaded, idle,
			most)
	}
	after := scans(t, db)
	// Each read of the answer or of the credential reads one of these. Storing the counts reads neither.
	for _, table := range []string{"prompt_labels", "memberships"} {
		n := after[table] - before[table]
		t.Logf("%d scans of %s", n, table)
		if n > 0 && proof.Running() { // see above
			t.Errorf("%s was read, although nothing has changed", table)
		}
	}
}

// warmNode starts a node on PostgreSQL with an active version, a thing, and a chat that uses it, another one.
func warmNode(t *testing.T) (*staleness, *sql.DB) {
	t.Helper()
	url := services.Postgres(t)
	d := deploy(t, url)
	s := &staleness{t: t, nodes: []*program.Node{d.Start(t, suite.Binary(t))}}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	s.owner = d.Owner(t, suite.Binary(t), "ann@example.com")
	create := func(path, body string) (made struct{ ID string }) {
		t.Helper()
		if status, err := s.send(t.Context(), 0, s.owner, "POST", path, body, &made); err != nil ||
			status != http.StatusCreated {
			t.Fatal(path, status, err)
		}
		return made
	}
	prompt := create("/api/prompt-templates", `{"name": "warm"}`).ID
	path := "/api/prompt-templates/" + prompt
	create(path+"/versions", `{"text": "Hello", "activate": true}`)
	talk := create("/api/chat-templates", fmt.Sprintf(
		`{"name": "Warm", "prompt": {"prompt_template_id": %q, "ref": "active"}}`, prompt)).ID
	s.things = []*thing{{path: path + "/versions/active"}, {path: "/api/chat-templates/" + talk + "/runtime"}}
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return s, db
}

// TestWhatIsCachedForLongIsReadFromTablesWhoseChangesAreNoted reads everything that is cached for more than a second,
// and finds by PostgreSQL's statistics which tables that reads.
func TestWhatIsCachedForLongIsReadFromTablesWhoseChangesAreNoted(t *testing.T) {
	besideOthers(t)
	s, db := warmNode(t)
	const times = 200
	template := strings.TrimSuffix(s.things[0].path, "/versions/active")
	before, begun := scans(t, db), time.Now()
	for range times {
		for _, r := range []struct{ method, path, body string }{
			{"GET", s.things[0].path, ""}, {"GET", template + "/versions/latest", ""},
			{"GET", "/api/prompt-templates/resolve?name=warm", ""},
			{"POST", "/api/prompt-templates/resolve", `{"refs": [{"name": "warm"}]}`},
			{"POST", template + "/render", `{}`}, {"GET", s.things[1].path, ""},
		} {
			status, err := s.sendNoCache(t.Context(), s.owner, r.method, r.path, r.body)
			if err != nil || status != http.StatusOK {
				t.Fatal(r.method, r.path, status, err)
			}
		}
	}
	read := map[string]int{}
	proof.Eventually(t, fmt.Sprint("PostgreSQL has counted ", times, " reads"), func() bool {
		for table, n := range scans(t, db) {
			read[table] = n - before[table]
		}
		return read["prompt_templates"] >= times
	})
	background := int(4 * time.Since(begun).Seconds()) // no loop of the node reads a table more often
	isNoted := noted(t, db)
	isNoted["version_reads"] = true // when a template was last read, which is read with it and not returned
	for table, n := range read {
		if n >= times/2+background && !isNoted[table] {
			t.Errorf("%s was read %d times, but its changes are not noted", table, n)
		}
	}
}

// sendNoCache returns the status of a response that the first node reads from the database.
func (s *staleness) sendNoCache(ctx context.Context, token, method, path, body string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.nodes[0].URL+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
		"Cache-Control": {"no-cache"}}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// scans returns how often each table has been read.
func scans(t *testing.T, db *sql.DB) map[string]int {
	t.Helper()
	return numbers(t, db, `SELECT relname, seq_scan + COALESCE(idx_scan, 0) FROM pg_stat_user_tables`)
}

// noted returns the tables whose changes are noted.
func noted(t *testing.T, db *sql.DB) map[string]bool {
	t.Helper()
	tables := map[string]bool{}
	for table := range numbers(t, db, `SELECT DISTINCT event_object_table, 1 FROM information_schema.triggers
		WHERE action_statement LIKE '%note\_%'`) {
		tables[table] = true
	}
	if len(tables) == 0 {
		t.Error("no changes are noted")
	}
	return tables
}

func numbers(t *testing.T, db *sql.DB, query string) map[string]int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		require.NoError(t, rows.Scan(&name, &n))
		all[name] = n
	}
	require.NoError(t, rows.Err())
	return all
}

// transactions returns the rate of transactions in a database: the lowest of three, because other work varies, but
// reads would be counted each time.
func transactions(t *testing.T, db *sql.DB) (perSecond float64) {
	t.Helper()
	count := func() (n int) {
		require.NoError(t, db.QueryRowContext(t.Context(),
			`SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).
			Scan(&n))
		return n
	}
	time.Sleep(3 * time.Second) // until PostgreSQL has counted what was before
	least := math.Inf(1)
	for range 3 {
		before, begun := count(), time.Now()
		time.Sleep(proof.Sample(2*time.Second, 10*time.Second))
		least = min(least, float64(count()-before)/time.Since(begun).Seconds())
	}
	return least
}
