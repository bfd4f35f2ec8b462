package sandbox

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Preview implements ports.GatewayPreviews. It makes the change, and the renewal after it, on a copy of the account,
// and discards the copy.
func (g *Gateway) Preview(
	ctx context.Context, c payment.CustomerID, id payment.SubscriptionID, a payment.Amendment,
) (payment.Preview, error) {
	b, err := g.read(ctx, c, "preview")
	if err != nil {
		return payment.Preview{}, err
	}
	now, err := g.now(ctx)
	if err != nil {
		return payment.Preview{}, err
	}
	s := b.subscription(id)
	if s == nil || !s.Status.Live() {
		return payment.Preview{}, errNoSuchSubscription
	}
	return b.preview(s, a, now)
}

// preview computes a preview. It changes b.
func (b *account) preview(s *subscription, a payment.Amendment, now time.Time) (payment.Preview, error) {
	works := &method{ID: "pm_preview", ExpMonth: 12, ExpYear: 9999}
	b.Methods, b.Default = append(b.Methods, works), works.ID
	p := payment.Preview{At: a.ProrateAt}
	count := len(b.Invoices)
	if err := b.amend(s, a, now); err != nil {
		return p, err
	}
	currency := s.Plan.Price.Currency
	p.Today = payment.Money{Amount: b.dueSince(count), Currency: currency}
	p.Credit = payment.Money{Amount: b.Credit, Currency: currency}
	p.Next = payment.Money{Currency: currency}
	if s.CancelAtPeriodEnd || s.Paused {
		return p, nil
	}
	count, p.NextAt = len(b.Invoices), s.PeriodEnd
	b.renew(s, s.PeriodEnd)
	p.Next.Amount = b.dueSince(count)
	return p, nil
}

// dueSince returns the amount that is due by the invoices from the nth on.
func (b *account) dueSince(n int) (sum int64) {
	for _, i := range b.Invoices[n:] {
		if i.Status != payment.Void {
			sum += i.AmountDue
		}
	}
	return sum
}
