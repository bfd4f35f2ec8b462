package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEntitled(t *testing.T) {
	const grace = 7 * 24 * time.Hour
	for status, want := range map[payment.Status]bool{
		payment.Active: true, payment.Trialing: true, payment.PastDue: true, payment.Incomplete: false,
		payment.Unpaid: false,
		payment.Paused: false, payment.Canceled: false, payment.IncompleteExpired: false, "": false,
	} {
		s := payment.Subscription{Status: status, PeriodStart: now.Add(-grace + time.Second)}
		got := s.Entitled(now, grace)
		assert.That(t, got == want, "%s: %v", status, got)
		got = s.Entitled(now.Add(time.Second), grace)
		assert.That(t, got == (want && status != payment.PastDue), "%s, after the grace: %v", status, got)
	}
}

func TestSubscriptionsOfTheGatewayAreTakenOver(t *testing.T) {
	older := held(payment.Active)
	older.ID, older.CreatedAt = "sub_0", now.AddDate(0, -1, 0)
	endedSubscription := older
	endedSubscription.Status = payment.Canceled
	change := held(payment.PastDue)
	newer := held(payment.Active)
	newer.ID, newer.CreatedAt = "sub_2", now
	subscriptionWith := func(s payment.GatewaySubscription, status payment.Status) payment.GatewaySubscription {
		s.Status = status
		return s
	}
	soldNoMore := held(payment.Active)
	soldNoMore.Plan = "old"
	for name, tt := range map[string]struct {
		of     *payment.Customer
		held   []payment.GatewaySubscription
		want   payment.SubscriptionID
		events string
	}{
		"one that began": {customer(), []payment.GatewaySubscription{held(payment.Active)}, "sub_1",
			"subscription.started "},
		"one that has ended is not": {customer(), []payment.GatewaySubscription{endedSubscription}, "", ""},
		"one as it is known": {active("basic"),
			[]payment.GatewaySubscription{held(payment.Active), endedSubscription}, "sub_1", ""},
		"one that changed": {active("basic"), []payment.GatewaySubscription{change}, "sub_1", "subscription.changed "},
		"one that is gone": {active("basic"), nil, "", "subscription.ended "},
		"another in its place": {active("basic"), []payment.GatewaySubscription{older},
			"sub_0", "subscription.ended subscription.started "},
		"of two, the older": {customer(), []payment.GatewaySubscription{held(payment.Active), older}, "sub_0",
			"subscription.duplicated subscription.started "},
		"but one that is paid for": {customer(),
			[]payment.GatewaySubscription{held(payment.Active), {ID: "sub_0", Status: payment.Incomplete}}, "sub_1",
			"subscription.duplicated subscription.started "},
		"one that entitles before an older one that is unpaid": {customer(),
			[]payment.GatewaySubscription{subscriptionWith(older, payment.Unpaid), held(payment.Active)}, "sub_1",
			"subscription.duplicated subscription.started "},
		"a trial before an older one that is paused at the gateway": {customer(),
			[]payment.GatewaySubscription{subscriptionWith(older, payment.Paused), held(payment.Trialing)}, "sub_1",
			"subscription.duplicated subscription.started "},
		"one that may be paid yet before an older one that is not": {customer(),
			[]payment.GatewaySubscription{subscriptionWith(older, payment.Unpaid), held(payment.PastDue)}, "sub_1",
			"subscription.duplicated subscription.started "},
		"one that entitles instead of the known one, which has not ended": {subscribed("basic", payment.Unpaid),
			[]payment.GatewaySubscription{held(payment.Unpaid), newer}, "sub_2",
			"subscription.duplicated subscription.started "},
		"a plan that is sold no more": {customer(), []payment.GatewaySubscription{soldNoMore}, "sub_1",
			"subscription.started "},
	} {
		t.Run(name, func(t *testing.T) {
			seeSubscriptions(tt.of, owner, tt.held, plans)
			var got payment.SubscriptionID
			if tt.of.Subscription != nil {
				got = tt.of.Subscription.ID
			}
			assert.That(t, got == tt.want && recorded(&tt.of.Log) == tt.events && tt.of.SubscriptionAt == now,
				"got %q, recorded %s", got, recorded(&tt.of.Log))
		})
	}
	for name, age := range map[string]int{"a renewal": 0, "a direct debit that was returned on day 8": 8,
		"an invoice of day 20 for more seats": 20} {
		t.Run("grace counts from when the failure of "+name+" was seen", func(t *testing.T) {
			c := active("basic")
			h := held(payment.PastDue)
			h.PeriodStart = now.AddDate(0, 0, -age)
			seeSubscriptions(c, owner, []payment.GatewaySubscription{h}, plans)
			assert.Equal(t, "it counts from", c.Subscription.PastDueSince, now)
		})
	}
	t.Run("grace counts in the gateway's time", func(t *testing.T) {
		c := active("basic")
		ahead := now.AddDate(1, 0, 5)
		h := held(payment.PastDue)
		h.PeriodStart = now.AddDate(1, 0, 0)
		c.Mirror(owner, c.Look(), payment.Seen{Subscriptions: &[]payment.GatewaySubscription{h}, At: ahead}, plans)
		assert.Equal(t, "it counts from", c.Subscription.PastDueSince, ahead)
	})
	t.Run("grace counts from the first failure, once", func(t *testing.T) {
		c := active("basic")
		see := func(status payment.Status, begins time.Time) *payment.Subscription {
			h := held(status)
			h.PeriodStart, h.PeriodEnd = begins, begins.AddDate(0, 0, 7)
			seeSubscriptions(c, owner, []payment.GatewaySubscription{h}, plans)
			return c.Subscription
		}
		const grace = 7 * 24 * time.Hour
		week := func(n int) time.Time { return now.AddDate(0, 0, 7*n) }
		s := see(payment.PastDue, week(0))
		assert.That(t, s.PastDueSince == now && s.Entitled(week(1).Add(-time.Second), grace), "%+v", s)
		if s := see(payment.PastDue, week(1)); s.PastDueSince != now || s.Entitled(week(1), grace) {
			t.Errorf("the next period begins another grace: %+v", s)
		}
		s = see(payment.Unpaid, week(2))
		assert.That(t, s.PastDueSince == now, "%+v", s)
		s = see(payment.Active, week(2))
		assert.That(t, s.PastDueSince.IsZero() && s.Entitled(week(2), grace), "%+v", s)
		s = see(payment.PastDue, week(3))
		assert.That(t, s.PastDueSince == week(3) && s.Entitled(week(3).Add(time.Hour), grace), "%+v", s)
	})
	t.Run("several that live end together", func(t *testing.T) {
		c := active("basic")
		pairs := []payment.GatewaySubscription{held(payment.Active), older}
		c.Subscription.CreatedAt = older.CreatedAt
		for range 2 {
			seeSubscriptions(c, owner, pairs, plans)
		}
		require.That(t, len(c.Surplus) == 1 && c.Surplus[0] == "sub_1" && strings.Count(recorded(&c.Log),
			"subscription.duplicated") == 1, "surplus %v, recorded %s", c.Surplus, recorded(&c.Log))
		require.NoError(t, c.CancelSubscription(owner, "k", nil, payment.Cancellation{}))
		op := c.Pending
		assert.That(t, op.Subscription == "sub_0" && len(op.Also) == 1 && op.Also[0] == "sub_1", "%+v", op)
		c.Settle(owner, "k", c.Look(), nil, plans)
		assert.That(t, len(c.Surplus) == 0 && c.Subscription == nil, "%+v", c)
	})
}

func TestMonthsEndOnTheSameDay(t *testing.T) {
	jan31 := time.Date(2027, 1, 31, 10, 0, 0, 0, time.UTC)
	feb28 := payment.Month.Advance(jan31, 1, 31)
	want := time.Date(2027, 2, 28, 10, 0, 0, 0, time.UTC)
	assert.Equal(t, "a month after January 31st", feb28, want)
	if got, want := payment.Month.Advance(feb28, 1, 31), time.Date(2027, 3, 31, 10, 0, 0, 0, time.UTC); got != want {
		t.Errorf("the next one is %s", got)
	}
	leap := time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)
	if got, want := payment.Year.Advance(leap, 1, 29), time.Date(2029, 2, 28, 0, 0, 0, 0, time.UTC); got != want {
		t.Errorf("a year after February 29th is %s", got)
	}
	if got, want := payment.Week.Advance(leap, 2, 29), time.Date(2028, 3, 14, 0, 0, 0, 0, time.UTC); got != want {
		t.Errorf("two weeks later is %s", got)
	}
}
