package payments

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// verified returns plans, or other products, as they can be bought now. It reads the price of the wanted one from the
// gateway, where it may have changed.
func (s *Service) verified(
	callCtx context.Context, t Terms, plans payment.Plans, id payment.PlanID,
) (payment.Plans, error) {
	plan, err := plans.Find(id)
	if err != nil {
		return plans, nil // the caller reports what is unknown
	}
	current, err := callWithRetry(callCtx,
		func(ctx context.Context) (payment.Plans, error) { return t.Gateway.Prices(ctx, payment.Plans{*plan}) })
	if err != nil {
		return nil, err
	}
	return plans.Replace(current[0]), nil
}

// fresh returns a customer whose subscription was just read: what someone has changed at the gateway decides about a
// change, too.
func (s *Service) fresh(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (*payment.Customer, error) {
	if c.ID == "" || by.At.Sub(c.SubscriptionAt) < recently {
		return c, nil
	}
	r, err := s.refresh(ctx, callCtx, by, t, c, subscriptions)
	if c = r.customer; err != nil || c.LiveSubscription() == nil || c.DefaultMethod() != nil ||
		c.Subscription.Status != payment.Trialing {
		return c, err
	}
	r, err = s.refresh(ctx, callCtx, by, t, c, wallet) // a card may have been added, with which the trial can end
	return r.customer, err
}

// verifiedChange is verified for a change of c to another plan. As long as the plan stays, no price is sent.
func (s *Service) verifiedChange(
	callCtx context.Context, t Terms, c *payment.Customer, plan *payment.PlanID,
) (payment.Plans, error) {
	if plan == nil || c.Pending != nil || c.Subscription == nil || c.Subscription.Plan == *plan {
		return t.Plans, nil
	}
	return s.verified(callCtx, t, t.Plans, *plan)
}

// checkChange asks the gateway for what a change needs: whether the plan is sold at its price, a code's promotion, and
// whether the change still costs what its preview says.
func (s *Service) checkChange(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, ch payment.Changes,
) (payment.Changes, payment.Plans, error) {
	members, err := s.members(ctx, by, t)
	if err == nil {
		err = c.CheckSeats(ch, t.Plans, members)
	}
	if err != nil {
		return ch, nil, err
	}
	if ch.AddOns, err = s.verifiedAddOns(callCtx, t, ch.AddOns); err != nil {
		return ch, nil, err
	}
	plans, err := s.verifiedChange(callCtx, t, c, c.ChangedPlan(ch))
	if err != nil {
		return ch, nil, err
	}
	if ch, err = s.changeWithPromotion(ctx, callCtx, by, t, c, ch); err != nil || ch.Offer == nil {
		return ch, plans, err
	}
	return ch, plans, s.checkOffer(ctx, callCtx, by, t, c, ch, plans)
}
