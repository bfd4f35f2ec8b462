package e2e

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
)

// idleStreams compares PostgreSQL's rate of transactions while one idle stream is open and while 400 are. What one
// costs is counted without a clock by tests of rest and sqlstore.
func idleStreams(t *testing.T, d *deployment, nodes []*server) {
	t.Helper()
	const people, streams, during = 20, 20, 20 * time.Second
	s, other := nodes[0], nodes[1]
	db := d.open(t)
	defer db.Close()
	rate := func() float64 {
		t.Helper()
		count := func() (n int) {
			require.NoError(t, db.QueryRowContext(t.Context(),
				`SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`).Scan(&n))
			return n
		}
		pause(t.Context(), 1500*time.Millisecond) // until what was before is counted
		// Other work varies, but statements of streams would be counted each time.
		least := math.Inf(1)
		for range 3 {
			before, begun := count(), time.Now()
			pause(t.Context(), during)
			least = min(least, float64(count()-before)/time.Since(begun).Seconds())
		}
		return least
	}
	admin := s.user(t, "admin")
	var open []*events
	var keys []string
	begin := func(c *client) {
		t.Helper()
		made := c.create(t, "/api/api-keys", object{"name": fmt.Sprint("stream ", len(open))})
		by := *c
		by.token = made.at("token")
		e := by.stream(t, "?user_id="+admin.id)
		e.next()
		open, keys = append(open, e), append(keys, made.at("id"))
	}
	var crowd []*client
	for range people {
		crowd = append(crowd, s.user(t, "member"))
	}
	begin(crowd[0])
	one := rate()
	for i, c := range crowd {
		for n := range streams {
			if i > 0 || n > 0 {
				begin(c)
			}
		}
	}
	many := rate()
	t.Logf("%.1f transactions a second with one stream, %.1f with %d", one, many, len(open))
	if most := one + float64(len(open)/2); many > most { // two look-ups a second for each would be four times that
		t.Errorf("%.1f transactions a second with %d streams, %.1f with one", many, len(open), one)
	}
	last := len(open) - 1
	crowd[people-1].at(other).do(t, "DELETE", "/api/api-keys/"+keys[last], nil).is(t, 204)
	open[last].ends(1500 * time.Millisecond)
	admin.at(other).do(t, "DELETE", "/api/workspaces/"+admin.workspace+"/members/"+crowd[0].id, nil).is(t, 204)
	open[0].ends(1500 * time.Millisecond)
}
