package stripe

import (
	"context"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// addRenewalAction adds what the payer must do so that a renewal can be paid, if the bank wants authentication
// (https://docs.stripe.com/billing/subscriptions/overview#requires-action).
func (g *Gateway) addRenewalAction(
	ctx context.Context, s *stripe.Subscription, h *payment.GatewaySubscription,
) error {
	invoice := s.LatestInvoice
	if s.Status != stripe.SubscriptionStatusPastDue || h.Action != nil || invoice == nil ||
		invoice.Status != stripe.InvoiceStatusOpen || invoice.ConfirmationSecret == nil || invoice.Payments == nil {
		return nil
	}
	for _, charge := range invoice.Payments.Data {
		if charge.Payment == nil || charge.Payment.PaymentIntent == nil {
			continue
		}
		id := charge.Payment.PaymentIntent.ID
		i, err := g.api.V1PaymentIntents.Retrieve(ctx, id, &stripe.PaymentIntentRetrieveParams{Params: g.readParams()})
		if err != nil {
			return translate(err)
		}
		if i.Status == stripe.PaymentIntentStatusRequiresAction || declinedForPayer(i) {
			text := secret.New(invoice.ConfirmationSecret.ClientSecret)
			h.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: text}
			return nil
		}
	}
	return nil
}

// declinedForPayer reports whether a payment was declined because the payer was absent.
func declinedForPayer(i *stripe.PaymentIntent) bool {
	e := i.LastPaymentError
	return i.Status == stripe.PaymentIntentStatusRequiresPaymentMethod && e != nil &&
		(e.Code == stripe.ErrorCodeAuthenticationRequired || e.DeclineCode == stripe.DeclineCodeAuthenticationRequired)
}
