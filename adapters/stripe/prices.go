package stripe

import (
	"context"
	"slices"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Prices implements ports.GatewaySubscriptions.
func (g *Gateway) Prices(ctx context.Context, plans payment.Plans) (payment.Plans, error) {
	plans = slices.Clone(plans)
	for i := range plans {
		p := &plans[i]
		read := &stripe.PriceRetrieveParams{Params: g.readParams()}
		if len(p.CurrencyOptions) > 0 {
			read.AddExpand("currency_options")
		}
		price, err := g.api.V1Prices.Retrieve(ctx, p.PriceRef, read)
		if err != nil && !isMissing(err) {
			return nil, translate(err)
		}
		p.Unavailable = err != nil || !matchesPlan(price, p)
		if isMetered, err := g.sellsMetered(ctx, p); err != nil {
			return nil, err
		} else if !isMetered {
			p.Unavailable = true
		}
	}
	return plans, nil
}

// matchesPlan reports whether a price matches a plan's own: an amount per unit, paid in advance. Tiered, package and
// usage-based prices do not match.
func matchesPlan(price *stripe.Price, p *payment.Plan) bool {
	return price.Active && costs(price, p.Price.Amount) && recurs(price, p) &&
		string(price.Currency) == p.Price.Currency &&
		price.BillingScheme != stripe.PriceBillingSchemeTiered && price.TransformQuantity == nil &&
		!slices.ContainsFunc(p.CurrencyOptions, func(m payment.Money) bool {
			option := price.CurrencyOptions[m.Currency]
			return option == nil || option.UnitAmount != m.Amount ||
				(option.UnitAmountDecimal != 0 && option.UnitAmountDecimal != float64(m.Amount))
		})
}

// recurs reports whether a price is charged in advance for each period of a plan, or once for a credit pack
// (https://docs.stripe.com/api/prices/object#price_object-type).
func recurs(price *stripe.Price, p *payment.Plan) bool {
	r := price.Recurring
	if p.IsPack() {
		return r == nil && price.Type == stripe.PriceTypeOneTime
	}
	return r != nil && string(r.Interval) == string(p.Interval) && int(r.IntervalCount) == p.IntervalCount &&
		r.UsageType != stripe.PriceRecurringUsageTypeMetered
}

// costs reports whether a price is an amount per unit. The unit amount in a price with fractional minor units, or that
// the payer chooses, is null, which the library reads as 0.
func costs(price *stripe.Price, amount int64) bool {
	exact := price.UnitAmountDecimal == 0 || price.UnitAmountDecimal == float64(amount)
	return price.UnitAmount == amount && exact && price.CustomUnitAmount == nil
}

// Invoices implements ports.GatewaySubscriptions.
func (g *Gateway) Invoices(
	ctx context.Context, c payment.CustomerID, cursor payment.InvoiceID,
) ([]payment.Invoice, error) {
	var all []*stripe.Invoice
	p := &stripe.InvoiceListParams{ListParams: g.listParams(), Customer: stripe.String(string(c))}
	p.AddExpand("data." + couponOf)
	p.AddExpand("data." + paidBy)
	if cursor != "" {
		p.StartingAfter = stripe.String(string(cursor)) // lists begin with the newest
	}
	for i, err := range g.api.V1Invoices.List(ctx, p).All(ctx) {
		if err != nil {
			return nil, translate(err)
		}
		if isUnfinished(i) {
			continue
		}
		if all = append(all, i); len(all) == payment.MirroredInvoices {
			break // now: for the next one, the library would request another page
		}
	}
	return g.mirror(ctx, c, all...)
}

// isUnfinished reports whether an invoice is a draft that a person is writing at Stripe. The payer neither sees nor
// pays it: to finalize it cannot be undone. The drafts of a subscription's own periods are others
// (https://docs.stripe.com/billing/invoices/subscription#billing-reason).
func isUnfinished(i *stripe.Invoice) bool {
	ofPeriod := i.BillingReason == stripe.InvoiceBillingReasonSubscriptionCycle && i.Parent != nil &&
		i.Parent.SubscriptionDetails != nil
	return i.Status == stripe.InvoiceStatusDraft && !ofPeriod
}

// mirrorInvoice adds up taxes and discounts, which Stripe lists one by one.
func mirrorInvoice(i *stripe.Invoice) payment.Invoice {
	out := payment.Invoice{
		ID: payment.InvoiceID(i.ID), Number: i.Number, Status: payment.InvoiceStatus(i.Status),
		Currency: string(i.Currency),
		Subtotal: i.Subtotal, Total: i.Total, AmountDue: i.AmountDue, AmountPaid: i.AmountPaid,
		AmountRemaining: i.AmountRemaining, Reason: reasonOf(i),
		PeriodStart: fromSeconds(i.PeriodStart), PeriodEnd: fromSeconds(i.PeriodEnd), DueAt: fromSeconds(i.DueDate),
		HostedURL: i.HostedInvoiceURL, PDFURL: i.InvoicePDF, CreatedAt: fromSeconds(i.Created),
		Attempts: int(i.AttemptCount), NextAttemptAt: fromSeconds(i.NextPaymentAttempt),
	}
	if p := i.Parent; p != nil && p.SubscriptionDetails != nil && p.SubscriptionDetails.Subscription != nil {
		out.Subscription = payment.SubscriptionID(p.SubscriptionDetails.Subscription.ID)
	}
	out.BilledTo, out.Pack = billedTo(i), soldPacks(i)
	for _, tax := range i.TotalTaxes {
		out.Tax += tax.Amount
	}
	for _, discount := range i.TotalDiscountAmounts {
		out.Discount += discount.Amount
	}
	for _, d := range i.Discounts {
		out.Discounts = append(out.Discounts, *mirrorDiscount(d))
	}
	out.Lines, out.HasMoreLines = mirrorLines(i)
	if t := i.StatusTransitions; t != nil {
		out.PaidAt = fromSeconds(t.PaidAt)
	}
	return out
}
