package stripe

import (
	"context"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Amend implements ports.GatewaySubscriptions: it reads the subscription, and sends what payment.Difference says. First
// what can be declined, so that nothing else has changed then; a schedule does not prevent that
// (https://docs.stripe.com/billing/subscriptions/subscription-schedules). Then the schedule, and then the end, which
// cannot be set while there is a schedule (https://github.com/laravel/cashier-stripe/issues/1748).
func (g *Gateway) Amend(ctx context.Context, key string, _ payment.CustomerID, id payment.SubscriptionID,
	a payment.Amendment) (payment.GatewaySubscription, error) {
	s, err := g.subscription(ctx, id)
	if err != nil {
		return payment.GatewaySubscription{}, translate(err)
	}
	if s, err = g.dropUpdate(ctx, key, s); err != nil { // it may just have been paid, and so applied
		return payment.GatewaySubscription{}, err
	}
	if s.Status == stripe.SubscriptionStatusPaused && a.Pause != nil && !*a.Pause {
		return g.resume(ctx, key, s)
	}
	h := mirrorSubscription(s)
	d, err := h.Difference(a)
	if err != nil {
		return payment.GatewaySubscription{}, err
	}
	isChanged := s.Metadata[changedBy] == key
	if g.changeNow(key, s, a, d) != nil && !isChanged {
		var previous *stripe.Subscription
		previous, s, err = g.sendNow(ctx, key, s, a, d)
		if wantsPayer(err) && canWait(previous, a) {
			h, err := g.updateWithPayer(ctx, key, previous, a, d)
			return h, afterEffect(err)
		}
		if err != nil {
			return payment.GatewaySubscription{}, saleFailure(a.Promotion, err)
		}
		isChanged = true
		if s.Schedule == nil {
			d.End = nil
		}
	}
	target, err := g.changeLater(ctx, key, s, a, d)
	if isRefused(err) && isChanged {
		// What has been charged stays, and so does the schedule.
		target, err = g.subscription(ctx, id)
		err = translate(err)
	}
	switch {
	case err != nil && isChanged && !payment.OutcomeUnknown(err): // what was charged is no part of this refusal
		return payment.GatewaySubscription{}, &payment.UnsettledError{Refusal: err.Error()}
	case err != nil:
		return payment.GatewaySubscription{}, err
	}
	return mirrorSubscription(target), nil
}

// sendNow makes what changes at once. It returns the subscription before, with the schedule that was left, and after
// the change. A schedule of Atrium's own is released only if it is in the way: a change that is declined leaves it.
func (g *Gateway) sendNow(
	ctx context.Context, key string, s *stripe.Subscription, a payment.Amendment, d payment.Difference,
) (previous, current *stripe.Subscription, err error) {
	if mirrorSchedule(s.Schedule).Idle() { // which a pending update and a new anchor would not go with
		if s, err = g.released(ctx, key, s); err != nil {
			return nil, nil, err
		}
	}
	current, err = g.update(ctx, key, s, g.changeNow(key, s, a, d))
	if isRefused(translate(err)) && s.Schedule != nil && d.Restarts && d.Release { // its phases have the old period
		if s, err = g.released(ctx, key, s); err != nil {
			return nil, nil, err
		}
		current, err = g.update(ctx, key, s, g.changeNow(key, s, a, d))
	}
	return s, current, err
}

// canWait reports whether a change can wait for the payer as a pending update, which takes no other changes
// (https://docs.stripe.com/billing/subscriptions/pending-updates-reference).
func canWait(s *stripe.Subscription, a payment.Amendment) bool {
	return s.Schedule == nil && a.CancelAtPeriodEnd == nil && a.Promotion == nil && a.Pause == nil
}

// changeNow returns the parameters of what changes at once; nil if nothing does. The end of a subscription with a
// schedule is not among them.
func (g *Gateway) changeNow(
	key string, s *stripe.Subscription, a payment.Amendment, d payment.Difference,
) *stripe.SubscriptionUpdateParams {
	p := &stripe.SubscriptionUpdateParams{
		Params: g.writeParams(key), Expand: subscriptionExpansions(""), Metadata: map[string]string{changedBy: key},
		PaymentBehavior: stripe.String("error_if_incomplete"), // without a charge there is no change
	}
	if s.Schedule != nil { // a refusal because of it is stored under the key
		p.SetIdempotencyKey(key + "_" + s.Schedule.ID)
	}
	nothing := true
	if len(d.Items) > 0 && !d.AtRenewal {
		p.Items, nothing = updateItems(d.Items), false
		p.ProrationBehavior, p.ProrationDate = stripe.String("always_invoice"), prorationDate(a)
		if a.Plan.ID != "" {
			p.Metadata[planOf], p.Metadata[planRefOf] = string(a.Plan.ID), a.Plan.PriceRef
		}
	}
	if d.EndsTrial {
		// https://docs.stripe.com/billing/subscriptions/trials#change-the-trial-end-date
		p.TrialEndNow, p.ProrationBehavior, p.ProrationDate = stripe.Bool(true), stripe.String("always_invoice"), nil
		nothing = false
	}
	if !a.TrialUntil.IsZero() { // https://docs.stripe.com/billing/subscriptions/trials#change-the-trial-end-date
		p.TrialEnd, p.ProrationBehavior = stripe.Int64(a.TrialUntil.Unix()), stripe.String("none")
		nothing = false
	}
	if a.Promotion != nil && !d.AtRenewal {
		code, coupon := appliedBy(a.Promotion)
		p.Discounts = []*stripe.SubscriptionUpdateDiscountParams{{PromotionCode: code, Coupon: coupon}}
		p.Metadata[codeOf], nothing = a.Promotion.Code, false
	}
	if a.Pause != nil {
		pause(p, planItem(s, a), a)
		nothing = false
	}
	if d.End != nil && s.Schedule == nil {
		setEnd(p, s, *d.End)
		nothing = false
	}
	if a.Cancellation != nil {
		setReason(p, a.Cancellation)
		nothing = false
	}
	if nothing {
		return nil
	}
	return p
}

// setEnd makes a subscription end with its period, or go on. The customer portal sets cancel_at instead of
// cancel_at_period_end in flexible billing (https://docs.stripe.com/billing/subscriptions/billing-mode/compare).
func setEnd(p *stripe.SubscriptionUpdateParams, s *stripe.Subscription, ends bool) {
	if !ends && !s.CancelAtPeriodEnd {
		p.AddUnsetField(stripe.SubscriptionUpdateParamsUnsetFieldCancelAt)
		return
	}
	p.CancelAtPeriodEnd = &ends
}

// update changes a subscription. If it gets no answer, it looks whether the change was made.
func (g *Gateway) update(
	ctx context.Context, key string, s *stripe.Subscription, p *stripe.SubscriptionUpdateParams,
) (*stripe.Subscription, error) {
	updated, err := g.api.V1Subscriptions.Update(ctx, s.ID, p)
	if isUnanswered(ctx, err) {
		if current, lookupErr := g.subscription(ctx, payment.SubscriptionID(s.ID)); lookupErr == nil &&
			current.Metadata[changedBy] == key {
			return current, nil
		}
	}
	return updated, err
}

// changeLater changes a subscription's schedule, and then its end, and returns it as it is then.
func (g *Gateway) changeLater(
	ctx context.Context, key string, s *stripe.Subscription, a payment.Amendment, d payment.Difference,
) (*stripe.Subscription, error) {
	switch {
	case d.Phases != nil:
		if err := g.schedule(ctx, key, s, a, d); err != nil {
			return nil, err
		}
	case d.Release && s.Schedule != nil:
		if _, err := g.released(ctx, key, s); err != nil {
			return nil, translate(err)
		}
	case d.End == nil && !endsTwice(s, a):
		return s, nil
	}
	if d.End != nil || endsTwice(s, a) {
		p := &stripe.SubscriptionUpdateParams{Params: g.writeParams(key + "_end")}
		setEnd(p, s, *a.CancelAtPeriodEnd)
		if _, err := g.api.V1Subscriptions.Update(ctx, s.ID, p); err != nil {
			return nil, afterEffect(translate(err))
		}
	}
	current, err := g.subscription(ctx, payment.SubscriptionID(s.ID))
	return current, afterEffect(translate(err))
}

// released ends a subscription's schedule, and returns the subscription, which stays as it is.
func (g *Gateway) released(ctx context.Context, key string, s *stripe.Subscription) (*stripe.Subscription, error) {
	_, err := g.api.V1SubscriptionSchedules.Release(ctx, s.Schedule.ID,
		&stripe.SubscriptionScheduleReleaseParams{Params: g.writeParams(key + "_release")})
	if err != nil {
		return nil, err
	}
	plain := *s
	plain.Schedule = nil
	return &plain, nil
}

// endsTwice reports whether the end that was undone by one field is left in the other one.
func endsTwice(s *stripe.Subscription, a payment.Amendment) bool {
	return a.Undoes() && s.Schedule == nil && endsWithPeriod(s, planItem(s, a))
}

func (g *Gateway) subscription(ctx context.Context, id payment.SubscriptionID) (*stripe.Subscription, error) {
	return g.api.V1Subscriptions.Retrieve(ctx, string(id),
		&stripe.SubscriptionRetrieveParams{Params: g.readParams(), Expand: subscriptionExpansions("")})
}
