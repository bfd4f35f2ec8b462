package billing_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestNotices(t *testing.T) {
	at := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	const day, grace = 24 * time.Hour, 7 * 24 * time.Hour
	by := identity.System("org", "acme", "test", at)
	customer := func(s *billing.Subscription, methods ...billing.Method) *billing.Customer {
		c := &billing.Customer{Org: "org", Workspace: "acme", ID: "cus", Subscription: s, Methods: methods}
		if len(methods) > 0 {
			c.Default = methods[0].ID
		}
		return c
	}
	card := billing.Method{ID: "pm", Brand: "visa", Last4: "4242", ExpMonth: 3, ExpYear: 2026}
	later := card
	later.ExpYear = 2034
	for name, tt := range map[string]struct {
		c    *billing.Customer
		at   time.Time
		want billing.NoticeKind // "" for none
	}{
		"a failed renewal": {
			customer(&billing.Subscription{ID: "sub", Status: billing.PastDue, PastDueSince: at}), at,
			billing.PaymentFailed},
		"a renewal that is not tried again": {
			customer(&billing.Subscription{ID: "sub", Status: billing.Unpaid, PastDueSince: at}), at.Add(30 * day),
			billing.PaymentFailed},
		"a paid subscription": {customer(&billing.Subscription{ID: "sub", Status: billing.Active},
			later), at, ""},
		"a trial that ends in four days": {
			customer(&billing.Subscription{ID: "sub", Status: billing.Trialing, TrialEnd: at.Add(4 * day)}), at, ""},
		"a trial that ends in three days": {
			customer(&billing.Subscription{ID: "sub", Status: billing.Trialing, TrialEnd: at.Add(3 * day)}), at,
			billing.TrialEnding},
		"a trial that will not be continued": {
			customer(&billing.Subscription{ID: "sub", Status: billing.Trialing, TrialEnd: at.Add(day),
				CancelAtPeriodEnd: true}), at, ""},
		"a card that expires this month": {customer(&billing.Subscription{ID: "sub", Status: billing.Active},
			card), at, billing.CardExpiring},
		"a card without a subscription": {customer(nil, card), at, ""},
		"a card that expires in eight years": {customer(&billing.Subscription{ID: "sub", Status: billing.Active},
			later), at, ""},
		"a method that never expires": {customer(&billing.Subscription{ID: "sub", Status: billing.Active},
			billing.Method{ID: "pm"}), at, ""},
		"an expiring card that is not charged": {customer(&billing.Subscription{ID: "sub", Status: billing.Active},
			later, card), at, ""},
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
			if last.Type != string(tt.want) || last.Subject != "cus" || len(last.Data) == 0 {
				t.Errorf("recorded %+v", last)
			}
			if again := tt.c.Notify(by, tt.at.Add(time.Hour), grace); len(again) != 0 || len(tt.c.Recorded()) != 1 {
				t.Errorf("it was given again: %+v", again)
			}
			n, to := tt.c.ParseNoticeSubject(got[0].Subject("usr"))
			if n == nil || n.Key != got[0].Key || to != "usr" {
				t.Errorf("the subject leads to %+v, %q", n, to)
			}
			for _, wrong := range []string{"", "payment.failed", "payment.failed other usr", "a b c d"} {
				if n, _ := tt.c.ParseNoticeSubject(wrong); n != nil {
					t.Errorf("%q leads to %+v", wrong, n)
				}
			}
		})
	}
	t.Run("each failed renewal is its own notice", func(t *testing.T) {
		c := customer(&billing.Subscription{ID: "sub", Status: billing.PastDue, PastDueSince: at})
		c.Notify(by, at, grace)
		c.Subscription.PastDueSince = at.Add(30 * day)
		if got := c.Notify(by, at.Add(30*day), grace); len(got) != 1 || len(c.Notices) != 2 {
			t.Errorf("Notify = %+v", got)
		}
	})
	t.Run("old notices are forgotten", func(t *testing.T) {
		c := customer(&billing.Subscription{ID: "sub", Status: billing.PastDue})
		for i := range 60 {
			c.Subscription.PastDueSince = at.Add(time.Duration(i) * time.Hour)
			c.Notify(by, at, grace)
		}
		if len(c.Notices) != 50 {
			t.Errorf("%d are remembered", len(c.Notices))
		}
	})
}
