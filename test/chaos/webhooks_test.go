package chaos

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// hooked is a server with webhooks, and clients that cause events.
type hooked struct {
	*load
	deployment *program.Deployment
	node       *program.Node
	db         *sql.DB
	templates  []string // paths
	to         []*receiver
}

// newHooked returns a server whose workspace has some templates and receivers, which fail for a part of the requests.
func newHooked(t *testing.T, engine string, templates, receivers int, fails float64) *hooked {
	t.Helper()
	d := on(t, engine)
	h := &hooked{deployment: d, node: d.Start(t, suite.Binary(t))}
	h.load = newLoad(t, d.Owner(t, suite.Binary(t), "ann@example.com"), func() *program.Node { return h.node })
	h.mortal, h.db = true, d.Open(t)
	for range receivers {
		r := newReceiver(t, fails)
		h.to = append(h.to, r)
		h.hook(t, r.url)
	}
	for range templates {
		h.templates = append(h.templates, "/api/prompt-templates/"+
			h.must(t, "POST", "/api/prompt-templates", object{"name": h.name()}).id(t))
	}
	return h
}

// hook adds a webhook for the events of prompt templates.
func (h *hooked) hook(t *testing.T, url string) (path string) {
	t.Helper()
	return "/api/webhooks/" + h.must(t, "POST", "/api/webhooks",
		object{"url": url, "events": []string{"prompt_template.*"}}).id(t)
}

func (h *hooked) must(t *testing.T, method, path string, body any) *answer {
	t.Helper()
	a, err := h.try(method, path, body)
	if err != nil || a.status >= http.StatusMultipleChoices {
		t.Fatalf("%s: %v", a, err)
	}
	return a
}

// change changes a template, and reports whether the server confirmed that.
func (h *hooked) change(template string) bool {
	_, done := h.do("PATCH", template, object{"description": h.name()})
	return done
}

// write causes at least n events by eight writers at once.
func (h *hooked) write(n int) {
	h.stop = make(chan struct{})
	defer h.end()
	var rest atomic.Int64
	rest.Store(int64(n))
	for w := range 8 {
		h.running.Go(func() {
			for i := w; rest.Load() > 0; i += 8 {
				if h.change(h.templates[i%len(h.templates)]) {
					rest.Add(-1)
				}
			}
		})
	}
	h.running.Wait()
}

// events returns the events of prompt templates with their places, once all have one.
func (h *hooked) events(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	proof.Await(t, "all events have a place", func() (waiting int) {
		require.NoError(t, h.db.QueryRowContext(t.Context(),
			`SELECT COUNT(*) FROM recorded_events WHERE chain_seq = 0`).Scan(&waiting))
		return waiting
	}, func(waiting int) bool { return waiting == 0 })
	rows, err := h.db.QueryContext(t.Context(), `SELECT id, chain_seq FROM events WHERE type LIKE 'prompt_template.%'`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id string
		var seq int64
		require.NoError(t, rows.Scan(&id, &seq))
		all[id] = seq
	}
	return all
}

// hurry shortens the waits before deliveries are tried again, which reach from seconds to a day, until the test ends.
func (h *hooked) hurry(t *testing.T) {
	t.Helper()
	var running sync.WaitGroup
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); running.Wait() })
	running.Go(func() {
		for tick := time.NewTicker(200 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
			current := time.Now().UnixMicro()
			for _, statement := range []string{
				`UPDATE webhook_deliveries SET due_at = %[1]d WHERE state = 'pending' AND attempts > 0
					AND due_at > %[1]d AND due_at < 9000000000000000000`,
				`UPDATE webhooks SET due_at = %[1]d WHERE leased_until = 0 AND due_at > %[1]d
				AND EXISTS (SELECT 1 FROM webhook_deliveries d
					WHERE d.webhook_id = webhooks.id AND d.state = 'pending')`,
			} {
				if _, err := h.db.Exec(fmt.Sprintf(statement, current)); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// progress waits until every receiver knows n more events, or all of them, and returns how long that took.
func (h *hooked) progress(t *testing.T, n int, total int64) time.Duration {
	t.Helper()
	start, previous := time.Now(), make([]int, len(h.to))
	for i, r := range h.to {
		previous[i] = r.known()
	}
	proof.Eventually(t, fmt.Sprint(n, " events have arrived at each receiver"), func() bool {
		ready := true
		for i, r := range h.to {
			knownCount := r.known()
			ready = ready && (knownCount >= previous[i]+n || int64(knownCount) >= total)
		}
		return ready
	})
	return time.Since(start)
}

// TestEveryWebhookArrivesAlthoughTheServerIsKilled kills the server while it delivers events to three receivers, a
// fifth of whose responses are failures.
func TestEveryWebhookArrivesAlthoughTheServerIsKilled(t *testing.T) {
	kills, events := proof.Sample(1, 50), proof.Sample(150, 10_000)
	for _, engine := range []string{sqlite, postgres} {
		t.Run("on "+engine, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t, engine, 40, 3, 0.2)
			h.hurry(t)
			start, slowest := time.Now(), time.Duration(0)
			for range kills {
				h.write(events / kills)
				h.progress(t, 1+rand.IntN(max(1, events/kills/2)), int64(len(h.events(t))))
				h.node.Kill(t)
				h.node = h.deployment.Start(t, suite.Binary(t))
				h.write(1)
				slowest = max(slowest, h.progress(t, 1, 1<<60))
			}
			all := h.events(t)
			h.progress(t, 1<<30, int64(len(all)))
			took := time.Since(start)
			h.node.Stop(t)
			for i, r := range h.to {
				attempts, second := r.check(t, all)
				t.Logf("receiver %d: %d attempts, %d of them of an event that it had confirmed", i, attempts, second)
			}
			t.Logf("%d events, %d kills, %s; deliveries went on within %s", len(all), kills, took.Round(time.Second),
				slowest.Round(time.Millisecond))
			proof.Within(t, "from the start after a kill to a delivery at each receiver", slowest, 15*time.Second)
			if len(all) < events {
				t.Errorf("only %d events", len(all))
			}
		})
	}
}
