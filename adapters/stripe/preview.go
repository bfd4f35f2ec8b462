package stripe

import (
	"context"
	"time"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Preview implements ports.GatewayPreviews, by invoices that Stripe computes and does not create
// (https://docs.stripe.com/api/invoices/create_preview): the invoice that an immediate change would have, and the
// invoice of the next period.
func (g *Gateway) Preview(
	ctx context.Context, c payment.CustomerID, id payment.SubscriptionID, a payment.Amendment,
) (payment.Preview, error) {
	s, err := g.subscription(ctx, id)
	if err != nil {
		return payment.Preview{}, translate(err)
	}
	h := mirrorSubscription(s)
	d, err := h.Difference(a)
	if err != nil {
		return payment.Preview{}, err
	}
	item := planItem(s, a)
	p := payment.Preview{At: a.ProrateAt, NextAt: nextPeriod(s, item, a, d)}
	currency := mirrorRate(item.Price, s.Currency).Price.Currency
	for _, m := range []*payment.Money{&p.Today, &p.Next, &p.Credit} {
		m.Currency = currency
	}
	if h.EndsBy(p.NextAt, a) || s.PauseCollection != nil { // Stripe has no next invoice then
		payer, err := g.customer(ctx, c)
		if err != nil {
			return payment.Preview{}, err
		}
		p.NextAt, p.Credit.Amount = time.Time{}, max(-payer.Balance, 0)
	} else {
		next, err := g.previewInvoice(ctx, c, s, a, d, "none")
		if err != nil {
			return payment.Preview{}, err
		}
		p.Credit.Amount = max(-next.StartingBalance, 0)
		p.Next.Amount = next.Total
	}
	if billedNow(s, d) {
		invoice, err := g.previewInvoice(ctx, c, s, a, d, "always_invoice")
		if err != nil {
			return payment.Preview{}, err
		}
		p.Today.Amount, p.Credit.Amount = max(invoice.AmountDue, 0), max(p.Credit.Amount-invoice.Total, 0)
	}
	p.Next.Amount = max(p.Next.Amount-p.Credit.Amount, 0)
	return p, nil
}

// previewInvoice returns an invoice with the rest of the current period ("always_invoice"), or the invoice of a whole
// period ("none"). Stripe has no next invoice for a subscription that is set to end (invoice_upcoming_none), so that an
// end which is undone is left out.
func (g *Gateway) previewInvoice(
	ctx context.Context, c payment.CustomerID, s *stripe.Subscription, a payment.Amendment, change payment.Difference,
	proration string,
) (*stripe.Invoice, error) {
	p := &stripe.InvoiceCreatePreviewParams{
		Params: g.readParams(), Customer: stripe.String(string(c)), Subscription: &s.ID,
	}
	d := &stripe.InvoiceCreatePreviewSubscriptionDetailsParams{}
	if len(change.Items) > 0 {
		d.ProrationBehavior = &proration
		for _, i := range updateItems(change.Items) {
			d.Items = append(d.Items, &stripe.InvoiceCreatePreviewSubscriptionDetailsItemParams{
				ID: i.ID, Price: i.Price, Quantity: i.Quantity, Deleted: i.Deleted,
			})
		}
		p.SubscriptionDetails = d
	}
	switch {
	case proration != "none" && change.EndsTrial:
		d.TrialEndNow, d.ProrationBehavior, p.SubscriptionDetails = stripe.Bool(true), &proration, d
	case proration != "none":
		d.ProrationDate = prorationDate(a)
	case s.Schedule != nil && change.Phases != nil && len(change.Items) == 0 && a.Undoes():
		// In place of the subscription (https://docs.stripe.com/api/invoices/create_preview, schedule_details).
		p.Subscription, p.Schedule = nil, &s.Schedule.ID
		p.ScheduleDetails = &stripe.InvoiceCreatePreviewScheduleDetailsParams{EndBehavior: stripe.String("release")}
	case s.CancelAtPeriodEnd:
		d.CancelAtPeriodEnd = stripe.Bool(false)
		p.SubscriptionDetails = d
	case s.CancelAt != 0 && s.Schedule == nil && a.Undoes():
		d.AddUnsetField(stripe.InvoiceCreatePreviewSubscriptionDetailsParamsUnsetFieldCancelAt)
		p.SubscriptionDetails = d
	}
	previewDiscounts(p, s, a, change, proration)
	i, err := g.api.V1Invoices.CreatePreview(ctx, p)
	return i, saleFailure(a.Promotion, err)
}

// billedNow reports whether a change has its own invoice.
func billedNow(s *stripe.Subscription, d payment.Difference) bool {
	return d.EndsTrial || (len(d.Items) > 0 && !d.AtRenewal && s.Status != stripe.SubscriptionStatusTrialing)
}

// endsWithPeriod reports whether a subscription is set to end at the end of an item's period, or before.
func endsWithPeriod(s *stripe.Subscription, item *stripe.SubscriptionItem) bool {
	return s.CancelAtPeriodEnd || (s.CancelAt != 0 && s.CancelAt <= item.CurrentPeriodEnd)
}

// previewDiscounts sets the discounts of a previewed invoice, which are otherwise the subscription's. A discount for
// one invoice reduces an immediate change's invoice, and so not the next invoice.
func previewDiscounts(
	p *stripe.InvoiceCreatePreviewParams, s *stripe.Subscription, a payment.Amendment, d payment.Difference,
	proration string,
) {
	duration := payment.DiscountDuration("")
	if len(s.Discounts) > 0 {
		duration = mirrorDiscount(s.Discounts[0]).Duration
	}
	if a.Promotion != nil {
		duration = a.Promotion.Discount.Duration
	}
	switch {
	case proration == "none" && billedNow(s, d) && duration == payment.DiscountOnce:
		p.AddUnsetField(stripe.InvoiceCreatePreviewParamsUnsetFieldDiscounts)
	case a.Promotion != nil:
		code, coupon := appliedBy(a.Promotion)
		p.Discounts = []*stripe.InvoiceCreatePreviewDiscountParams{{PromotionCode: code, Coupon: coupon}}
	}
}

// prorationDate returns the time for which a change is prorated; nil for now.
func prorationDate(a payment.Amendment) *int64 {
	if a.ProrateAt.IsZero() {
		return nil
	}
	return stripe.Int64(a.ProrateAt.Unix())
}

// nextPeriod returns when the period after a change ends: a change of the interval, and the end of a trial, begin a new
// one.
func nextPeriod(
	s *stripe.Subscription, item *stripe.SubscriptionItem, a payment.Amendment, d payment.Difference,
) time.Time {
	switch {
	case d.Restarts:
		rate := mirrorRate(item.Price, s.Currency)
		if a.Plan.ID != "" {
			rate.Interval, rate.IntervalCount = a.Plan.Interval, a.Plan.IntervalCount
		}
		return rate.Interval.Advance(a.ProrateAt, rate.IntervalCount, a.ProrateAt.Day())
	case s.Status == stripe.SubscriptionStatusTrialing:
		return fromSeconds(s.TrialEnd)
	}
	return fromSeconds(item.CurrentPeriodEnd)
}
