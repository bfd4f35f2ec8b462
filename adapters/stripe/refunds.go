package stripe

import (
	"context"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// maxCharges is the number of a customer's newest charges that are read. An invoice has one that succeeded, and others
// if some were declined.
const maxCharges = 500

// mirror returns invoices, newest first, with their refunds and disputes. An invoice names the intents that have paid
// it, and a charge its intent (https://docs.stripe.com/api/invoice-payment/object).
func (g *Gateway) mirror(
	ctx context.Context, c payment.CustomerID, invoices ...*stripe.Invoice,
) ([]payment.Invoice, error) {
	var all []payment.Invoice
	payers := map[string]int{} // the index of the invoice, by the intent or the charge that has paid it
	for _, i := range invoices {
		all = append(all, mirrorInvoice(i))
		if i.AmountPaid == 0 || i.Payments == nil {
			continue
		}
		for _, p := range i.Payments.Data {
			if id := paidWith(p.Payment); id != "" {
				payers[id] = len(all) - 1
			}
		}
	}
	if len(payers) == 0 {
		return all, nil
	}
	p := &stripe.ChargeListParams{ListParams: g.listParams(), Customer: stripe.String(string(c))}
	n, oldest := 0, invoices[len(invoices)-1].Created
	for charge, err := range g.api.V1Charges.List(ctx, p).All(ctx) {
		if err != nil {
			return nil, translate(err)
		}
		if n++; charge.Created < oldest || n > maxCharges {
			break
		}
		id := charge.ID
		if charge.PaymentIntent != nil {
			id = charge.PaymentIntent.ID
		}
		index, exists := payers[id]
		if !exists {
			continue
		}
		all[index].AmountRefunded += charge.AmountRefunded
		if charge.Disputed {
			disputes, err := g.disputes(ctx, charge.ID)
			if err != nil {
				return nil, err
			}
			all[index].Disputes = append(all[index].Disputes, disputes...)
		}
	}
	return all, nil
}

// paidWith returns the intent, or the charge without one, of an invoice's payment; "" for one outside Stripe.
func paidWith(p *stripe.InvoicePaymentPayment) string {
	switch {
	case p == nil:
		return ""
	case p.PaymentIntent != nil:
		return p.PaymentIntent.ID
	case p.Charge != nil:
		return p.Charge.ID
	}
	return ""
}

func (g *Gateway) disputes(ctx context.Context, charge string) ([]payment.Dispute, error) {
	var all []payment.Dispute
	p := &stripe.DisputeListParams{ListParams: g.listParams(), Charge: stripe.String(charge)}
	for d, err := range g.api.V1Disputes.List(ctx, p).All(ctx) {
		if err != nil {
			return nil, translate(err)
		}
		all = append(all, payment.Dispute{ID: d.ID, Amount: d.Amount, Reason: string(d.Reason),
			Status: disputeStatus(d.Status), Inquiry: isInquiry(d.Status)})
	}
	return all, nil
}

// disputeStatus is a dispute's status (https://docs.stripe.com/api/disputes/object#dispute_object-status).
func disputeStatus(s stripe.DisputeStatus) payment.DisputeStatus {
	switch s {
	case stripe.DisputeStatusWon:
		return payment.DisputeWon
	case stripe.DisputeStatusLost:
		return payment.DisputeLost
	case stripe.DisputeStatusWarningClosed, stripe.DisputeStatusPrevented:
		return payment.DisputeClosed
	}
	return payment.DisputeOpen
}

// isInquiry reports whether a bank only asks about a payment (https://docs.stripe.com/disputes/how-disputes-work).
func isInquiry(s stripe.DisputeStatus) bool {
	return s == stripe.DisputeStatusWarningNeedsResponse || s == stripe.DisputeStatusWarningUnderReview ||
		s == stripe.DisputeStatusWarningClosed
}

// reasonOf returns why there is an invoice (https://docs.stripe.com/api/invoices/object#invoice_object-billing_reason).
func reasonOf(i *stripe.Invoice) payment.InvoiceReason {
	switch r := payment.InvoiceReason(i.BillingReason); r {
	case payment.SubscriptionCreate, payment.SubscriptionCycle, payment.SubscriptionUpdate:
		return r
	}
	return payment.OtherReason
}
