package stripe

import (
	"slices"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// mirrorItems returns a subscription's items.
func mirrorItems(s *stripe.Subscription) (items []payment.Item) {
	if s.Items == nil {
		return nil
	}
	for _, i := range s.Items.Data {
		items = append(items, payment.Item{
			ID: payment.ItemID(i.ID), Rate: mirrorRate(i.Price, s.Currency), Quantity: int(i.Quantity),
			Metered:     isMetered(i.Price),
			PeriodStart: fromSeconds(i.CurrentPeriodStart), PeriodEnd: fromSeconds(i.CurrentPeriodEnd),
		})
	}
	return items
}

// mirrorRate returns what a price costs in a subscription's currency, which can be one of its options
// (https://docs.stripe.com/payments/currencies/localize-prices/manual-currency-prices).
func mirrorRate(p *stripe.Price, currency stripe.Currency) payment.Rate {
	if p == nil {
		return payment.Rate{}
	}
	rate := payment.Rate{Ref: p.ID, Price: payment.Money{Amount: p.UnitAmount, Currency: string(p.Currency)}}
	if currency != "" && currency != p.Currency {
		rate.Price = payment.Money{Currency: string(currency)}
		if option := p.CurrencyOptions[string(currency)]; option != nil {
			rate.Price.Amount = option.UnitAmount
		}
	}
	if r := p.Recurring; r != nil {
		rate.Interval, rate.IntervalCount = payment.Interval(r.Interval), int(r.IntervalCount)
	}
	return rate
}

// planItem returns the item that an amendment changes. payment.Difference has found that there is one.
func planItem(s *stripe.Subscription, a payment.Amendment) *stripe.SubscriptionItem {
	n := slices.IndexFunc(s.Items.Data, func(i *stripe.SubscriptionItem) bool {
		return i.ID == string(a.Item) || (a.Item == "" && !isMetered(i.Price))
	})
	return s.Items.Data[n]
}

// updateItems returns changes of items as parameters. Stripe leaves items alone that an update does not name, or names
// by their ids only (https://docs.stripe.com/api/subscriptions/update#update_subscription-items).
func updateItems(changes []payment.ItemChange) (items []*stripe.SubscriptionUpdateItemParams) {
	for _, c := range changes {
		i := &stripe.SubscriptionUpdateItemParams{ID: optionalText(string(c.ID)), Price: optionalText(c.Ref)}
		if c.Quantity != 0 {
			i.Quantity = stripe.Int64(int64(c.Quantity))
		}
		if c.Deleted {
			i.Deleted = stripe.Bool(true)
		}
		items = append(items, i)
	}
	return items
}

// mirrorSchedule returns what a subscription's schedule changes, or nil.
func mirrorSchedule(c *stripe.SubscriptionSchedule) *payment.Schedule {
	if c == nil {
		return nil
	}
	out := &payment.Schedule{Ends: c.EndBehavior == stripe.SubscriptionScheduleEndBehaviorCancel}
	for _, p := range phasesLeft(c) {
		phase := payment.Phase{
			Start: fromSeconds(p.StartDate), End: fromSeconds(p.EndDate), Plan: payment.PlanID(p.Metadata[planOf]),
			PlanRef: p.Metadata[planRefOf],
		}
		for _, i := range p.Items { // whose prices Stripe only names; metered ones have no quantity
			phase.Items = append(phase.Items, payment.Item{
				Rate: payment.Rate{Ref: priceOf(i)}, Quantity: int(i.Quantity), Metered: i.Quantity == 0,
			})
		}
		out.Phases = append(out.Phases, phase)
	}
	if len(out.Phases) == 0 {
		return nil
	}
	out.Own = c.Metadata[changedBy] != "" || out.Idle()
	return out
}

// phasesLeft returns a schedule's phases from the current one on.
func phasesLeft(c *stripe.SubscriptionSchedule) []*stripe.SubscriptionSchedulePhase {
	current := c.CurrentPhase
	return slices.DeleteFunc(slices.Clone(c.Phases), func(p *stripe.SubscriptionSchedulePhase) bool {
		return current != nil && p.StartDate < current.StartDate
	})
}

func priceOf(i *stripe.SubscriptionSchedulePhaseItem) string {
	if i.Price == nil {
		return ""
	}
	return i.Price.ID
}
