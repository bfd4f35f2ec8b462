package payments_test

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// byUsage returns a service whose workspace pays for messages by usage.
func byUsage(t *testing.T) *mockedService {
	t.Helper()
	s := mockedWith(t, subscribed("pm_1"))
	s.terms.Plans = payment.Plans{plans[0], plans[1]}
	s.terms.Plans[0].Metered = &payment.MeteredPrice{Feature: "messages", Amount: 10, PriceRef: "price_messages"}
	return s
}

func TestUsageIsQueuedForTheGateway(t *testing.T) {
	s := byUsage(t)
	s.meters.EXPECT().Add(any, owner, any).Return([]payment.UsageOutcome{{Tally: payment.Tally{Used: 8}}}, nil)
	s.meters.EXPECT().QueueUsage(any, owner, any, now).DoAndReturn(
		func(_ context.Context, _ identity.Actor, e payment.UsageEvent, _ time.Time) error {
			assert.That(t, e.ID != "" && e.Account == "sandbox" && e.Customer == "cus_1" && e.Feature == "messages" &&
				e.PriceRef == "price_messages" && e.Quantity == 8 && e.At.Equal(now), "%+v", e)
			return nil
		})
	_, err := s.ReportUsage(s.ctx, owner, payment.UsageRequest{Feature: "messages", Quantity: 8, Key: "one"})
	require.NoError(t, err)
	assert.That(t, s.queued[payment.UsageJob].Subject == "cus_1", "%+v", s.queued)
	s.meters.EXPECT().Add(any, owner, any).Return([]payment.UsageOutcome{{Tally: payment.Tally{Used: 8},
		IsRepeated: true}}, nil) // not again
	_, err = s.ReportUsage(s.ctx, owner, payment.UsageRequest{Feature: "messages", Quantity: 8, Key: "one"})
	require.NoError(t, err)
}

func TestSendUsage(t *testing.T) {
	event := func(id string) payment.UsageEvent {
		return payment.UsageEvent{ID: id, Account: "sandbox", Customer: "cus_1", Quantity: 3, At: now}
	}
	triedEvent := event("tried")
	triedEvent.TriedAt = now.Add(-time.Hour)
	waits := func(s *mockedService, all ...payment.UsageEvent) {
		s.meters.EXPECT().QueuedUsage(any, any, "sandbox", any).Return(all, nil)
	}
	t.Run("an event is tried, sent and deleted", func(t *testing.T) {
		s := byUsage(t)
		waits(s, event("a"), triedEvent, event("taken"))
		s.meters.EXPECT().TryUsage(any, any, "a", now).Return(int64(5), true, nil)
		s.meters.EXPECT().TryUsage(any, any, "taken", now).Return(int64(0), false, nil)
		messages := map[string]int64{}
		s.usageMeters.ReportUsage(any, any).Times(2).DoAndReturn(
			func(_ context.Context, e payment.UsageEvent) error { messages[e.ID] = e.Quantity; return nil })
		s.meters.EXPECT().SentUsage(any, any, "a").Return(nil)
		s.meters.EXPECT().SentUsage(any, any, "tried").Return(nil)
		waits(s)
		require.NoError(t, s.SendUsage(s.ctx, system))
		assert.That(t, len(messages) == 2 && messages["a"] == 5 && messages["tried"] == 3, "%v", messages)
	})
	t.Run("one that is refused holds up no other", func(t *testing.T) {
		s := byUsage(t)
		waits(s, event("a"), event("b"))
		s.meters.EXPECT().TryUsage(any, any, any, now).Times(2).Return(int64(3), true, nil)
		refusedRejection := &payment.Rejection{Reason: "no meter"}
		s.usageMeters.ReportUsage(any, any).Return(refusedRejection)
		s.usageMeters.ReportUsage(any, any).Return(nil)
		s.meters.EXPECT().RestoreUsage(any, any, "a").Return(nil)
		s.meters.EXPECT().SentUsage(any, any, "b").Return(nil)
		require.ErrorIs(t, s.SendUsage(s.ctx, system), payment.ErrGateway)
	})
	t.Run("usage that was corrected to nothing is not sent", func(t *testing.T) {
		s := byUsage(t)
		waits(s, event("a"))
		s.meters.EXPECT().TryUsage(any, any, "a", now).Return(int64(0), true, nil)
		s.meters.EXPECT().SentUsage(any, any, "a").Return(nil)
		waits(s)
		require.NoError(t, s.SendUsage(s.ctx, system))
	})
	t.Run("one without an answer stays tried", func(t *testing.T) {
		s := byUsage(t)
		waits(s, event("a"))
		s.meters.EXPECT().TryUsage(any, any, "a", now).Return(int64(3), true, nil)
		s.usageMeters.ReportUsage(any, any).Times(3).Return(payment.ErrGatewayTimeout)
		require.ErrorIs(t, s.SendUsage(s.ctx, system), payment.ErrGatewayTimeout)
	})
	t.Run("one that the gateway would count twice is recorded instead", func(t *testing.T) {
		s := byUsage(t)
		old := triedEvent
		old.TriedAt = now.Add(-24 * time.Hour)
		waits(s, old)
		s.meters.EXPECT().SentUsage(any, any, "tried").Return(nil)
		waits(s)
		require.NoError(t, s.SendUsage(s.ctx, system))
		events := s.kept.Recorded()
		assert.That(t, len(events) == 1 && events[0].Type == "usage.not_billed", "%+v", events)
	})
	t.Run("a subscription that ends is billed for what was used", func(t *testing.T) {
		s := byUsage(t)
		waits(s, event("a"))
		s.meters.EXPECT().TryUsage(any, any, "a", now).Return(int64(3), true, nil)
		message := s.usageMeters.ReportUsage(any, any).Return(nil)
		s.meters.EXPECT().SentUsage(any, any, "a").Return(nil)
		waits(s)
		s.subscriptions.Cancel(any, any, any, any, any).After(message).Return(nil)
		require.NoError(t, s.CancelSubscription(s.ctx, owner, "k", nil, payment.Cancellation{}))
	})
}
