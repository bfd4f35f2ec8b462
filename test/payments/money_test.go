package payments

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// shop is a workspace that pays at the fake Stripe. No webhooks arrive.
type shop struct {
	*payments.Service
	world    *world
	api      *stripeapi.Server
	by       identity.Actor
	customer string
	subject  string        // what a request is about
	ahead    time.Duration // of the workspace's clock
}

// eachShop runs a test with a shop on each engine.
func eachShop(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	onEach(t, func(t *testing.T, w *world) {
		api, g := atStripe(t)
		s := &shop{Service: w.selling(g), world: w, api: api, by: fixture.NewTeam(t, w.stores, w.orgs[0]).Owner}
		_, err := s.SetupIntent(t.Context(), s.now(), "first", payment.OffSession)
		require.NoError(t, err)
		s.customer = string(s.mirror(t).ID)
		test(t, s)
	})
}

func (s *shop) now() identity.Actor {
	by := at(s.by)
	by.At = by.At.Add(s.ahead)
	return by
}

// later moves the workspace's clock forward, but not the gateway's, so the mirror becomes older.
func (s *shop) later(d time.Duration) { s.ahead += d }

// addCard adds a test card at the gateway, and lets a minute pass, so that the mirror is read again.
func (s *shop) addCard(number string) (method string) {
	defer s.later(time.Minute)
	return s.api.AddCard(s.customer, number)
}

func (s *shop) mirror(t *testing.T) *payment.Customer {
	t.Helper()
	c, err := s.world.stores.Payments.Customer(t.Context(), s.by.Workspace, stripeAccount)
	require.NoError(t, err)
	return c
}

func (s *shop) subscribe(t *testing.T, key string, plan payment.PlanID) (*payments.View, error) {
	t.Helper()
	return s.Subscribe(t.Context(), s.now(), key, payment.SubscribeRequest{Plan: plan, Quantity: 1})
}

// buy subscribes to a plan.
func (s *shop) buy(t *testing.T, key string, plan payment.PlanID) *payments.View {
	t.Helper()
	v, err := s.subscribe(t, key, plan)
	require.NoError(t, err)
	return v
}

func (s *shop) subscription(t *testing.T) *payments.View {
	t.Helper()
	v, err := s.Subscription(t.Context(), s.now())
	require.NoError(t, err)
	return v
}

func (s *shop) wallet(t *testing.T) *payments.Wallet {
	t.Helper()
	w, err := s.Methods(t.Context(), s.now())
	require.NoError(t, err)
	return w
}

func (s *shop) reconcile(t *testing.T) error {
	t.Helper()
	return s.Reconcile(t.Context(), identity.System(s.by.Org, s.by.Workspace, "test", s.now().At))
}

// paid returns the amounts of all charges.
func (s *shop) paid() string {
	var amounts []string
	for _, c := range s.api.Charges() {
		amounts = append(amounts, fmt.Sprint(c.Amount))
	}
	return strings.Join(amounts, " ")
}

// agrees fails t unless the gateway has the given number of live subscriptions and these payments.
func (s *shop) agrees(t *testing.T, live int, paid string) {
	t.Helper()
	if all := s.api.Live(s.customer); len(all) != live || s.paid() != paid {
		t.Errorf("%d live and paid %q, want %d and %q", len(all), s.paid(), live, paid)
	}
}

// inSequence makes successive calls to a path fail with successive faults. The last fault is repeated.
func inSequence(path string, faults ...stripeapi.Fault) stripeapi.Trouble {
	return func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
		if c.Method+" "+c.Path != path {
			return stripeapi.None, 0
		}
		current := faults[0]
		if len(faults) > 1 {
			faults = faults[1:]
		}
		return current, 0
	}
}

func TestARefusedRepetitionBuysNothingTwice(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("4242")
		s.api.Provoke(inSequence("POST /v1/subscriptions", stripeapi.Lost, stripeapi.Denied))
		_, err := s.subscribe(t, "one", "basic")
		assert.That(t, err == nil || payment.OutcomeUnknown(err), "a refusal after a lost answer: %v", err)
		s.api.Provoke(nil)
		_, err = s.subscribe(t, "two", "basic")
		assert.That(t, errors.Is(err, payment.ErrPending) || errors.Is(err, payment.ErrSubscriptionExists),
			"another wish: %v", err)
		require.NoError(t, s.reconcile(t))
		s.agrees(t, 1, "900")
		c := s.mirror(t)
		assert.That(t, c.Subscription != nil && c.Pending == nil, "%+v", c)
	})
}

func TestSubscriptionsThatShouldNotBeThereAreSeen(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("4242")
		v := s.buy(t, "one", "basic")
		second := s.api.Subscribe(s.customer, "price_pro")
		s.later(2 * time.Minute)
		seen := s.subscription(t)
		assert.That(t, seen.ID == v.ID, "another one counts: %+v", seen)
		system := identity.System(s.by.Org, s.by.Workspace, "test", s.now().At)
		all, err := s.Duplicates(t.Context(), system)
		require.NoError(t, err)
		assert.That(t, len(all[s.by.Workspace]) == 1 && string(all[s.by.Workspace][0]) == second, "%v", all)
		require.NoError(t, s.CancelSubscription(t.Context(), s.now(), "end", nil, payment.Cancellation{}))
		s.agrees(t, 0, "900 2900")
		c := s.mirror(t)
		assert.That(t, c.Subscription == nil && len(c.Surplus) == 0, "%+v", c)
	})
}

func TestATrialEndsPaid(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		v := s.buy(t, "one", "trial")
		require.That(t, v.Status == payment.Trialing && v.Action != nil, "%+v", v)
		v = s.subscription(t)
		assert.That(t, v.Action != nil && v.Action.Type == payment.ConfirmSetup, "the action is shown once: %+v", v)
		m := s.api.AddCard(s.customer, "4242")
		s.later(2 * time.Minute)
		w := s.wallet(t)
		assert.That(t, string(w.Default) == m, "%+v", w)
		s.api.Advance(15 * 24 * time.Hour)
		s.agrees(t, 1, "500")
		t.Run("the next card replaces a removed default that had expired", func(t *testing.T) {
			s.api.Expire(m)
			s.later(2 * time.Minute)
			s.wallet(t)
			require.NoError(t, s.RemoveMethod(t.Context(), s.now(), payment.MethodID(m), ""))
			s.api.AddCard(s.customer, "4242")
			s.later(2 * time.Minute)
			s.wallet(t)
			s.api.Advance(31 * 24 * time.Hour)
			s.agrees(t, 1, "500 500")
		})
	})
}

func TestASubscriptionThatWasMadeElsewhereIsAdopted(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		m := s.api.AddCard(s.customer, "4242")
		s.makeDefault(t, payment.MethodID(m))
		// the mirror is fresh
		_, err := s.Subscription(t.Context(), s.now())
		require.ErrorIs(t, err, payment.ErrNoSubscription)
		id := s.api.Subscribe(s.customer, "price_pro")
		_, err = s.subscribe(t, "one", "basic")
		require.ErrorIs(t, err, payment.ErrSubscriptionExists)
		s.agrees(t, 1, "2900")
		v, err := s.Subscription(t.Context(), s.now())
		assert.That(t, err == nil && string(v.ID) == id && v.Plan == "pro", "%+v, %v", v, err)
	})
}

func TestWhatWasJustPaidIsNotCancelled(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("3155")
		v := s.buy(t, "one", "basic")
		require.That(t, v.Action != nil, "%+v", v)
		secret := v.Action.ClientSecret.Reveal()
		// the payer authenticates at the last moment
		s.api.Provoke(func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
			if strings.HasSuffix(c.Path, "/void") {
				s.api.Authenticate(secret)
			}
			return stripeapi.None, 0
		})
		_, err := s.subscribe(t, "two", "pro")
		require.ErrorIs(t, err, payment.ErrSubscriptionExists)
		s.agrees(t, 1, "900")
		c := s.mirror(t)
		assert.That(t, c.Subscription != nil && c.Subscription.Plan == "basic" &&
			c.Subscription.Status == payment.Active && c.Pending == nil, "%+v", c)
	})
}

func TestWhatGaveWayCannotBePaid(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("3155")
		first := s.buy(t, "one", "basic")
		second := s.buy(t, "two", "pro")
		s.api.Authenticate(first.Action.ClientSecret.Reveal()) // in a browser tab that was left open
		s.agrees(t, 1, "")
		open := s.api.OpenInvoices(s.customer)
		assert.That(t, len(open) == 1, "%v can be paid, want the second invoice only", open)
		require.NoError(t, s.CancelSubscription(t.Context(), s.now(), "end", nil, payment.Cancellation{}))
		s.api.Authenticate(second.Action.ClientSecret.Reveal())
		s.agrees(t, 0, "")
		s.api.AddCard(s.customer, "0341")
		// the default is still charged
		s.buy(t, "three", "basic")
		require.NoError(t, s.CancelSubscription(t.Context(), s.now(), "end 2", nil, payment.Cancellation{}))
		open = s.api.OpenInvoices(s.customer)
		assert.That(t, len(open) == 0, "%v can be paid", open)
	})
}

func TestADeclinedPurchaseLeavesNothingToPay(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("0341")
		_, err := s.subscribe(t, "one", "basic")
		require.ErrorIs(t, err, payment.ErrCardDeclined)
		open := s.api.OpenInvoices(s.customer)
		assert.That(t, len(open) == 0, "%v can be paid", open)
	})
}

func TestNoUnverifiedPriceIsSold(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("4242")
		s.api.Reprice("price_basic", 111)
		_, err := s.subscribe(t, "one", "basic")
		require.ErrorIs(t, err, payment.ErrPlanUnavailable)
		s.agrees(t, 0, "")
		s.api.Reprice("price_basic", 900)
		s.buy(t, "two", "basic")
		s.api.Reprice("price_pro", 0) // archived
		pro := payment.PlanID("pro")
		_, err = s.ChangeSubscription(t.Context(), s.now(), "up", nil, payment.Changes{Plan: &pro})
		require.ErrorIs(t, err, payment.ErrPlanUnavailable)
		s.agrees(t, 1, "900")
	})
}

func TestADeclinedPurchaseLeavesTheDefault(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		good := s.addCard("4242")
		s.wallet(t)
		bad := s.addCard("0341")
		_, err := s.Subscribe(t.Context(), s.now(), "one",
			payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: payment.MethodID(bad)})
		require.ErrorIs(t, err, payment.ErrCardDeclined)
		s.later(2 * time.Minute)
		w := s.wallet(t)
		assert.That(t, string(w.Default) == good, "%+v", w)
		s.buy(t, "two", "basic")
		s.agrees(t, 1, "900")
	})
}

func TestADeclinedUpgradeLeavesAScheduledDowngrade(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("4242")
		s.buy(t, "one", "pro")
		change := func(key string, plan payment.PlanID, quantity int) error {
			_, err := s.ChangeSubscription(t.Context(), s.now(), key, nil,
				payment.Changes{Plan: &plan, Quantity: &quantity})
			return err
		}
		require.NoError(t, change("down", "basic", 1))
		bad := s.addCard("0341")
		s.makeDefault(t, payment.MethodID(bad))
		require.ErrorIs(t, change("up", "pro", 5), payment.ErrCardDeclined)
		s.later(2 * time.Minute)
		v := s.subscription(t)
		assert.That(t, v.Pending != nil && v.Pending.Plan == "basic" && v.Plan == "pro", "%+v", v)
		s.agrees(t, 1, "2900")
	})
}

func TestAnotherCardIsTriedForWhatIsIncomplete(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("3155")
		s.buy(t, "one", "basic")
		good := s.addCard("4242")
		v, err := s.Subscribe(t.Context(), s.now(), "two",
			payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: payment.MethodID(good)})
		require.NoError(t, err)
		assert.That(t, v.Status == payment.Active && string(v.Default) == good, "%+v", v)
		s.agrees(t, 1, "900")
	})
}

func TestAnInvoiceIsPaidOnceWhateverIsLost(t *testing.T) {
	for name, faults := range map[string][]stripeapi.Fault{
		"the response":                {stripeapi.Lost},
		"the response, then a denial": {stripeapi.Lost, stripeapi.Denied},
		"a stored failure":            {stripeapi.FailedAfter},
		"the request":                 {stripeapi.Dropped, stripeapi.None},
	} {
		t.Run(name, func(t *testing.T) {
			eachShop(t, func(t *testing.T, s *shop) {
				good, bad := s.api.AddCard(s.customer, "4242"), s.api.AddCard(s.customer, "0341")
				s.later(time.Minute)
				s.makeDefault(t, payment.MethodID(good))
				s.buy(t, "buy", "basic")
				s.makeDefault(t, payment.MethodID(bad))
				s.api.Advance(32 * 24 * time.Hour)
				s.later(32 * 24 * time.Hour)
				s.makeDefault(t, payment.MethodID(good))
				open := payment.InvoiceID(s.api.OpenInvoices(s.customer)[0])
				s.api.Provoke(inSequence("POST /v1/invoices/"+string(open)+"/pay", faults...))
				_, err := s.PayInvoice(t.Context(), s.now(), "pay", open)
				assert.That(t, err == nil || payment.OutcomeUnknown(err), "a payment without response: %v", err)
				s.api.Provoke(nil)
				require.NoError(t, s.reconcile(t))
				p, err := s.PayInvoice(t.Context(), s.now(), "again", open)
				require.NoError(t, err)
				assert.That(t, p.Invoice.Status == payment.Paid, "%+v", p)
				s.agrees(t, 1, "900 900")
				c := s.mirror(t)
				assert.That(t, c.Pending == nil && c.Subscription.Status == payment.Active, "%+v", c.Subscription)
			})
		})
	}
}
