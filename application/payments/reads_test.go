package payments_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// budget is longer than the calls of one read take together.
const budget = 10 * time.Second

// hanging makes the gateway's list of subscriptions hang until answers is set.
func hanging(s *mockedService) (answers func(bool), calls func() int) {
	var mu sync.Mutex
	ok, n := false, 0
	s.subscriptions.Subscriptions(any, any).AnyTimes().DoAndReturn(
		func(ctx context.Context, _ payment.CustomerID) ([]payment.GatewaySubscription, error) {
			mu.Lock()
			n++
			isCurrent := ok
			mu.Unlock()
			if !isCurrent {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []payment.GatewaySubscription{held(payment.Active)}, nil
		})
	return func(live bool) { mu.Lock(); ok = live; mu.Unlock() }, func() int { mu.Lock(); defer mu.Unlock(); return n }
}

func TestReadsDoNotWaitForASlowGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMocked(t)
		s.terms.Reads = new(payments.Reads)
		s.kept = subscribed("pm_1")
		old := owner
		old.At = now.Add(2 * payment.Fresh)
		answers, calls := hanging(s)
		read := func(want bool, atMost time.Duration) {
			t.Helper()
			start := time.Now()
			v, err := s.Subscription(s.ctx, old)
			require.NoError(t, err)
			assert.Equal(t, "stale", v.Stale, want)
			took := time.Since(start)
			assert.That(t, took <= atMost, "it took %s, want at most %s", took, atMost)
		}
		var wg sync.WaitGroup
		for range 10 { // they share one call
			wg.Go(func() { read(true, time.Second) })
		}
		wg.Wait()
		synctest.Wait() // the breaker hears of it at the same moment as the reads
		assert.Equal(t, "calls of the gateway", calls(), 1)
		for range 10 {
			read(true, 0)
		}
		answers(true)
		time.Sleep(budget)
		read(false, 0) // the first call was repeated behind
		old.At = now.Add(4 * payment.Fresh)
		read(true, 0) // and reads the gateway behind
		synctest.Wait()
		read(false, 0)
	})
}

func TestAReadThatTheKeyHasNotTheRightForShowsTheMirror(t *testing.T) {
	s := newMocked(t)
	s.kept = subscribed("pm_1")
	old := owner
	old.At = now.Add(2 * payment.Fresh)
	s.gateway.MockGatewaySubscriptions.EXPECT().Subscriptions(any, any).
		Return(nil, &payment.Rejection{Reason: "x", Fault: payment.ErrGatewayDenied})
	v, err := s.Subscription(s.ctx, old)
	require.NoError(t, err)
	assert.That(t, v.Stale && v.Default == "pm_1", "%+v", v)
}

func TestASubscriptionThatAsksThePayerWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMocked(t)
		s.terms.Reads = new(payments.Reads)
		s.kept = subscribed("pm_1")
		s.kept.Subscription.Status = payment.Trialing
		old := owner
		old.At = now.Add(2 * payment.Fresh)
		hanging(s)
		start := time.Now()
		v, err := s.Subscription(s.ctx, old)
		require.NoError(t, err)
		took := time.Since(start)
		assert.That(t, v.Stale && took <= time.Second, "stale = %v after %s", v.Stale, took)
		time.Sleep(budget) // until the call behind has ended
	})
}
