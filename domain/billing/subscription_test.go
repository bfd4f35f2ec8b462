package billing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
)

func TestEntitled(t *testing.T) {
	const grace = 7 * 24 * time.Hour
	for status, want := range map[billing.Status]bool{
		billing.Active: true, billing.Trialing: true, billing.PastDue: true, billing.Incomplete: false,
		billing.Unpaid: false,
		billing.Paused: false, billing.Canceled: false, billing.IncompleteExpired: false, "": false,
	} {
		s := billing.Subscription{Status: status, PeriodStart: now.Add(-grace + time.Second)}
		if got := s.Entitled(now, grace); got != want {
			t.Errorf("%s: %v", status, got)
		}
		if got := s.Entitled(now.Add(time.Second), grace); got != (want && status != billing.PastDue) {
			t.Errorf("%s, after the grace: %v", status, got)
		}
	}
}

func TestSubscriptionsOfTheGatewayAreTakenOver(t *testing.T) {
	older := held(billing.Active)
	older.ID, older.CreatedAt = "sub_0", now.AddDate(0, -1, 0)
	ended := older
	ended.Status = billing.Canceled
	changed := held(billing.PastDue)
	soldNoMore := held(billing.Active)
	soldNoMore.Plan = "old"
	for name, tt := range map[string]struct {
		of     *billing.Customer
		held   []billing.GatewaySubscription
		want   billing.SubscriptionID
		events string
	}{
		"one that began": {customer(), []billing.GatewaySubscription{held(billing.Active)}, "sub_1",
			"subscription.started "},
		"one that has ended is not": {customer(), []billing.GatewaySubscription{ended}, "", ""},
		"one as it is known": {subscribed("basic", billing.Active),
			[]billing.GatewaySubscription{held(billing.Active), ended}, "sub_1", ""},
		"one that changed": {subscribed("basic", billing.Active), []billing.GatewaySubscription{changed},
			"sub_1", "subscription.changed "},
		"one that is gone": {subscribed("basic", billing.Active), nil, "", "subscription.ended "},
		"another in its place": {subscribed("basic", billing.Active), []billing.GatewaySubscription{older},
			"sub_0", "subscription.ended subscription.started "},
		"of two, the older": {customer(), []billing.GatewaySubscription{held(billing.Active), older}, "sub_0",
			"subscription.duplicated subscription.started "},
		"but one that is paid for": {customer(),
			[]billing.GatewaySubscription{held(billing.Active), {ID: "sub_0", Status: billing.Incomplete}}, "sub_1",
			"subscription.duplicated subscription.started "},
		"a plan that is sold no more": {customer(), []billing.GatewaySubscription{soldNoMore}, "sub_1",
			"subscription.started "},
	} {
		t.Run(name, func(t *testing.T) {
			seeSubscriptions(tt.of, owner, tt.held, plans)
			var got billing.SubscriptionID
			if tt.of.Subscription != nil {
				got = tt.of.Subscription.ID
			}
			if got != tt.want || recorded(&tt.of.Log) != tt.events || tt.of.SubscriptionAt != now {
				t.Errorf("got %q, recorded %s", got, recorded(&tt.of.Log))
			}
		})
	}
	t.Run("grace counts from the first failure, once", func(t *testing.T) {
		c := subscribed("basic", billing.Active)
		see := func(status billing.Status, begins time.Time) *billing.Subscription {
			h := held(status)
			h.PeriodStart, h.PeriodEnd = begins, begins.AddDate(0, 0, 7)
			seeSubscriptions(c, owner, []billing.GatewaySubscription{h}, plans)
			return c.Subscription
		}
		const grace = 7 * 24 * time.Hour
		week := func(n int) time.Time { return now.AddDate(0, 0, 7*n) }
		if s := see(billing.PastDue, week(0)); s.PastDueSince != now || !s.Entitled(week(1).Add(-time.Second), grace) {
			t.Errorf("%+v", s)
		}
		if s := see(billing.PastDue, week(1)); s.PastDueSince != now || s.Entitled(week(1), grace) {
			t.Errorf("the next period begins another grace: %+v", s)
		}
		if s := see(billing.Unpaid, week(2)); s.PastDueSince != now {
			t.Errorf("%+v", s)
		}
		if s := see(billing.Active, week(2)); !s.PastDueSince.IsZero() || !s.Entitled(week(2), grace) {
			t.Errorf("%+v", s)
		}
		if s := see(billing.PastDue, week(3)); s.PastDueSince != week(3) || !s.Entitled(week(3).Add(time.Hour), grace) {
			t.Errorf("%+v", s)
		}
	})
	t.Run("several that live end together", func(t *testing.T) {
		c := subscribed("basic", billing.Active)
		both := []billing.GatewaySubscription{held(billing.Active), older}
		c.Subscription.CreatedAt = older.CreatedAt
		for range 2 {
			seeSubscriptions(c, owner, both, plans)
		}
		if len(c.Surplus) != 1 || c.Surplus[0] != "sub_1" ||
			strings.Count(recorded(&c.Log), "subscription.duplicated") != 1 {
			t.Fatalf("surplus %v, recorded %s", c.Surplus, recorded(&c.Log))
		}
		wantErr(t, c.CancelSubscription(owner, "k", nil, billing.Cancellation{}), nil)
		if op := c.Pending; op.Subscription != "sub_0" || len(op.Also) != 1 || op.Also[0] != "sub_1" {
			t.Errorf("%+v", op)
		}
		c.Settle(owner, "k", c.Look(), nil, plans)
		if len(c.Surplus) != 0 || c.Subscription != nil {
			t.Errorf("%+v", c)
		}
	})
}

func TestMonthsEndOnTheSameDay(t *testing.T) {
	jan31 := time.Date(2027, 1, 31, 10, 0, 0, 0, time.UTC)
	feb28 := billing.Month.Advance(jan31, 1, 31)
	if want := time.Date(2027, 2, 28, 10, 0, 0, 0, time.UTC); feb28 != want {
		t.Errorf("a month after January 31st is %s", feb28)
	}
	if got, want := billing.Month.Advance(feb28, 1, 31), time.Date(2027, 3, 31, 10, 0, 0, 0, time.UTC); got != want {
		t.Errorf("the next one is %s", got)
	}
	leap := time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)
	if got, want := billing.Year.Advance(leap, 1, 29), time.Date(2029, 2, 28, 0, 0, 0, 0, time.UTC); got != want {
		t.Errorf("a year after February 29th is %s", got)
	}
	if got, want := billing.Week.Advance(leap, 2, 29), time.Date(2028, 3, 14, 0, 0, 0, 0, time.UTC); got != want {
		t.Errorf("two weeks later is %s", got)
	}
}
