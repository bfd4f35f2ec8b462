package stripe

import (
	"context"
	"errors"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// Pay implements ports.GatewaySubscriptions. Whatever Stripe's response, the invoice itself shows whether it is paid.
func (g *Gateway) Pay(ctx context.Context, key string, c payment.CustomerID,
	id payment.InvoiceID) (payment.InvoicePayment, error) {
	i, err := g.invoice(ctx, id)
	switch {
	case isMissing(err), err == nil && (i.Customer == nil || i.Customer.ID != string(c) || isUnfinished(i)):
		return payment.InvoicePayment{}, payment.ErrInvoiceNotFound
	case err != nil:
		return payment.InvoicePayment{}, translate(err)
	}
	if i.Status == stripe.InvoiceStatusDraft {
		if i, err = g.finalize(ctx, key, id); err != nil {
			return payment.InvoicePayment{}, err
		}
	}
	switch i.Status {
	case stripe.InvoiceStatusPaid:
		all, err := g.mirror(ctx, c, i)
		if err != nil {
			return payment.InvoicePayment{}, err
		}
		return payment.InvoicePayment{Invoice: all[0]}, nil
	case stripe.InvoiceStatusOpen, stripe.InvoiceStatusUncollectible: // of both, Stripe accepts payments
	default:
		return payment.InvoicePayment{}, payment.ErrInvoiceNotPayable
	}
	p := &stripe.InvoicePayParams{Params: g.writeParams(key), OffSession: stripe.Bool(false),
		Expand: []*string{stripe.String(confirmation), stripe.String(couponOf), stripe.String(paidBy)}}
	invoice, err := g.api.V1Invoices.Pay(ctx, string(id), p)
	if err == nil {
		return g.payment(ctx, invoice)
	}
	refusal := translate(err)
	if (errors.Is(refusal, payment.ErrCardDeclined) && !wantsPayer(err)) || ctx.Err() != nil {
		return payment.InvoicePayment{}, refusal
	}
	current, lookupErr := g.invoice(ctx, id)
	switch {
	case lookupErr != nil && wantsPayer(err):
		return payment.InvoicePayment{}, translate(lookupErr)
	case lookupErr != nil:
		return payment.InvoicePayment{}, refusal
	case current.Status == stripe.InvoiceStatusPaid, wantsPayer(err):
		return g.payment(ctx, current)
	}
	if isOnItsWay, lookupErr := g.isProcessing(ctx, current); lookupErr == nil && isOnItsWay {
		return payment.InvoicePayment{Invoice: mirrorInvoice(current)}, nil
	}
	return payment.InvoicePayment{}, refusal
}

const (
	confirmation = "confirmation_secret"
	paidBy       = "payments"
)

// isProcessing reports whether an invoice's payment is on its way: a bank takes days to answer a direct debit, and
// until then nothing is left to do (https://docs.stripe.com/payments/paymentintents/lifecycle).
func (g *Gateway) isProcessing(ctx context.Context, i *stripe.Invoice) (bool, error) {
	if i.Status == stripe.InvoiceStatusPaid || i.Payments == nil {
		return false, nil
	}
	for _, charge := range i.Payments.Data {
		if charge.Payment == nil || charge.Payment.PaymentIntent == nil {
			continue
		}
		intent, err := g.api.V1PaymentIntents.Retrieve(ctx, charge.Payment.PaymentIntent.ID,
			&stripe.PaymentIntentRetrieveParams{Params: g.readParams()})
		if err != nil {
			return false, translate(err)
		}
		if intent.Status == stripe.PaymentIntentStatusProcessing {
			return true, nil
		}
	}
	return false, nil
}

func (g *Gateway) invoice(ctx context.Context, id payment.InvoiceID) (*stripe.Invoice, error) {
	p := &stripe.InvoiceRetrieveParams{Params: g.readParams(), Expand: []*string{stripe.String(confirmation),
		stripe.String(couponOf), stripe.String(paidBy)}}
	return g.api.V1Invoices.Retrieve(ctx, string(id), p)
}

// finalize makes a draft payable. The subscription that it belongs to is unpaid, or renews within the hour.
func (g *Gateway) finalize(ctx context.Context, key string, id payment.InvoiceID) (*stripe.Invoice, error) {
	i, err := g.api.V1Invoices.FinalizeInvoice(ctx, string(id),
		&stripe.InvoiceFinalizeInvoiceParams{Params: g.writeParams(key + "_finalize")})
	if err != nil && ctx.Err() == nil {
		if current, lookupErr := g.invoice(ctx, id); lookupErr == nil && current.Status != stripe.InvoiceStatusDraft {
			return current, nil
		}
	}
	return i, translate(err)
}

// wantsPayer reports whether a charge was refused because the payer must authenticate it.
func wantsPayer(err error) bool {
	var failure *stripe.Error
	return errors.As(err, &failure) &&
		(failure.Code == stripe.ErrorCodeInvoicePaymentIntentRequiresAction || failure.Code == changeWantsPayer)
}

// changeWantsPayer is the code for a refused change whose payment the payer must authenticate
// (https://docs.stripe.com/error-codes).
const changeWantsPayer stripe.ErrorCode = "subscription_payment_intent_requires_action"

// payment returns the outcome of paying an invoice. A payment that is processing asks nothing of the payer.
func (g *Gateway) payment(ctx context.Context, i *stripe.Invoice) (payment.InvoicePayment, error) {
	p := payment.InvoicePayment{Invoice: mirrorInvoice(i)}
	s := i.ConfirmationSecret
	if i.Status != stripe.InvoiceStatusOpen || s == nil {
		return p, nil
	}
	isOnItsWay, err := g.isProcessing(ctx, i)
	if err != nil {
		return payment.InvoicePayment{}, afterEffect(err)
	}
	if !isOnItsWay {
		p.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: secret.New(s.ClientSecret)}
	}
	return p, nil
}
