package sandbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// usage is one customer usage event.
type usage struct {
	ID       string    `json:"id"`
	Feature  string    `json:"feature"`
	Quantity int64     `json:"quantity"`
	At       time.Time `json:"at"`
}

// The times of events that are accepted, as at Stripe (https://docs.stripe.com/api/billing/meter-event/create).
const (
	usageAge   = 35 * 24 * time.Hour
	usageAhead = 5 * time.Minute
)

// ReportUsage implements ports.GatewayMeters.
func (g *Gateway) ReportUsage(ctx context.Context, e payment.UsageEvent) error {
	_, err := keyed(ctx, g, e.Customer, e.ID, "report usage", func(b *account, now time.Time) (bool, error) {
		if e.Quantity < 0 || e.At.Before(now.Add(-usageAge)) || e.At.After(now.Add(usageAhead)) {
			return false, &payment.Rejection{Reason: "timestamp_invalid"}
		}
		if !slices.ContainsFunc(b.Usage, func(u usage) bool { return u.ID == e.ID }) {
			b.Usage = append(b.Usage, usage{ID: e.ID, Feature: e.Feature, Quantity: e.Quantity, At: e.At})
		}
		return true, nil
	})
	return err
}

// used returns the line for the usage in a period of s; nil if the plan has no metered price, or nothing was used.
// Usage during a trial is free.
func (b *account) used(s *subscription, start, end time.Time) *payment.InvoiceLine {
	m := s.Plan.Metered
	if m == nil || s.Status == payment.Trialing {
		return nil
	}
	line := &payment.InvoiceLine{Start: start, End: end}
	for _, u := range b.Usage {
		if u.Feature == m.Feature && !u.At.Before(start) && u.At.Before(end) {
			line.Quantity += u.Quantity
		}
	}
	b.Usage = slices.DeleteFunc(b.Usage, func(u usage) bool { return u.At.Before(start.Add(-usageAge)) })
	if line.Quantity == 0 {
		return nil
	}
	line.Amount = line.Quantity * m.Amount
	line.Description = fmt.Sprintf("%d × %s", line.Quantity, m.Feature)
	return line
}

// usageOff returns what the discount deducts from the usage that is billed with a period that begins at a time.
func (s *subscription) usageOff(now time.Time) int64 {
	if s.unbilled == nil || s.Discount == nil || s.Discount.Ended(now) {
		return 0
	}
	return s.Discount.Deduction(s.price()+s.unbilled.Amount) - s.Discount.Deduction(s.price())
}

// usageCost returns the price of the usage that is billed with a period that begins at a time, less the discount.
func (s *subscription) usageCost(now time.Time) int64 {
	if s.unbilled == nil {
		return 0
	}
	return s.unbilled.Amount - s.usageOff(now)
}

// billUsage charges the usage in an ending subscription's current period.
func (b *account) billUsage(s *subscription, now time.Time) {
	line := b.used(s, s.PeriodStart, now)
	if line == nil || (s.Status != payment.Active && s.Status != payment.PastDue) {
		return
	}
	i := b.bill(s, line.Amount, b.charge(b.due(b.taxed(s, line.Amount)), false, now).paid, now)
	i.Lines = []payment.InvoiceLine{*line}
}

// line returns an invoice line for the plan's own price, or for a change.
func (s *subscription) line(amount int64) payment.InvoiceLine {
	return payment.InvoiceLine{
		Description: fmt.Sprintf("%d × %s", s.Quantity, s.Plan.ID), Quantity: int64(s.Quantity), Amount: amount,
		Start: s.PeriodStart, End: s.PeriodEnd,
	}
}
