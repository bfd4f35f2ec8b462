package payments

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// TestARefusalWhileTheFirstCallRunsIsNoOutcome repeats a purchase while the gateway works on it. The gateway refuses
// the repetition. As long as the first call may take effect, nothing else can be bought.
func TestARefusalWhileTheFirstCallRunsIsNoOutcome(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("4242")
		start, release := make(chan struct{}), make(chan struct{})
		var calls atomic.Int64
		s.api.Provoke(func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
			if c.Method+" "+c.Path != "POST /v1/subscriptions" {
				return stripeapi.None, 0
			}
			switch calls.Add(1) {
			case 1:
				close(start)
				<-release
				return stripeapi.Lost, 0
			case 2:
				return stripeapi.Denied, 0
			}
			return stripeapi.None, 0
		})
		var first sync.WaitGroup
		first.Go(func() { // which may get its response by a repetition
			_, _ = s.Subscribe(t.Context(), s.now(), "one", payment.SubscribeRequest{Plan: "basic", Quantity: 1})
		})
		<-start
		_, err := s.subscribe(t, "one", "basic")
		assert.That(t, payment.OutcomeUnknown(err), "a refused repetition: %v", err)
		if _, err = s.subscribe(t, "two", "pro"); err == nil {
			t.Error("another plan was bought while the first call runs")
		}
		close(release)
		first.Wait()
		proof.Eventually(t, "the first call takes effect", func() bool { return s.api.Made("atrium_key")["one"] > 0 })
		require.NoError(t, s.reconcile(t))
		s.agrees(t, 1, "900")
		c := s.mirror(t)
		assert.That(t, c.Subscription != nil && c.Subscription.Key == "one" && c.Pending == nil, "%+v", c)
	})
}

// TestASecondPurchaseIsRefusedAtOnce has a gateway that lists subscriptions and answers nothing else about them. A
// purchase beside a live subscription must not wait for its outcome.
func TestASecondPurchaseIsRefusedAtOnce(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.addCard("4242")
		v := s.buy(t, "one", "basic")
		s.api.Provoke(inSequence("GET /v1/subscriptions/"+string(v.ID), stripeapi.Unavailable))
		_, err := s.subscribe(t, "two", "pro")
		require.ErrorIs(t, err, payment.ErrSubscriptionExists)
		c := s.mirror(t)
		assert.That(t, c.Pending == nil, "an operation is pending: %+v", c.Pending)
		s.agrees(t, 1, "900")
	})
}
