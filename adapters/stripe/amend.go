package stripe

import (
	"context"
	"errors"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/billing"
)

// Amend implements ports.GatewaySubscriptions. A change at the end of the period is a subscription schedule at
// Stripe. Amend releases it before any other change: while a schedule exists, it controls the subscription, and
// the end of the subscription cannot be set directly. So Amend sets the end before it creates a schedule.
func (g *Gateway) Amend(ctx context.Context, key string, _ billing.CustomerID, id billing.SubscriptionID,
	a billing.Amendment) (billing.GatewaySubscription, error) {
	s, err := g.subscription(ctx, id)
	if err != nil {
		return billing.GatewaySubscription{}, translate(err)
	}
	if s, err = g.dropUpdate(ctx, key, s); err != nil {
		return billing.GatewaySubscription{}, err
	}
	item := planItem(s) // only now: the update may just have been paid, and so applied
	if item == nil || item.Price == nil {
		return billing.GatewaySubscription{}, &billing.Rejection{Reason: "the subscription has no item"}
	}
	later := a.Resell && a.AtRenewal
	if now := !later || a.CancelAtPeriodEnd != nil; now && s.Metadata[changedBy] != key {
		if a.Resell && !later && s.Status == stripe.SubscriptionStatusPastDue && !hasTerms(s, a) {
			return billing.GatewaySubscription{}, billing.ErrRenewalUnpaid // the mirror did not know it yet
		}
		before := *s
		s, err = g.update(ctx, key, s, item, a)
		if wantsPayer(err) && a.Keep == nil && a.CancelAtPeriodEnd == nil && a.Promotion == nil &&
			a.Pause == nil {
			h, err := g.updateWithPayer(ctx, key, &before, item, a)
			return h, afterEffect(err)
		}
		if err != nil {
			return billing.GatewaySubscription{}, g.keep(ctx, key, &before, item, a, saleFailure(a.Promotion, err))
		}
	}
	if !later {
		return mirrorSubscription(s), nil
	}
	if err := g.schedule(ctx, key, s, item, a); err != nil {
		return billing.GatewaySubscription{}, afterEffect(err)
	}
	now, err := g.readNow(ctx, id)
	return now, afterEffect(err)
}

// kept is the suffix of the key for the schedule that replaces one that was released for a declined change.
const kept = "_keep"

// keep restores the scheduled change that a declined change was to replace. It returns the reason of the decline, or
// its own error; then the whole change is repeated.
func (g *Gateway) keep(ctx context.Context, key string, s *stripe.Subscription, item *stripe.SubscriptionItem,
	a billing.Amendment, declined error) error {
	if a.Keep == nil || !errors.Is(declined, billing.ErrCardDeclined) &&
		!errors.Is(declined, billing.ErrPromotionInvalid) && !billing.NoEffect(declined) {
		return declined
	}
	again := billing.Amendment{Plan: a.Keep.Plan, Quantity: a.Keep.Quantity, Promotion: comingPromotion(s.Schedule)}
	if s.Schedule != nil && !keeps(s.Schedule, key, a) {
		s.Schedule = nil // it was released
	}
	if err := g.schedule(ctx, key+kept, s, item, again); err != nil {
		if billing.OutcomeUnknown(err) {
			return err
		}
		return &billing.UnsettledError{Refusal: err.Error()}
	}
	return declined
}

// keeps reports whether a schedule is the one that keep has created in an earlier attempt. If that attempt ended before
// the change was scheduled again, the schedule has only the phase of the current period, and no metadata.
func keeps(c *stripe.SubscriptionSchedule, key string, a billing.Amendment) bool {
	return c.Metadata[changedBy] == key+kept || a.Keep != nil && len(c.Phases) == 1
}

// update changes a subscription at once.
func (g *Gateway) update(ctx context.Context, key string, s *stripe.Subscription, item *stripe.SubscriptionItem,
	a billing.Amendment) (*stripe.Subscription, error) {
	if s.Schedule != nil && !keeps(s.Schedule, key, a) {
		_, err := g.api.V1SubscriptionSchedules.Release(ctx, s.Schedule.ID,
			&stripe.SubscriptionScheduleReleaseParams{Params: g.writeParams(key + "_release")})
		if err != nil {
			return nil, err
		}
	}
	p := &stripe.SubscriptionUpdateParams{
		Params: g.writeParams(key), Expand: subscriptionExpansions(""), CancelAtPeriodEnd: a.CancelAtPeriodEnd,
		Metadata:        map[string]string{changedBy: key},
		PaymentBehavior: stripe.String("error_if_incomplete"), // without a charge there is no change
	}
	if a.Resell && !a.AtRenewal {
		p.Items = changedItems(s, item, a)
		p.ProrationBehavior, p.ProrationDate = stripe.String("always_invoice"), prorationDate(a)
		p.Metadata[planOf] = string(a.Plan.ID)
	}
	if p0 := a.Promotion; p0 != nil && !(a.Resell && a.AtRenewal) {
		p.Discounts = []*stripe.SubscriptionUpdateDiscountParams{{PromotionCode: stripe.String(string(p0.ID))}}
		p.Metadata[codeOf] = p0.Code
	}
	pause(p, item, a)
	setReason(p, a.Cancellation)
	changed, err := g.api.V1Subscriptions.Update(ctx, s.ID, p)
	if isUnanswered(ctx, err) {
		if now, looked := g.subscription(ctx, billing.SubscriptionID(s.ID)); looked == nil &&
			now.Metadata[changedBy] == key {
			return now, nil
		}
	}
	return changed, err
}

func (g *Gateway) subscription(ctx context.Context, id billing.SubscriptionID) (*stripe.Subscription, error) {
	return g.api.V1Subscriptions.Retrieve(ctx, string(id),
		&stripe.SubscriptionRetrieveParams{Params: g.readParams(), Expand: subscriptionExpansions("")})
}

func (g *Gateway) readNow(ctx context.Context, id billing.SubscriptionID) (billing.GatewaySubscription, error) {
	s, err := g.subscription(ctx, id)
	if err != nil {
		return billing.GatewaySubscription{}, translate(err)
	}
	return mirrorSubscription(s), nil
}

// schedule changes a subscription at the end of its period. The schedule has a phase with the current terms until then,
// and one with the new terms. After that the subscription continues without a schedule.
func (g *Gateway) schedule(ctx context.Context, key string, s *stripe.Subscription, item *stripe.SubscriptionItem,
	a billing.Amendment) error {
	schedule := s.Schedule
	if schedule == nil {
		made, err := g.api.V1SubscriptionSchedules.Create(ctx,
			&stripe.SubscriptionScheduleCreateParams{Params: g.writeParams(key + "_schedule"), FromSubscription: &s.ID})
		if err != nil {
			return translate(err)
		}
		schedule = made
	}
	if schedule.Metadata[changedBy] == key {
		return nil
	}
	start := item.CurrentPeriodStart
	if schedule.CurrentPhase != nil { // which cannot be moved
		start = schedule.CurrentPhase.StartDate
	}
	_, err := g.api.V1SubscriptionSchedules.Update(ctx, schedule.ID, &stripe.SubscriptionScheduleUpdateParams{
		Params: g.writeParams(key + "_phases"), EndBehavior: stripe.String("release"),
		ProrationBehavior: stripe.String("none"), Metadata: map[string]string{changedBy: key},
		Phases: []*stripe.SubscriptionScheduleUpdatePhaseParams{
			{
				Items:     phaseItems(item.Price.ID, item.Quantity, soldMeter(s)),
				StartDate: &start, EndDate: &item.CurrentPeriodEnd, ProrationBehavior: stripe.String("none"),
				Discounts: phaseDiscounts(s, nil),
			},
			{
				Items:     phaseItems(a.Plan.PriceRef, int64(a.Quantity), a.Plan.Metered),
				StartDate: &item.CurrentPeriodEnd, ProrationBehavior: stripe.String("none"),
				Metadata: phaseMetadata(a), Discounts: phaseDiscounts(s, a.Promotion),
				Duration: &stripe.SubscriptionScheduleUpdatePhaseDurationParams{
					Interval:      stripe.String(string(a.Plan.Interval)),
					IntervalCount: stripe.Int64(int64(a.Plan.IntervalCount)),
				},
			},
		},
	})
	return saleFailure(a.Promotion, err)
}
