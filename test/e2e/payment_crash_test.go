package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// assassin kills a server at one of its next calls to the gateway, before the effect or before the response. It makes
// some of the other calls fail.
type assassin struct {
	mu     sync.Mutex
	victim *server
	left   int // calls until then; negative for never
}

func (a *assassin) hire(victim *server, calls int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.victim, a.left = victim, calls
}

func (a *assassin) trouble(stripeapi.Call) (stripeapi.Fault, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left < 0 {
		return stripeapi.None, 0
	}
	if a.left--; a.left < 0 {
		_ = a.victim.process.Process.Kill()
		return []stripeapi.Fault{stripeapi.Dropped, stripeapi.Lost}[rand.N(2)], 0
	}
	if rand.N(10) == 0 {
		faults := []stripeapi.Fault{stripeapi.RateLimited, stripeapi.Unavailable, stripeapi.FailedAfter, stripeapi.Lost,
			stripeapi.Garbage}
		return faults[rand.N(len(faults))], 0
	}
	return stripeapi.None, 0
}

// TestACrashAmongPayments kills the server while a workspace subscribes, changes and cancels: at a random moment, or at
// a call to the gateway, before or after its effect. After the next server has reconciled, the mirror must match the
// gateway, and the gateway must have charged no request twice.
func TestACrashAmongPayments(t *testing.T) {
	rounds := proof.Sample(2, 60) // on each engine
	onEach(t, func(t *testing.T, engine string) {
		api, stripe := newStripe(t)
		d := deployMigrated(t, engine, stripe)
		s := d.start(t)
		ann := s.user(t, "owner")
		customer := ann.customer(t)
		api.AddCard(customer, "4242")
		ann.get(t, payments+"/methods") // the stand-in tells of nothing by itself
		killer := &assassin{left: -1}
		api.Provoke(killer.trouble)
		var wishes atomic.Int64
		for round := range rounds {
			if round%2 == 0 {
				killer.hire(s, 1+rand.N(12))
			}
			c := ann.at(s)
			var clients sync.WaitGroup
			repeatUntil := func(call func(i int) (*answer, error)) {
				clients.Go(func() {
					for i := 0; ; i++ {
						if _, err := call(i); err != nil {
							return // the server is gone
						}
					}
				})
			}
			plan := func(i int) string { return []string{"basic", "pro"}[i%2] }
			repeatUntil(func(i int) (*answer, error) {
				wishes.Add(1)
				return c.try(t, "POST", payments+"/subscriptions", object{"plan_id": plan(i), "quantity": 1 + i%3},
					fmt.Sprintf("Idempotency-Key: %d-%d", round, i))
			})
			repeatUntil(func(i int) (*answer, error) {
				return c.try(t, "PATCH", mine, object{"plan_id": plan(i), "quantity": 1 + rand.N(9)})
			})
			repeatUntil(func(int) (*answer, error) { return c.try(t, "DELETE", mine, nil) })
			late := rand.N(time.Second)
			if round%2 == 0 {
				late = 10 * time.Second // should nobody call
			}
			killedTimer := time.AfterFunc(late, func() { _ = s.process.Process.Kill() })
			d.hurry(t, s)
			killedTimer.Stop()
			clients.Wait()
			killer.hire(nil, -1)
			d.sql(t, `UPDATE jobs SET due_at = 1 WHERE state = 'running'`) // expire the leases of the killed workers
			s = d.start(t)
			d.reconciled(t, s)
			d.agrees(t, ann.at(s), api, customer)
			if t.Failed() {
				t.Fatalf("in round %d", round)
			}
		}
		chargedTexts := map[string]bool{}
		for _, charge := range api.Charges() {
			if chargedTexts[charge.Key] {
				t.Errorf("charged twice under %s", charge.Key)
			}
			chargedTexts[charge.Key] = true
		}
		counts := api.Made("atrium_key")
		for key, n := range counts {
			if n != 1 || key == "" {
				t.Errorf("%d subscriptions of %q", n, key)
			}
		}
		if invalid := api.Wrongs(); len(invalid) > 0 || int64(len(counts)) > wishes.Load() || api.Customers() != 1 {
			t.Errorf("%v; %d subscriptions of %d wishes, %d customers", invalid, len(counts), wishes.Load(),
				api.Customers())
		}
		t.Logf("%d rounds, %d wishes to subscribe, %d subscriptions, %d charges", rounds, wishes.Load(), len(counts),
			len(chargedTexts))
	})
}

// hurry makes reconciliations due at once, until the server has ended.
func (d *deployment) hurry(t *testing.T, s *server) {
	t.Helper()
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-s.ended:
			tick.Stop()
			return
		case <-tick.C:
			d.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'payment.reconcile' AND state = 'queued' AND due_at > 1`)
		}
	}
}

// reconciled waits until the server knows the outcome of every operation.
func (d *deployment) reconciled(t *testing.T, s *server) {
	t.Helper()
	awaits(t, "all is reconciled", s, func() bool {
		d.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'payment.reconcile' AND state = 'queued' AND due_at > 1`)
		return d.column(t, `SELECT COUNT(*) FROM payment_customers WHERE pending <> ''`)[0] == "0"
	})
}

// agrees compares the mirror with what the gateway counted.
func (d *deployment) agrees(t *testing.T, c *client, api *stripeapi.Server, customer string) {
	t.Helper()
	mirroredTexts, live := d.column(t, `SELECT id FROM payment_subscriptions WHERE ended_at = 0`), api.Live(customer)
	if fmt.Sprint(mirroredTexts) != fmt.Sprint(live) || len(live) > 1 {
		t.Errorf("the mirror has %v, and the gateway %v", mirroredTexts, live)
	}
	if out := d.must(t, "doctor", "payments"); !strings.Contains(out, "1 customer, 0 differences") {
		t.Errorf("the doctor says: %s", out)
	}
}
