package stripe

import (
	"context"
	"strconv"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// paidUntil is the metadata key of a paused subscription for the end of its paid period, in seconds since 1970.
const paidUntil = "atrium_paid_until"

// mirrorPause adds to a mirrored subscription whether it is paused, and why it is cancelled.
func mirrorPause(s *stripe.Subscription, h *payment.GatewaySubscription) {
	if h.Paused = s.PauseCollection != nil; h.Paused {
		seconds, _ := strconv.ParseInt(s.Metadata[paidUntil], 10, 64)
		h.PaidUntil = fromSeconds(seconds)
	}
	if d := s.CancellationDetails; d != nil {
		h.Cancellation = payment.Cancellation{Feedback: payment.Feedback(d.Feedback), Comment: d.Comment}
	}
}

// pause adds to an update that the subscription is paused or resumed. While it is paused, Stripe voids its invoices
// (https://docs.stripe.com/billing/subscriptions/pause-payment). Resuming in a period that was not paid starts a new
// period, without proration: there is no paid rest.
func pause(p *stripe.SubscriptionUpdateParams, item *stripe.SubscriptionItem, a payment.Amendment) {
	switch {
	case a.Pause == nil:
	case *a.Pause:
		p.PauseCollection = &stripe.SubscriptionUpdatePauseCollectionParams{Behavior: stripe.String("void")}
		p.Metadata[paidUntil] = strconv.FormatInt(item.CurrentPeriodEnd, 10)
	default:
		p.AddUnsetField(stripe.SubscriptionUpdateParamsUnsetFieldPauseCollection)
		p.Metadata[paidUntil] = ""
		if !a.PaidUntil.IsZero() && item.CurrentPeriodStart >= a.PaidUntil.Unix() {
			p.BillingCycleAnchorNow, p.ProrationBehavior = stripe.Bool(true), stripe.String("none")
		}
	}
}

// resume begins the first period of a subscription whose trial ended without a payment method
// (https://docs.stripe.com/api/subscriptions/resume). If its invoice is not paid at once, the payer can pay it, as any
// other open invoice.
func (g *Gateway) resume(
	ctx context.Context, key string, s *stripe.Subscription,
) (payment.GatewaySubscription, error) {
	_, err := g.api.V1Subscriptions.Resume(ctx, s.ID, &stripe.SubscriptionResumeParams{
		Params: g.writeParams(key), BillingCycleAnchor: stripe.String("now"),
	})
	if err != nil && !isUnanswered(ctx, err) {
		return payment.GatewaySubscription{}, translate(err)
	}
	current, lookupErr := g.subscription(ctx, payment.SubscriptionID(s.ID))
	switch {
	case lookupErr != nil && err == nil:
		return payment.GatewaySubscription{}, afterEffect(translate(lookupErr))
	case lookupErr != nil, err != nil && current.Status == stripe.SubscriptionStatusPaused:
		return payment.GatewaySubscription{}, translate(err)
	}
	return mirrorSubscription(current), nil
}

// setReason adds to an update why the subscription is cancelled; nil leaves that as it is.
func setReason(p *stripe.SubscriptionUpdateParams, reason *payment.Cancellation) {
	if reason == nil {
		return
	}
	d := &stripe.SubscriptionUpdateCancellationDetailsParams{
		Feedback: optionalText(string(reason.Feedback)), Comment: optionalText(reason.Comment),
	}
	if d.Feedback == nil {
		d.AddUnsetField(stripe.SubscriptionUpdateCancellationDetailsParamsUnsetFieldFeedback)
	}
	if d.Comment == nil {
		d.AddUnsetField(stripe.SubscriptionUpdateCancellationDetailsParamsUnsetFieldComment)
	}
	p.CancellationDetails = d
}

// optionalText returns a text as a parameter; nil if it is empty.
func optionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
