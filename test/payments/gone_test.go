package payments

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

func TestAFailureThatTheGatewayKeepsLocksNoOneOut(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		api, g := atStripe(t)
		s := &shop{Service: w.selling(g), world: w, api: api, by: fixture.NewTeam(t, w.stores, w.orgs[0]).Owner}
		runOnce := func(path string) {
			failedTexts := map[string]bool{}
			api.Provoke(func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
				if c.Method+" "+c.Path != path || (len(failedTexts) > 0 && !failedTexts[c.Key]) {
					return stripeapi.None, 0
				}
				failedTexts[c.Key] = true
				return stripeapi.Failed, 0
			})
		}
		runOnce("POST /v1/customers")
		_, err := s.SetupIntent(t.Context(), s.now(), "first", payment.OffSession)
		require.NoError(t, err)
		runOnce("POST /v1/setup_intents")
		_, err = s.SetupIntent(t.Context(), s.now(), "second", payment.OffSession)
		require.NoError(t, err)
		assert.Equal(t, "customers", api.Customers(), 1)
	})
}

func TestACustomerThatWasDeletedIsReplaced(t *testing.T) {
	lost := func(t *testing.T, s *shop, previous string) {
		t.Helper()
		events, err := s.world.stores.Events.List(t.Context(), s.by.Workspace, event.Filter{}, page.Query{Limit: 100})
		require.NoError(t, err)
		types := ""
		for _, e := range events.Items {
			if e.Type == "payment_customer.lost" && e.Subject == previous {
				types += e.Type
			}
		}
		assert.That(t, types == "payment_customer.lost", "recorded %q of %s", types, previous)
	}
	buys := func(t *testing.T, s *shop, paid string) {
		t.Helper()
		c := s.mirror(t)
		require.That(t, c.ID != "" && string(c.ID) != s.customer, "%+v", c)
		previousCustomer := s.customer
		s.customer = string(c.ID)
		s.addCard("4242")
		s.buy(t, "second", "basic")
		s.agrees(t, 1, paid)
		lost(t, s, previousCustomer)
	}
	subscribedCall := func(t *testing.T, s *shop) {
		t.Helper()
		s.addCard("4242")
		s.buy(t, "buy", "basic")
		s.api.Delete(s.customer)
	}
	t.Run("a read finds it", func(t *testing.T) {
		eachShop(t, func(t *testing.T, s *shop) {
			subscribedCall(t, s)
			s.later(2 * time.Minute)
			w := s.wallet(t)
			assert.That(t, len(w.Methods) == 0 && !w.Stale, "%+v", w)
			_, err := s.Subscription(t.Context(), s.now())
			require.ErrorIs(t, err, payment.ErrNoSubscription)
			_, err = s.SetupIntent(t.Context(), s.now(), "again", payment.OffSession)
			require.NoError(t, err)
			buys(t, s, "900 900")
		})
	})
	t.Run("a setup intent finds it", func(t *testing.T) {
		eachShop(t, func(t *testing.T, s *shop) {
			subscribedCall(t, s)
			_, err := s.SetupIntent(t.Context(), s.now(), "again", payment.OffSession)
			require.NoError(t, err)
			buys(t, s, "900 900")
		})
	})
	t.Run("a purchase finds it", func(t *testing.T) {
		eachShop(t, func(t *testing.T, s *shop) {
			s.addCard("4242")
			s.wallet(t)
			s.api.Delete(s.customer)
			if _, err := s.subscribe(t, "buy", "basic"); err == nil || errors.Is(err, payment.ErrPending) {
				t.Fatalf("a purchase of a deleted customer: %v", err)
			}
			_, err := s.SetupIntent(t.Context(), s.now(), "again", payment.OffSession)
			require.NoError(t, err)
			buys(t, s, "900")
		})
	})
	t.Run("an operation that is in progress ends", func(t *testing.T) {
		eachShop(t, func(t *testing.T, s *shop) {
			s.addCard("4242")
			s.api.Provoke(inSequence("POST /v1/subscriptions", stripeapi.Unavailable))
			_, err := s.subscribe(t, "buy", "basic")
			require.That(t, payment.OutcomeUnknown(err), "%v", err)
			s.api.Provoke(nil)
			s.api.Delete(s.customer)
			s.later(time.Minute)
			s.wallet(t)
			_, err = s.SetupIntent(t.Context(), s.now(), "again", payment.OffSession)
			require.NoError(t, err)
			buys(t, s, "900")
		})
	})
}

func TestACallThatIsLimitedHasNoEffect(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("4242")
		s.api.Provoke(inSequence("POST /v1/subscriptions", stripeapi.RateLimited))
		_, err := s.subscribe(t, "one", "basic")
		require.ErrorIs(t, err, payment.ErrGatewayUnavailable)
		assert.That(t, s.mirror(t).Pending == nil, "a limited call is pending")
		s.api.Provoke(inSequence("POST /v1/subscriptions", stripeapi.Lost, stripeapi.RateLimited))
		_, err = s.subscribe(t, "two", "basic")
		assert.That(t, err == nil || (payment.OutcomeUnknown(err) && s.mirror(t).Pending != nil),
			"limited after a lost response: %v", err)
		s.api.Provoke(nil)
		require.NoError(t, s.reconcile(t))
		s.agrees(t, 1, "900")
	})
}
