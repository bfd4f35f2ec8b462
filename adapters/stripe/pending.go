package stripe

import (
	"context"
	"errors"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// updateWithPayer makes a change whose payment the payer must authenticate: a pending update, which Stripe applies when
// its invoice is paid (https://docs.stripe.com/billing/subscriptions/pending-updates). A pending update accepts no
// metadata, so a call before it stores the key.
func (g *Gateway) updateWithPayer(
	ctx context.Context, key string, s *stripe.Subscription, a payment.Amendment, d payment.Difference,
) (payment.GatewaySubscription, error) {
	id := payment.SubscriptionID(s.ID)
	note := &stripe.SubscriptionUpdateParams{
		Params: g.writeParams(key + "_note"), Metadata: map[string]string{waitsBy: key},
	}
	if _, err := g.api.V1Subscriptions.Update(ctx, string(id), note); err != nil {
		return payment.GatewaySubscription{}, translate(err)
	}
	p := &stripe.SubscriptionUpdateParams{
		Params: g.writeParams(key + "_pending"), PaymentBehavior: stripe.String("pending_if_incomplete"),
		ProrationBehavior: stripe.String("always_invoice"), ProrationDate: prorationDate(a),
		Items: updateItems(d.Items),
	}
	if d.EndsTrial {
		p.TrialEndNow, p.ProrationDate = stripe.Bool(true), nil
	}
	_, err := g.api.V1Subscriptions.Update(ctx, string(id), p)
	if err != nil && !isUnanswered(ctx, err) {
		return payment.GatewaySubscription{}, translate(err)
	}
	current, lookupErr := g.subscription(ctx, id)
	switch {
	case lookupErr != nil:
		return payment.GatewaySubscription{}, translate(lookupErr)
	case current.PendingUpdate != nil:
		return g.withPending(ctx, current)
	case hasTerms(current, a):
		return mirrorSubscription(current), nil
	case err != nil:
		return payment.GatewaySubscription{}, translate(err)
	}
	// it has expired
	return payment.GatewaySubscription{}, &payment.DeclinedError{DeclineCode: "authentication_required"}
}

// withPending returns a subscription whose pending update waits for the payer. If its payment was declined, the update
// is discarded.
func (g *Gateway) withPending(ctx context.Context, s *stripe.Subscription) (payment.GatewaySubscription, error) {
	code, err := g.declineCode(ctx, s.LatestInvoice)
	if err != nil {
		return payment.GatewaySubscription{}, err
	}
	if code == "" {
		return mirrorSubscription(s), nil
	}
	if err := g.void(ctx, s.LatestInvoice); err != nil {
		return payment.GatewaySubscription{}, err
	}
	return payment.GatewaySubscription{}, &payment.DeclinedError{DeclineCode: code}
}

// hasTerms reports whether a subscription has a change's terms.
func hasTerms(s *stripe.Subscription, a payment.Amendment) bool {
	h := mirrorSubscription(s)
	d, err := h.Difference(a)
	return err == nil && len(d.Items) == 0 && !d.EndsTrial
}

// dropUpdate discards a pending update of another call, by voiding its invoice. If the invoice was paid in the
// meantime, the update has been applied.
func (g *Gateway) dropUpdate(ctx context.Context, key string, s *stripe.Subscription) (*stripe.Subscription, error) {
	if s.PendingUpdate == nil || s.Metadata[waitsBy] == key {
		return s, nil
	}
	if err := g.void(ctx, s.LatestInvoice); err != nil && !errors.Is(err, payment.ErrSubscriptionExists) {
		return nil, err
	}
	current, err := g.subscription(ctx, payment.SubscriptionID(s.ID))
	if err != nil {
		return nil, translate(err)
	}
	return current, nil
}
