package stripe

import (
	"context"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// voidPeriods voids the invoices for periods of a subscription that has ended. Stripe stops to collect them, but leaves
// them open (https://docs.stripe.com/api/subscriptions/cancel), so that a payer could pay for a period that entitles to
// nothing. It comes after the end: a subscription whose newest invoice is void would be active again. Invoices for
// anything else stay, such as for what was used, and so do those that Stripe refuses to void, because a payment is on
// its way. Invoices that were sent to be paid by transfer stay, too: their period was used before it had to be paid.
func (g *Gateway) voidPeriods(
	ctx context.Context, key string, c payment.CustomerID, s *stripe.Subscription,
) error {
	for _, status := range []stripe.InvoiceStatus{stripe.InvoiceStatusOpen, stripe.InvoiceStatusDraft} {
		p := &stripe.InvoiceListParams{
			ListParams: g.listParams(), Customer: stripe.String(string(c)), Subscription: &s.ID,
			Status: stripe.String(string(status)),
		}
		for i, err := range g.api.V1Invoices.List(ctx, p).All(ctx) {
			if err != nil {
				return translate(err)
			}
			isSent := i.CollectionMethod == stripe.InvoiceCollectionMethodSendInvoice
			if !isForPeriods(i, s) || (isSent && status == stripe.InvoiceStatusOpen) {
				continue
			}
			// A subscription's draft cannot be deleted, and only final invoices can be voided.
			if status == stripe.InvoiceStatusDraft {
				_, err = g.finalize(ctx, key+"_"+i.ID, payment.InvoiceID(i.ID))
			}
			if err == nil && !isSent {
				err = g.void(ctx, i)
			}
			if payment.OutcomeUnknown(err) || payment.NoEffect(err) {
				return err
			}
		}
	}
	return nil
}

// isForPeriods reports whether an invoice charges only a subscription's licensed items, in advance. What
// was used is charged by other prices, and so is what a person has added.
func isForPeriods(i *stripe.Invoice, s *stripe.Subscription) bool {
	if i.Lines == nil || i.Lines.HasMore || s.Items == nil {
		return false
	}
	prices := map[string]bool{}
	for _, item := range s.Items.Data {
		prices[item.Price.ID] = !isMetered(item.Price)
	}
	for _, l := range i.Lines.Data {
		if l.Amount > 0 && (l.Pricing == nil || l.Pricing.PriceDetails == nil || l.Pricing.PriceDetails.Price == nil ||
			!prices[l.Pricing.PriceDetails.Price.ID]) {
			return false
		}
	}
	return true
}
