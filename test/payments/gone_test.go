package payments

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

func TestAFailureThatTheGatewayKeepsLocksNoOneOut(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		api, g := atStripe(t)
		s := &shop{Service: w.selling(g), world: w, api: api, by: fixture.NewTeam(t, w.stores, w.orgs[0]).Owner}
		once := func(path string) {
			failed := map[string]bool{}
			api.Provoke(func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
				if c.Method+" "+c.Path != path || (len(failed) > 0 && !failed[c.Key]) {
					return stripeapi.None, 0
				}
				failed[c.Key] = true
				return stripeapi.Failed, 0
			})
		}
		once("POST /v1/customers")
		_, err := s.SetupIntent(t.Context(), s.now(), "first", payment.OffSession)
		wantErr(t, err, nil)
		once("POST /v1/setup_intents")
		_, err = s.SetupIntent(t.Context(), s.now(), "second", payment.OffSession)
		wantErr(t, err, nil)
		if n := api.Customers(); n != 1 {
			t.Errorf("%d customers", n)
		}
	})
}

func TestACustomerThatWasDeletedIsReplaced(t *testing.T) {
	lost := func(t *testing.T, s *shop, was string) {
		t.Helper()
		events, err := s.world.stores.Events.List(t.Context(), s.by.Workspace, event.Filter{}, page.Query{Limit: 100})
		wantErr(t, err, nil)
		types := ""
		for _, e := range events.Items {
			if e.Type == "payment_customer.lost" && e.Subject == was {
				types += e.Type
			}
		}
		if types != "payment_customer.lost" {
			t.Errorf("recorded %q of %s", types, was)
		}
	}
	buys := func(t *testing.T, s *shop, paid string) {
		t.Helper()
		c := s.mirror(t)
		if c.ID == "" || string(c.ID) == s.customer {
			t.Fatalf("%+v", c)
		}
		was := s.customer
		s.customer = string(c.ID)
		s.api.AddCard(s.customer, "4242")
		s.later(time.Minute)
		_, err := s.subscribe(t, "second", "basic")
		wantErr(t, err, nil)
		s.agrees(t, 1, paid)
		lost(t, s, was)
	}
	subscribed := func(t *testing.T, s *shop) {
		t.Helper()
		s.api.AddCard(s.customer, "4242")
		s.later(time.Minute)
		_, err := s.subscribe(t, "buy", "basic")
		wantErr(t, err, nil)
		s.api.Delete(s.customer)
	}
	t.Run("a read finds it", func(t *testing.T) {
		eachShop(t, func(t *testing.T, s *shop) {
			subscribed(t, s)
			s.later(2 * time.Minute)
			w, err := s.Methods(t.Context(), s.now())
			if wantErr(t, err, nil); len(w.Methods) != 0 || w.Stale {
				t.Errorf("%+v", w)
			}
			_, err = s.Subscription(t.Context(), s.now())
			wantErr(t, err, payment.ErrNoSubscription)
			_, err = s.SetupIntent(t.Context(), s.now(), "again", payment.OffSession)
			wantErr(t, err, nil)
			buys(t, s, "900 900")
		})
	})
	t.Run("a setup intent finds it", func(t *testing.T) {
		eachShop(t, func(t *testing.T, s *shop) {
			subscribed(t, s)
			_, err := s.SetupIntent(t.Context(), s.now(), "again", payment.OffSession)
			wantErr(t, err, nil)
			buys(t, s, "900 900")
		})
	})
	t.Run("a purchase finds it", func(t *testing.T) {
		eachShop(t, func(t *testing.T, s *shop) {
			s.api.AddCard(s.customer, "4242")
			s.later(time.Minute)
			_, err := s.Methods(t.Context(), s.now())
			wantErr(t, err, nil)
			s.api.Delete(s.customer)
			if _, err := s.subscribe(t, "buy", "basic"); err == nil || errors.Is(err, payment.ErrPending) {
				t.Fatalf("a purchase of a deleted customer: %v", err)
			}
			_, err = s.SetupIntent(t.Context(), s.now(), "again", payment.OffSession)
			wantErr(t, err, nil)
			buys(t, s, "900")
		})
	})
	t.Run("an operation that is in progress ends", func(t *testing.T) {
		eachShop(t, func(t *testing.T, s *shop) {
			s.api.AddCard(s.customer, "4242")
			s.later(time.Minute)
			s.api.Provoke(inSequence("POST /v1/subscriptions", stripeapi.Unavailable))
			if _, err := s.subscribe(t, "buy", "basic"); !payment.OutcomeUnknown(err) {
				t.Fatal(err)
			}
			s.api.Provoke(nil)
			s.api.Delete(s.customer)
			s.later(time.Minute)
			_, err := s.Methods(t.Context(), s.now())
			wantErr(t, err, nil)
			_, err = s.SetupIntent(t.Context(), s.now(), "again", payment.OffSession)
			wantErr(t, err, nil)
			buys(t, s, "900")
		})
	})
}

func TestACallThatIsLimitedHasNoEffect(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.api.AddCard(s.customer, "4242")
		s.later(time.Minute)
		s.api.Provoke(inSequence("POST /v1/subscriptions", stripeapi.RateLimited))
		_, err := s.subscribe(t, "one", "basic")
		if wantErr(t, err, payment.ErrGatewayUnavailable); s.mirror(t).Pending != nil {
			t.Error("a limited call is pending")
		}
		s.api.Provoke(inSequence("POST /v1/subscriptions", stripeapi.Lost, stripeapi.RateLimited))
		_, err = s.subscribe(t, "two", "basic")
		if err != nil && (!payment.OutcomeUnknown(err) || s.mirror(t).Pending == nil) {
			t.Errorf("limited after a lost response: %v", err)
		}
		s.api.Provoke(nil)
		wantErr(t, s.reconcile(t), nil)
		s.agrees(t, 1, "900")
	})
}
