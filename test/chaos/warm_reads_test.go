package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// warmNode starts a node on PostgreSQL with an active version, a thing, and a chat that uses it, another one.
func warmNode(t *testing.T) (*staleness, *sql.DB) {
	t.Helper()
	url := services.Postgres(t)
	d := deploy(t, url)
	s := &staleness{t: t, nodes: []*program.Node{d.Start(t, suite.Binary(t))}}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	s.owner = d.Owner(t, suite.Binary(t), "ann@example.com")
	create := func(path, body string) (newCase struct{ ID string }) {
		t.Helper()
		if status, err := s.send(t.Context(), 0, s.owner, "POST", path, body, &newCase); err != nil ||
			status != http.StatusCreated {
			t.Fatal(path, status, err)
		}
		return newCase
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
	previous, start := scans(t, db), time.Now()
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
			read[table] = n - previous[table]
		}
		return read["prompt_templates"] >= times
	})
	background := int(4 * time.Since(start).Seconds()) // no loop of the node reads a table more often
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
