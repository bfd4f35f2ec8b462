package stripe

import (
	"context"
	"maps"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/billing"
)

// amendedBy is the metadata key of someone else's schedule for the key of the call that changed it last. That of
// Atrium's own schedules is changedBy.
const amendedBy = "atrium_amended"

// schedule replaces the phases of the schedule of a subscription, which it creates if there is none. Stripe takes what
// a phase does not name as removed, so that each is restated whole
// (https://docs.stripe.com/billing/subscriptions/subscription-schedules/use-cases).
func (g *Gateway) schedule(
	ctx context.Context, key string, s *stripe.Subscription, a billing.Amendment, d billing.Difference,
) error {
	note := amendedBy
	if s.Schedule == nil {
		made, err := g.api.V1SubscriptionSchedules.Create(ctx,
			&stripe.SubscriptionScheduleCreateParams{Params: g.writeParams(key + "_schedule"), FromSubscription: &s.ID})
		if err != nil {
			return translate(err)
		}
		with := *s
		with.Schedule = made
		s = &with
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
	held := phasesLeft(s.Schedule)
	if len(held) == 0 {
		return &billing.Rejection{Reason: "the schedule has no phase"}
	}
	for n, phase := range d.Phases {
		p.Phases = append(p.Phases, restate(s, held[phase.Of], phase, n == 0))
		if n > 0 && d.Discount {
			setDiscount(p.Phases[n], s, a)
		}
	}
	_, err := g.api.V1SubscriptionSchedules.Update(ctx, s.Schedule.ID, p)
	return saleFailure(a.Promotion, err)
}

// restate returns a phase with the items that it is to have, and with all the rest of the phase that it comes from.
// What is taxed and deducted in the current phase is what the subscription says.
func restate(
	s *stripe.Subscription, from *stripe.SubscriptionSchedulePhase, to billing.Phase, current bool,
) *stripe.SubscriptionScheduleUpdatePhaseParams {
	p := furtherTerms(from)
	p.StartDate = stripe.Int64(to.Start.Unix())
	switch {
	case !to.End.IsZero():
		p.EndDate = stripe.Int64(to.End.Unix())
	default:
		p.Duration = &stripe.SubscriptionScheduleUpdatePhaseDurationParams{
			Interval:      stripe.String(string(to.Lasts.Interval)),
			IntervalCount: stripe.Int64(int64(to.Lasts.IntervalCount)),
		}
	}
	if current || to.End.IsZero() || to.Plan != "" {
		p.ProrationBehavior = stripe.String("none")
	}
	if to.Plan != "" {
		p.Metadata[planOf] = string(to.Plan)
	}
	terms := from.Items
	if to.Of == 0 { // the subscription may have changed since its phase began
		terms = subscriptionTerms(s)
		p.DefaultTaxRates = taxRates(s.DefaultTaxRates)
		p.Discounts = nil
		for _, d := range s.Discounts {
			p.Discounts = append(p.Discounts,
				&stripe.SubscriptionScheduleUpdatePhaseDiscountParams{Discount: stripe.String(d.ID)})
		}
	}
	if current {
		for _, i := range terms {
			p.Items = append(p.Items, phaseItem(i, priceOf(i), i.Quantity))
		}
		return p
	}
	for _, i := range to.Items {
		p.Items = append(p.Items, phaseItem(source(terms, to.Items, i), i.Rate.Ref, int64(i.Quantity)))
	}
	return p
}

// source returns the item of a phase that another one comes from: that with its price, else the one of its kind whose
// price is gone.
func source(
	from []*stripe.SubscriptionSchedulePhaseItem, to []billing.Item, item billing.Item,
) *stripe.SubscriptionSchedulePhaseItem {
	stays := map[string]bool{}
	for _, i := range to {
		stays[i.Rate.Ref] = true
	}
	var replaced *stripe.SubscriptionSchedulePhaseItem
	for _, i := range from {
		if priceOf(i) == item.Rate.Ref {
			return i
		}
		if !stays[priceOf(i)] && (i.Quantity == 0) == item.Metered {
			replaced = i
		}
	}
	return replaced
}

// subscriptionTerms returns the items of a subscription as those of a phase.
func subscriptionTerms(s *stripe.Subscription) (items []*stripe.SubscriptionSchedulePhaseItem) {
	for _, i := range s.Items.Data {
		item := &stripe.SubscriptionSchedulePhaseItem{
			Price: i.Price, Quantity: i.Quantity, TaxRates: i.TaxRates, Metadata: i.Metadata,
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
	from *stripe.SubscriptionSchedulePhaseItem, price string, quantity int64,
) *stripe.SubscriptionScheduleUpdatePhaseItemParams {
	p := &stripe.SubscriptionScheduleUpdatePhaseItemParams{Price: &price}
	if quantity != 0 {
		p.Quantity = &quantity
	}
	if from == nil {
		return p
	}
	p.TaxRates, p.Metadata = taxRates(from.TaxRates), from.Metadata
	for _, d := range from.Discounts {
		one := &stripe.SubscriptionScheduleUpdatePhaseItemDiscountParams{}
		switch {
		case d.Discount != nil:
			one.Discount = &d.Discount.ID
		case d.PromotionCode != nil:
			one.PromotionCode = &d.PromotionCode.ID
		case d.Coupon != nil:
			one.Coupon = &d.Coupon.ID
		}
		p.Discounts = append(p.Discounts, one)
	}
	return p
}

func taxRates(rates []*stripe.TaxRate) (ids []*string) {
	for _, r := range rates {
		ids = append(ids, &r.ID)
	}
	return ids
}

// furtherTerms returns the terms of a phase besides its items and times. Those that a phase does not have of its own
// are the schedule's default settings, which no call changes.
func furtherTerms(from *stripe.SubscriptionSchedulePhase) *stripe.SubscriptionScheduleUpdatePhaseParams {
	p := &stripe.SubscriptionScheduleUpdatePhaseParams{
		Description: optionalText(from.Description), DefaultTaxRates: taxRates(from.DefaultTaxRates),
		ProrationBehavior:  optionalText(string(from.ProrationBehavior)),
		BillingCycleAnchor: optionalText(string(from.BillingCycleAnchor)), Metadata: map[string]string{},
	}
	maps.Copy(p.Metadata, from.Metadata)
	for _, d := range from.Discounts {
		one := &stripe.SubscriptionScheduleUpdatePhaseDiscountParams{}
		switch {
		case d.Discount != nil:
			one.Discount = &d.Discount.ID
		case d.PromotionCode != nil:
			one.PromotionCode = &d.PromotionCode.ID
		case d.Coupon != nil:
			one.Coupon = &d.Coupon.ID
		}
		p.Discounts = append(p.Discounts, one)
	}
	if t := from.AutomaticTax; t != nil {
		p.AutomaticTax = &stripe.SubscriptionScheduleUpdatePhaseAutomaticTaxParams{Enabled: &t.Enabled}
	}
	if from.ApplicationFeePercent != 0 {
		p.ApplicationFeePercent = &from.ApplicationFeePercent
	}
	if m := from.CollectionMethod; m != nil {
		p.CollectionMethod = stripe.String(string(*m))
	}
	if m := from.DefaultPaymentMethod; m != nil {
		p.DefaultPaymentMethod = &m.ID
	}
	if i := from.InvoiceSettings; i != nil && i.DaysUntilDue != 0 {
		p.InvoiceSettings = &stripe.SubscriptionScheduleUpdatePhaseInvoiceSettingsParams{DaysUntilDue: &i.DaysUntilDue}
	}
	if o := from.OnBehalfOf; o != nil {
		p.OnBehalfOf = &o.ID
	}
	if t := from.TransferData; t != nil && t.Destination != nil {
		p.TransferData = &stripe.SubscriptionTransferDataParams{Destination: &t.Destination.ID}
		if t.AmountPercent != 0 {
			p.TransferData.AmountPercent = &t.AmountPercent
		}
	}
	if from.TrialEnd != 0 {
		p.TrialEnd = &from.TrialEnd
	}
	return p
}

// setDiscount gives a later phase the discount of an amendment: the code, if it begins with the phase, else what the
// subscription has of it.
func setDiscount(p *stripe.SubscriptionScheduleUpdatePhaseParams, s *stripe.Subscription, a billing.Amendment) {
	p.Discounts = nil
	if a.AtRenewal {
		p.Discounts = []*stripe.SubscriptionScheduleUpdatePhaseDiscountParams{
			{PromotionCode: stripe.String(string(a.Promotion.ID))},
		}
		p.Metadata[codeOf] = a.Promotion.Code
		return
	}
	for _, d := range s.Discounts {
		p.Discounts = append(p.Discounts,
			&stripe.SubscriptionScheduleUpdatePhaseDiscountParams{Discount: stripe.String(d.ID)})
	}
}
