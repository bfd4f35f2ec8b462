package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestUsageIsSummedByMonthsOfTheWorkspace(t *testing.T) {
	at := func(year int, month time.Month, day, hour int) time.Time {
		return time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
	}
	subscription := &payment.Subscription{Plan: "metered", Status: payment.Active, PeriodStart: at(2026, 1, 31, 12),
		PeriodEnd: at(2026, 2, 28, 12)}
	yearly := &payment.Subscription{Plan: "year", Status: payment.Active, PeriodStart: at(2026, 1, 31, 12),
		PeriodEnd: at(2027, 1, 31, 12)}
	call := func(start time.Time, s *payment.Subscription) *payment.Customer {
		return &payment.Customer{UsageSince: start, Subscription: s}
	}
	for name, tt := range map[string]struct {
		c              *payment.Customer
		now, from, til time.Time
	}{
		"without a customer, by calendar months in UTC": {nil, time.Date(2026, 3, 1, 0, 30, 0, 0,
			time.FixedZone("east", 3600)), at(2026, 2, 1, 0), at(2026, 3, 1, 0)},
		"before the first subscription, too": {customer(), at(2026, 12, 31, 23), at(2026, 12, 1, 0), at(2027, 1, 1, 0)},
		"in the first month": {call(at(2026, 1, 15, 12), nil), at(2026, 1, 15, 12),
			at(2026, 1, 15, 12), at(2026, 2, 15, 12)},
		"a moment before the second": {call(at(2026, 1, 15, 12), nil), at(2026, 2, 15, 12).Add(-1),
			at(2026, 1, 15, 12), at(2026, 2, 15, 12)},
		"the second": {call(at(2026, 1, 15, 12), nil), at(2026, 2, 15, 12), at(2026, 2, 15, 12), at(2026, 3, 15, 12)},
		"since a 31st, to the end of February": {call(at(2026, 1, 31, 12), nil),
			at(2026, 2, 20, 0), at(2026, 1, 31, 12),
			at(2026, 2, 28, 12)},
		"from the end of February to the 31st": {call(at(2026, 1, 31, 12), nil),
			at(2026, 3, 31, 11), at(2026, 2, 28, 12),
			at(2026, 3, 31, 12)},
		"in a leap year": {call(at(2027, 12, 31, 12), nil), at(2028, 2, 29, 12),
			at(2028, 2, 29, 12), at(2028, 3, 31, 12)},
		"since a 29th of February": {call(at(2028, 2, 29, 12), nil), at(2029, 2, 28, 12),
			at(2029, 2, 28, 12), at(2029, 3, 29, 12)},
		"across the end of a year": {call(at(2026, 11, 30, 12), nil), at(2027, 1, 1, 0),
			at(2026, 12, 30, 12), at(2027, 1, 30, 12)},
		"years later": {call(at(2026, 1, 31, 12), nil), at(2031, 5, 1, 0), at(2031, 4, 30, 12), at(2031, 5, 31, 12)},
		"of a clock that is behind": {call(at(2026, 1, 31, 12), nil), at(2025, 12, 1, 0),
			at(2026, 1, 31, 12), at(2026, 2, 28, 12)},
		"of a plan for a year": {call(at(2026, 1, 31, 12), yearly), at(2026, 7, 4, 0),
			at(2026, 6, 30, 12), at(2026, 7, 31, 12)},
		"stored by an earlier version": {call(time.Time{}, yearly), at(2026, 7, 4, 0),
			at(2026, 6, 30, 12), at(2026, 7, 31, 12)},
		"billed by the gateway": {call(at(2025, 1, 1, 0), subscription), at(2026, 2, 1, 0),
			at(2026, 1, 31, 12), at(2026, 2, 28, 12)},
		"billed, at the end": {call(at(2025, 1, 1, 0), subscription), at(2026, 2, 28, 12),
			at(2026, 2, 28, 12), at(2026, 3, 31, 12)},
		"billed, two unseen renewals on": {call(at(2025, 1, 1, 0), subscription), at(2026, 4, 1, 0),
			at(2026, 3, 31, 12), at(2026, 4, 30, 12)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := byUsage.PeriodOf(tt.c, "messages", tt.now); !got.Start.Equal(tt.from) || !got.End.Equal(tt.til) {
				t.Errorf("%s to %s, want %s to %s", got.Start, got.End, tt.from, tt.til)
			}
		})
	}
}

func TestOnlyTheFeatureThatIsBilledHasThePeriodOfTheSubscription(t *testing.T) {
	c := &payment.Customer{UsageSince: now.AddDate(0, 0, -10), Subscription: &payment.Subscription{Plan: "metered",
		Status: payment.Active, PeriodStart: now.AddDate(0, 0, -3), PeriodEnd: now.AddDate(0, 0, 27)}}
	for feature, start := range map[string]time.Time{"messages": c.Subscription.PeriodStart, "seats": c.UsageSince} {
		got := byUsage.PeriodOf(c, feature, now)
		assert.That(t, got.Start.Equal(start), "usage of %s is summed since %s, not %s", feature, got.Start, start)
	}
}

func TestOnlyAPaidInvoiceBeginsAnotherPeriodOfUsage(t *testing.T) {
	first := now.AddDate(0, 0, -10)
	repeat := func() *payment.Customer {
		c := customer(card("a", 1))
		old := held(payment.Active)
		old.CreatedAt, old.PeriodStart, old.PeriodEnd = first, first, first.AddDate(0, 1, 0)
		seeSubscriptions(c, owner, []payment.GatewaySubscription{old}, plans)
		seeSubscriptions(c, owner, nil, plans)
		require.Equal(t, "usage since", c.UsageSince, first)
		next := held(payment.Active)
		next.ID, next.CreatedAt, next.PeriodStart, next.PeriodEnd = "sub_2", now, now, now.AddDate(0, 1, 0)
		seeSubscriptions(c, owner, []payment.GatewaySubscription{next}, plans)
		return c
	}
	invoice := func(status payment.InvoiceStatus, total int64, now time.Time) payment.Invoice {
		return payment.Invoice{ID: "in_1", Status: status, Total: total, CreatedAt: now, PaidAt: now}
	}
	for name, tt := range map[string]struct {
		invoices []payment.Invoice
		want     time.Time
	}{
		"a free plan, a trial":             {nil, first},
		"a discount of 100 %":              {[]payment.Invoice{invoice(payment.Paid, 0, now)}, first},
		"an invoice that is not paid":      {[]payment.Invoice{invoice(payment.Open, 900, now)}, first},
		"that of the earlier subscription": {[]payment.Invoice{invoice(payment.Paid, 900, first)}, first},
		"a paid one":                       {[]payment.Invoice{invoice(payment.Paid, 900, now)}, now},
		"one that is paid later": {[]payment.Invoice{invoice(payment.Paid, 900, now.AddDate(0, 0, 8))},
			now.AddDate(0, 0, 8)},
	} {
		t.Run(name, func(t *testing.T) {
			c := repeat()
			c.Mirror(owner, c.Look(), payment.Seen{Invoices: &tt.invoices}, plans)
			assert.That(t, c.UsageSince == tt.want && c.BeganAgain() != (tt.want != first),
				"usage since %s, want %s", c.UsageSince, tt.want)
		})
	}
	t.Run("renewals begin none", func(t *testing.T) {
		c := repeat()
		c.Mirror(owner, c.Look(), payment.Seen{Invoices: &[]payment.Invoice{invoice(payment.Paid, 900, now)}}, plans)
		renewal := []payment.Invoice{invoice(payment.Paid, 900, now.AddDate(0, 0, 20))}
		c.Mirror(owner, c.Look(), payment.Seen{Invoices: &renewal}, plans)
		assert.Equal(t, "usage since", c.UsageSince, now)
	})
}
