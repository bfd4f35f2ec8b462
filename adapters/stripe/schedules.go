package stripe

import (
	"context"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// amendedBy is the metadata key of someone else's schedule for the key of the call that changed it last. Atrium's own
// schedules have changedBy.
const amendedBy = "atrium_amended"

// schedule replaces the phases in a subscription's schedule, which it creates if needed. Stripe takes what a phase does
// not name as removed, so that each is restated whole
// (https://docs.stripe.com/billing/subscriptions/subscription-schedules/use-cases).
func (g *Gateway) schedule(
	ctx context.Context, key string, s *stripe.Subscription, a payment.Amendment, d payment.Difference,
) error {
	note := amendedBy
	if s.Schedule == nil {
		schedule, err := g.api.V1SubscriptionSchedules.Create(ctx,
			&stripe.SubscriptionScheduleCreateParams{Params: g.writeParams(key + "_schedule"), FromSubscription: &s.ID})
		if err != nil {
			return translate(err)
		}
		next := *s
		next.Schedule = schedule
		s = &next
		h := mirrorSubscription(s) // its current phase may begin before the period
		if d, err = h.Difference(a); err != nil {
			return err
		}
	}
	if m := mirrorSchedule(s.Schedule); m != nil && m.Own {
		note = changedBy
	}
	if s.Schedule.Metadata[note] == key {
		return nil
	}
	p := &stripe.SubscriptionScheduleUpdateParams{
		Params: g.writeParams(key + "_phases"), EndBehavior: stripe.String("release"),
		ProrationBehavior: stripe.String("none"), Metadata: map[string]string{note: key},
	}
	if d.Ends {
		p.EndBehavior = stripe.String("cancel")
	}
	phases := phasesLeft(s.Schedule)
	if len(phases) == 0 {
		return &payment.Rejection{Reason: "the schedule has no phase"}
	}
	for n, phase := range d.Phases {
		p.Phases = append(p.Phases, restate(s, phases[phase.Of], phase, n == 0))
		if n > 0 && d.Discount {
			setDiscount(p.Phases[n], s, a)
		}
	}
	_, err := g.api.V1SubscriptionSchedules.Update(ctx, s.Schedule.ID, p)
	return saleFailure(a.Promotion, err)
}

// restate returns a phase with the items that it is to have, and with all the rest of the phase that it comes from.
// What is taxed, deducted and charged in the current phase is what the subscription says.
func restate(
	s *stripe.Subscription, phase *stripe.SubscriptionSchedulePhase, target payment.Phase, current bool,
) *stripe.SubscriptionScheduleUpdatePhaseParams {
	p := furtherTerms(phase, target, current)
	if current || target.End.IsZero() || target.Plan != "" {
		p.ProrationBehavior = stripe.String("none")
	}
	if target.Plan != "" {
		p.Metadata[planOf] = string(target.Plan)
	}
	if target.PlanRef != "" {
		p.Metadata[planRefOf] = target.PlanRef
	}
	terms := phase.Items
	if target.Of == 0 { // the subscription may have changed since its phase began
		terms = subscriptionTerms(s)
		p.DefaultTaxRates = taxRates(s.DefaultTaxRates)
		p.Discounts = subscriptionDiscounts(s)
		if p.DefaultPaymentMethod != nil {
			if p.DefaultPaymentMethod = nil; s.DefaultPaymentMethod != nil {
				p.DefaultPaymentMethod = &s.DefaultPaymentMethod.ID
			}
		}
	}
	if current {
		for _, i := range terms {
			p.Items = append(p.Items, phaseItem(i, priceOf(i), i.Quantity))
		}
		return p
	}
	for _, i := range target.Items {
		p.Items = append(p.Items, phaseItem(source(terms, target.Items, i), i.Rate.Ref, int64(i.Quantity)))
	}
	return p
}

// source returns the phase item that another one comes from: that with its price, else the one of its kind whose price
// is gone.
func source(
	terms []*stripe.SubscriptionSchedulePhaseItem, items []payment.Item, item payment.Item,
) *stripe.SubscriptionSchedulePhaseItem {
	stays := map[string]bool{}
	for _, i := range items {
		stays[i.Rate.Ref] = true
	}
	var replacement *stripe.SubscriptionSchedulePhaseItem
	for _, i := range terms {
		if priceOf(i) == item.Rate.Ref {
			return i
		}
		if !stays[priceOf(i)] && (i.Quantity == 0) == item.Metered {
			replacement = i
		}
	}
	return replacement
}

// subscriptionTerms returns a subscription's items as a phase's items.
func subscriptionTerms(s *stripe.Subscription) (items []*stripe.SubscriptionSchedulePhaseItem) {
	for _, i := range s.Items.Data {
		item := &stripe.SubscriptionSchedulePhaseItem{
			Price: i.Price, Quantity: i.Quantity, TaxRates: i.TaxRates, Metadata: i.Metadata,
			BillingThresholds: (*stripe.SubscriptionSchedulePhaseItemBillingThresholds)(i.BillingThresholds),
		}
		for _, d := range i.Discounts {
			item.Discounts = append(item.Discounts, &stripe.SubscriptionSchedulePhaseItemDiscount{Discount: d})
		}
		items = append(items, item)
	}
	return items
}

// phaseItem returns an item with a price and a quantity, and the further terms of another one; nil for none.
func phaseItem(
	terms *stripe.SubscriptionSchedulePhaseItem, price string, quantity int64,
) *stripe.SubscriptionScheduleUpdatePhaseItemParams {
	p := &stripe.SubscriptionScheduleUpdatePhaseItemParams{}
	if terms != nil {
		restateFields(p, terms)
	}
	p.Plan, p.Price, p.Quantity = nil, &price, nil // a plan is a price's old name
	if quantity != 0 {
		p.Quantity = &quantity
	}
	return p
}

func taxRates(rates []*stripe.TaxRate) (ids []*string) {
	for _, r := range rates {
		ids = append(ids, &r.ID)
	}
	return ids
}

// subscriptionDiscounts returns the discounts that a subscription has, as a phase's discounts.
func subscriptionDiscounts(s *stripe.Subscription) (p []*stripe.SubscriptionScheduleUpdatePhaseDiscountParams) {
	for _, d := range s.Discounts {
		p = append(p, &stripe.SubscriptionScheduleUpdatePhaseDiscountParams{Discount: stripe.String(d.ID)})
	}
	return p
}

// setDiscount gives a later phase an amendment's discount: the code, if it begins with the phase, else what the
// subscription has of it.
func setDiscount(p *stripe.SubscriptionScheduleUpdatePhaseParams, s *stripe.Subscription, a payment.Amendment) {
	if a.AtRenewal {
		code, coupon := appliedBy(a.Promotion)
		p.Discounts = []*stripe.SubscriptionScheduleUpdatePhaseDiscountParams{{PromotionCode: code, Coupon: coupon}}
		p.Metadata[codeOf] = a.Promotion.Code
		return
	}
	p.Discounts = subscriptionDiscounts(s)
}
