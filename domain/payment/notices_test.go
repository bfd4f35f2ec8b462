package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestNotices(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	const day, grace = 24 * time.Hour, 7 * 24 * time.Hour
	by := identity.System("org", "acme", "test", now)
	customer := func(s *payment.Subscription, methods ...payment.Method) *payment.Customer {
		c := &payment.Customer{Org: "org", Workspace: "acme", ID: "cus", Subscription: s, Methods: methods}
		if len(methods) > 0 {
			c.Default = methods[0].ID
		}
		return c
	}
	card := payment.Method{ID: "pm", Brand: "visa", Last4: "4242", ExpMonth: 3, ExpYear: 2026}
	method := card
	method.ExpYear = 2034
	for name, tt := range map[string]struct {
		c    *payment.Customer
		at   time.Time
		want payment.NoticeKind // "" for none
	}{
		"a failed renewal": {
			customer(&payment.Subscription{ID: "sub", Status: payment.PastDue, PastDueSince: now}), now,
			payment.PaymentFailed},
		"a renewal that is not tried again": {
			customer(&payment.Subscription{ID: "sub", Status: payment.Unpaid, PastDueSince: now}), now.Add(30 * day),
			payment.PaymentFailed},
		"a paid subscription": {customer(&payment.Subscription{ID: "sub", Status: payment.Active}, method), now, ""},
		"a trial that ends in four days": {
			customer(&payment.Subscription{ID: "sub", Status: payment.Trialing, TrialEnd: now.Add(4 * day)}), now, ""},
		"a trial that ends in three days": {
			customer(&payment.Subscription{ID: "sub", Status: payment.Trialing, TrialEnd: now.Add(3 * day)}), now,
			payment.TrialEnding},
		"a trial that will not be continued": {
			customer(&payment.Subscription{ID: "sub", Status: payment.Trialing, TrialEnd: now.Add(day),
				CancelAtPeriodEnd: true}), now, ""},
		"a card that expires this month": {customer(&payment.Subscription{ID: "sub", Status: payment.Active},
			card), now, payment.CardExpiring},
		"a card without a subscription": {customer(nil, card), now, ""},
		"a card that expires in eight years": {customer(&payment.Subscription{ID: "sub", Status: payment.Active},
			method), now, ""},
		"a method that never expires": {customer(&payment.Subscription{ID: "sub", Status: payment.Active},
			payment.Method{ID: "pm"}), now, ""},
		"an expiring card that is not charged": {customer(&payment.Subscription{ID: "sub", Status: payment.Active},
			method, card), now, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.c.Notify(by, tt.at, grace)
			switch {
			case tt.want == "" && len(got) == 0 && len(tt.c.Recorded()) == 0:
				return
			case len(got) != 1 || got[0].Kind != tt.want:
				t.Fatalf("Notify = %+v, want %q", got, tt.want)
			}
			last := tt.c.Recorded()[len(tt.c.Recorded())-1]
			assert.That(t, last.Type == string(tt.want) && last.Subject == "cus" && len(last.Data) != 0,
				"recorded %+v", last)
			second := tt.c.Notify(by, tt.at.Add(time.Hour), grace)
			assert.That(t, len(second) == 0 && len(tt.c.Recorded()) == 1, "it was given again: %+v", second)
			n, user := tt.c.ParseNoticeSubject(got[0].Subject("usr"))
			assert.That(t, n != nil && n.Key == got[0].Key && user == "usr", "the subject leads to %+v, %q", n, user)
			for _, name := range []string{"", "payment.failed", "payment.failed other usr", "a b c d"} {
				n, _ := tt.c.ParseNoticeSubject(name)
				assert.That(t, n == nil, "%q leads to %+v", name, n)
			}
		})
	}
	t.Run("each failed renewal is its own notice", func(t *testing.T) {
		c := customer(&payment.Subscription{ID: "sub", Status: payment.PastDue, PastDueSince: now})
		c.Notify(by, now, grace)
		c.Subscription.PastDueSince = now.Add(30 * day)
		got := c.Notify(by, now.Add(30*day), grace)
		assert.That(t, len(got) == 1 && len(c.Notices) == 2, "Notify = %+v", got)
	})
	t.Run("old notices are forgotten", func(t *testing.T) {
		c := customer(&payment.Subscription{ID: "sub", Status: payment.PastDue})
		for i := range 60 {
			c.Subscription.PastDueSince = now.Add(time.Duration(i) * time.Hour)
			c.Notify(by, now, grace)
		}
		assert.Equal(t, "remembered notices", len(c.Notices), 50)
	})
}
