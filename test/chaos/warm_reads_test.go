package chaos

import (
	"context"
	"database/sql"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/program"
	"github.com/atrium-hq/atrium/test/proof"
	"github.com/atrium-hq/atrium/test/services"
)

// TestWarmReadsCostTheDatabaseNearlyNothing counts the transactions at PostgreSQL without requests, and while 64
// connections read one prompt as often as they may. Once a second, one of them reads the answer again and one the
// credential (ADR 49). Every ten seconds the node stores how often the version was read and how many requests were made
// with the key (ADR 122).
func TestWarmReadsCostTheDatabaseNearlyNothing(t *testing.T) {
	besideOthers(t)
	url := services.Postgres(t)
	d := deploy(t, url)
	s := &staleness{t: t, nodes: []*program.Node{d.Start(t, suite.Binary(t))}}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	s.owner = d.Owner(t, suite.Binary(t), "ann@example.com")
	var made struct{ ID string }
	if status, err := s.send(t.Context(), 0, s.owner, "POST", "/api/prompt-templates", `{"name": "warm"}`,
		&made); err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	path := "/api/prompt-templates/" + made.ID
	if status, err := s.send(t.Context(), 0, s.owner, "POST", path+"/versions", `{"text": "Hello", "activate": true}`,
		nil); err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })

	idle := transactions(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 64 {
		readers.Go(func() {
			for ctx.Err() == nil {
				status, err := s.send(ctx, 0, s.owner, "GET", path+"/versions/active", "", nil)
				if ctx.Err() == nil && (err != nil || status != http.StatusOK) {
					t.Errorf("a read: %d, %v", status, err)
					return
				}
				s.answered.Add(1)
				time.Sleep(proof.Sample(50*time.Millisecond, 0)) // other tests run at the same time
			}
		})
	}
	loaded := transactions(t, db)
	cancel()
	readers.Wait()
	t.Logf("%.1f transactions a second without requests, %.1f with %d reads", idle, loaded, s.answered.Load())
	if loaded > idle+4 {
		t.Errorf("%.1f transactions a second, and %.1f without requests: at most 4 more are allowed", loaded, idle)
	}
}

// transactions returns the rate of transactions in a database: the lowest of three, because other work varies, but
// reads would be counted each time.
func transactions(t *testing.T, db *sql.DB) (perSecond float64) {
	t.Helper()
	count := func() (n int) {
		if err := db.QueryRowContext(t.Context(),
			`SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).
			Scan(&n); err != nil {
			t.Fatal(err)
		}
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
