package payments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

var errKilled = errors.New("the process died")

// mortal is a gateway whose caller may die before or after a call.
type mortal struct {
	ports.Gateway
	dies func() bool
}

func (m mortal) SetDefault(ctx context.Context, key string, c payment.CustomerID, id payment.MethodID) error {
	defer m.mayDie()
	m.mayDie()
	return m.Gateway.SetDefault(ctx, key, c, id)
}

func (m mortal) Subscribe(ctx context.Context, key string, c payment.CustomerID,
	o payment.Order) (payment.GatewaySubscription, error) {
	defer m.mayDie()
	m.mayDie()
	return m.Gateway.Subscribe(ctx, key, c, o)
}

func (m mortal) Amend(ctx context.Context, key string, c payment.CustomerID, s payment.SubscriptionID,
	a payment.Amendment) (payment.GatewaySubscription, error) {
	defer m.mayDie()
	m.mayDie()
	return m.Gateway.Amend(ctx, key, c, s, a)
}

func (m mortal) Cancel(
	ctx context.Context, key string, c payment.CustomerID, s payment.SubscriptionID, reason payment.Cancellation,
) error {
	defer m.mayDie()
	m.mayDie()
	return m.Gateway.Cancel(ctx, key, c, s, reason)
}

func (m mortal) Pay(ctx context.Context, key string, c payment.CustomerID,
	i payment.InvoiceID) (payment.InvoicePayment, error) {
	defer m.mayDie()
	m.mayDie()
	return m.Gateway.Pay(ctx, key, c, i)
}

func (m mortal) Buy(ctx context.Context, key string, c payment.CustomerID,
	o payment.PackOrder) (payment.InvoicePayment, error) {
	defer m.mayDie()
	m.mayDie()
	return m.Gateway.Buy(ctx, key, c, o)
}

func (m mortal) ReportUsage(ctx context.Context, e payment.UsageEvent) error {
	defer m.mayDie()
	m.mayDie()
	return m.Gateway.ReportUsage(ctx, e)
}

func (m mortal) mayDie() {
	if m.dies() {
		panic(errKilled)
	}
}

// survive runs f as a process that may be killed, and returns errKilled if it was.
func survive(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p != any(errKilled) {
				panic(p)
			}
			err = errKilled
		}
	}()
	return f()
}

// till is the gateway of a walk, with access to its internal state.
type till struct {
	account        string
	troubled, calm *payments.Service
	count          func(*testing.T, payment.CustomerID) (live int, byKey map[string]int)
	charged        func() []string       // keys
	another        func(d time.Duration) // moves the clock
	within         func(context.Context) (context.Context, context.CancelFunc)
}

// caller is one client that makes random calls.
type caller struct {
	world   *world
	till    till
	by      identity.Actor
	random  *rand.Rand
	ahead   time.Duration   // of its clock
	asked   map[string]bool // idempotency keys of subscribe requests
	changed map[string]bool // and of changes
	waiting int             // number of steps since an operation became pending
	seed    int
}

// now returns the caller's actor at the current time.
func (w *caller) now() identity.Actor {
	by := at(w.by)
	by.At = by.At.Add(w.ahead)
	return by
}

func (w *caller) system() identity.Actor {
	return identity.System(w.by.Org, w.by.Workspace, "walk", w.now().At)
}

func (w *caller) walk(t *testing.T, steps int) {
	t.Helper()
	w.asked, w.changed = map[string]bool{}, map[string]bool{}
	deaths, unknown := 0, 0
	for step := range steps {
		occasion := fmt.Sprintf("seed %d, step %d", w.seed, step)
		err := survive(func() error { return w.step(t, occasion) })
		switch {
		case errors.Is(err, errKilled):
			deaths++
		case payment.OutcomeUnknown(err):
			unknown++
		case err == nil, payment.NoEffect(err), errors.Is(err, payment.ErrGateway),
			errors.Is(err, payment.ErrGatewayDenied), errors.Is(err, payment.ErrPending),
			errors.Is(err, payment.ErrSubscriptionExists), errors.Is(err, payment.ErrNoSubscription):
		default:
			t.Fatalf("%s: %v", occasion, err)
		}
		if errors.Is(err, payment.ErrPending) {
			w.waiting++
		} else if !payment.OutcomeUnknown(err) {
			w.waiting = 0
		}
		if w.waiting == 4 { // the gateway has kept a failure: it forgets it in a day
			w.ahead += 24 * time.Hour
			w.till.another(24 * time.Hour)
		}
		w.agree(t, false, occasion)
	}
	end := fmt.Sprintf("seed %d, at the end", w.seed)
	w.ahead += 24 * time.Hour
	w.till.another(24 * time.Hour)
	if err := w.till.calm.Reconcile(t.Context(), w.system()); err != nil {
		t.Fatal(end, err)
	}
	// the caller's clock is ahead, so this reads the gateway
	if _, err := w.till.calm.Subscription(t.Context(), w.now()); err != nil &&
		!errors.Is(err, payment.ErrNoSubscription) {
		t.Fatal(end, err)
	}
	w.agree(t, true, end)
	t.Logf("seed %d: %d steps, %d deaths, %d outcomes that were not known, %d wishes, %d days", w.seed, steps, deaths,
		unknown, len(w.asked)+len(w.changed), w.ahead/(24*time.Hour))
}

// step does one thing.
func (w *caller) step(t *testing.T, key string) (err error) {
	ctx, cancel := w.till.within(t.Context())
	defer cancel()
	plan, quantity := plans[w.random.IntN(2)].ID, 1+w.random.IntN(3)
	subjectCount := w.random.IntN(6)
	if w.waiting > 0 && w.random.IntN(2) == 0 {
		subjectCount = 5
	}
	switch subjectCount {
	case 0, 1:
		w.asked[key] = true
		_, err = w.till.troubled.Subscribe(ctx, w.now(), key, payment.SubscribeRequest{Plan: plan, Quantity: quantity})
	case 2, 3:
		w.changed[key] = true
		_, err = w.till.troubled.ChangeSubscription(ctx, w.now(), key, nil,
			payment.Changes{Plan: &plan, Quantity: &quantity})
	case 4:
		err = w.till.troubled.CancelSubscription(ctx, w.now(), key, nil, payment.Cancellation{})
	default:
		err = w.till.troubled.Reconcile(ctx, w.system())
	}
	return err
}

func (w *caller) customer(t *testing.T) *payment.Customer {
	t.Helper()
	c, err := w.world.stores.Payments.Customer(t.Context(), w.by.Workspace, w.till.account)
	require.NoError(t, err)
	return c
}

// agree fails t if two subscriptions are live, if one was created without a request or twice for one, if a request was
// charged twice, or if no operation is pending and the mirror does not know whether a subscription is live. At the end
// it also fails t if the mirror differs from the gateway. A mirror that is marked as unread must know after the next
// read: after a failed change, the caller may have had no time left for one.
func (w *caller) agree(t *testing.T, isSettled bool, occasion string) {
	t.Helper()
	c := w.customer(t)
	live, counts := w.till.count(t, c.ID)
	if c.Pending == nil && c.SubscriptionAt.IsZero() {
		_, err := w.till.calm.Subscription(t.Context(), w.now())
		require.That(t, err == nil || errors.Is(err, payment.ErrNoSubscription), "%s: a read: %v", occasion, err)
		c = w.customer(t)
	}
	for key, n := range counts {
		require.That(t, w.asked[key] && n <= 1, "%s: %d subscriptions were made for %q", occasion, n, key)
	}
	require.That(t, live <= 1, "%s: %d subscriptions live", occasion, live)
	chargedTexts := map[string]bool{}
	for _, key := range w.till.charged() {
		require.That(t, key == "" || (!chargedTexts[key] && (w.asked[key] || w.changed[key])),
			"%s: charged again, or for nothing, under %q", occasion, key)
		chargedTexts[key] = true
	}
	require.That(t, (!isSettled || c.Pending == nil) && (c.Pending != nil || (c.Subscription != nil) == (live == 1)),
		"%s: %+v, and %d live", occasion, c, live)
	if !isSettled {
		return
	}
	different, err := w.till.calm.Differences(t.Context(), w.system())
	require.That(t, err == nil && len(different) == 0, "%s: %+v, %v", occasion, different, err)
}
