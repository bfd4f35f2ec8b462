package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// The metadata keys of invoices for credit packs, beside madeBy. What was sold is noted there, because the
// configuration can change later.
const (
	packOf         = "atrium_pack"
	packQuantityOf = "atrium_pack_quantity"
	packLimitsOf   = "atrium_pack_limits" // JSON; Stripe keeps 500 characters
	packDaysOf     = "atrium_pack_days"
)

// packSale returns the metadata of an invoice for credit packs.
func packSale(key string, pack *payment.Plan, quantity int) (map[string]string, error) {
	limits, err := json.Marshal(pack.Limits)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		madeBy: key, packOf: string(pack.ID), packQuantityOf: strconv.Itoa(quantity), packLimitsOf: string(limits),
		packDaysOf: strconv.Itoa(pack.ExpiresAfter),
	}, nil
}

// soldPacks returns the credit packs that an invoice is for, or nil.
func soldPacks(i *stripe.Invoice) *payment.PackSale {
	sale := &payment.PackSale{Pack: payment.PlanID(i.Metadata[packOf]), Key: i.Metadata[madeBy]}
	sale.Quantity, _ = strconv.Atoi(i.Metadata[packQuantityOf]) // 0 if it is not a number
	var err error
	if sale.Days, err = strconv.Atoi(i.Metadata[packDaysOf]); err == nil {
		err = json.Unmarshal([]byte(i.Metadata[packLimitsOf]), &sale.Limits)
	}
	if err != nil || sale.Pack == "" || sale.Quantity < 1 || sale.Days < 0 {
		return nil
	}
	return sale
}

// Buy implements ports.GatewayMeters (https://docs.stripe.com/invoicing/integration). Each step has a key that
// follows from key, so that a repetition continues where the first call has ended.
func (g *Gateway) Buy(
	ctx context.Context, key string, c payment.CustomerID, o payment.PackOrder,
) (payment.InvoicePayment, error) {
	id, err := g.draftPacks(ctx, key, c, o)
	if err != nil {
		return payment.InvoicePayment{}, err
	}
	i, err := g.invoice(ctx, id)
	switch {
	case err != nil:
		return payment.InvoicePayment{}, afterEffect(translate(err))
	case i.Status == stripe.InvoiceStatusVoid: // by an earlier call, which was declined
		code, err := g.declineCode(ctx, i)
		if err == nil && code == "" {
			err = &payment.Rejection{Reason: "the invoice was voided"}
		}
		if err != nil {
			return payment.InvoicePayment{}, err
		}
		return payment.InvoicePayment{}, &payment.DeclinedError{DeclineCode: code}
	case i.Status == stripe.InvoiceStatusDraft:
		if i, err = g.finalize(ctx, key, id); err != nil {
			return payment.InvoicePayment{}, err
		}
	}
	p, err := g.Pay(ctx, key+"_pay", c, id)
	if isFinal(err) {
		if refusal := g.void(ctx, i); refusal != nil {
			return payment.InvoicePayment{}, afterEffect(&payment.UnsettledError{Refusal: refusal.Error()})
		}
	}
	return p, afterEffect(err) // otherwise an open invoice would be left that no one waits for
}

// isFinal reports whether a payment has failed, and no repetition of the call can change that.
func isFinal(err error) bool {
	_, wasKept := errors.AsType[*payment.KeptFailure](err)
	return err != nil && (wasKept || !payment.OutcomeUnknown(err)) && !payment.NoEffect(err)
}

// draftPacks creates the draft of an invoice for credit packs. Nothing else is billed with it.
func (g *Gateway) draftPacks(
	ctx context.Context, key string, c payment.CustomerID, o payment.PackOrder,
) (payment.InvoiceID, error) {
	sale, err := packSale(key, &o.Pack, o.Quantity)
	if err != nil {
		return "", err
	}
	p := &stripe.InvoiceCreateParams{
		Params: g.writeParams(key), Customer: stripe.String(string(c)), Currency: &o.Pack.Price.Currency,
		AutoAdvance: stripe.Bool(false), PendingInvoiceItemsBehavior: stripe.String("exclude"), Metadata: sale,
	}
	if o.Method != "" {
		p.DefaultPaymentMethod = stripe.String(string(o.Method))
	}
	if o.AutomaticTax {
		p.AutomaticTax = &stripe.InvoiceCreateAutomaticTaxParams{Enabled: stripe.Bool(true)}
	}
	i, err := g.api.V1Invoices.Create(ctx, p)
	if err != nil {
		return "", translate(err)
	}
	_, err = g.api.V1InvoiceItems.Create(ctx, &stripe.InvoiceItemCreateParams{
		Params: g.writeParams(key + "_item"), Customer: stripe.String(string(c)), Invoice: &i.ID,
		Pricing:  &stripe.InvoiceItemCreatePricingParams{Price: &o.Pack.PriceRef},
		Quantity: stripe.Int64(int64(o.Quantity)),
	})
	return payment.InvoiceID(i.ID), translate(err)
}

// checkoutPacks is Checkout for credit packs. Stripe makes their invoice when they are paid
// (https://docs.stripe.com/payments/checkout/receipts#paid-invoices).
func (g *Gateway) checkoutPacks(
	ctx context.Context, key string, c payment.CustomerID, o payment.CheckoutOrder,
) (string, error) {
	sale, err := packSale(key, &o.Plan, o.Quantity)
	if err != nil {
		return "", err
	}
	p := g.checkoutPage(key, c, o)
	p.Mode = stripe.String(string(stripe.CheckoutSessionModePayment))
	p.InvoiceCreation = &stripe.CheckoutSessionCreateInvoiceCreationParams{
		Enabled:     stripe.Bool(true),
		InvoiceData: &stripe.CheckoutSessionCreateInvoiceCreationInvoiceDataParams{Metadata: sale},
	}
	s, err := g.api.V1CheckoutSessions.Create(ctx, p)
	if err != nil {
		return "", translate(err)
	}
	return s.URL, nil
}
