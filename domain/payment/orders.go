package payment

import (
	"slices"
	"time"
)

// SubscribeRequest is a caller's request for a subscription.
type SubscribeRequest struct {
	Plan     PlanID
	Method   MethodID // "" for the default
	Quantity int      // 1 to 10000; 0 asks for what Members need
	Members  int64    // of the workspace, if a plan has a seat for each
	Currency string   // "" for the plan's own

	AutomaticTax bool // whether the org charges tax automatically

	Code      string     // a promotion code; "" for none
	Promotion *Promotion // that the gateway has for Code, if UsesCode

	AddOns []AddOnOrder // beside the plan

	NoTrial bool       // pays from the beginning
	Ended   time.Time  // the CheckoutUntil of the checkout pages that were ended for this request
	Trials  TrialRules // of the org
	Debt    InvoiceID  // of Customer.Debt

	Adjustment *Adjustment // by an operator; nil if the workspace asks
}

// Order returns the request to the gateway for a Subscribe.
func (o *Operation) Order(p Plan) Order {
	return Order{
		Plan: p, Quantity: o.Quantity, Method: o.Method, TrialDays: o.TrialDays, TrialEnd: o.TrialEnd,
		AutomaticTax: o.AutomaticTax,
		Promotion:    o.Promotion, AddOns: o.AddOns,
	}
}

// Amendment returns the request to the gateway for a Change.
func (o *Operation) Amendment(p Plan) Amendment {
	quantity := o.Quantity
	if o.KeepQuantity {
		quantity = 0
	}
	return Amendment{Item: o.Item, Plan: p, Quantity: quantity, Meter: o.Meter, AtRenewal: o.AtRenewal,
		Resell: o.Resell, CancelAtPeriodEnd: o.CancelAtPeriodEnd, ProrateAt: o.ProrateAt, Promotion: o.Promotion,
		AddOns: o.AddOns, EndTrial: o.EndTrial, TrialUntil: o.TrialUntil, Pause: o.Pause, PaidUntil: o.PaidUntil,
		Cancellation: o.Cancellation}
}

// price decides when a change of plan or quantity takes effect, and which price it sends: another plan's. As
// long as the plan stays, so does the price that is paid.
func (c *Customer) price(op *Operation, plans Plans) error {
	s := c.Subscription
	rate := s.Item.Rate
	current, err := plans.Find(s.Plan)
	if rate == (Rate{}) && err == nil { // of a mirror that has not stored it
		rate = current.rate()
	}
	next := rate
	if op.Plan != s.Plan {
		plan, err := plans.buyable(op.Plan)
		if err != nil {
			return err
		}
		if current != nil && current.ByTransfer() != plan.ByTransfer() {
			return ErrPlanUnavailable.Because("The plan is paid in another way than the subscription: by transfer, " +
				"or by a payment method. End the subscription, then begin another one.")
		}
		if priced, err := plan.PricedIn(rate.Price.Currency); err == nil { // otherwise the currencies differ
			plan = priced
		}
		op.Sold, next = plan.snapshot(), plan.rate()
		if op.Meter = s.Item.Meter; op.Meter == "" && current != nil && current.Metered != nil {
			op.Meter = current.Metered.PriceRef
		}
	}
	if rate == (Rate{}) { // it cannot be compared: the change takes effect at once
		return nil
	}
	if rate.Price.Currency != next.Price.Currency {
		return ErrPlanUnavailable.Because("The plan is sold in another currency than the subscription. End the " +
			"subscription, then begin another one.")
	}
	hasOthers := slices.ContainsFunc(s.Items, func(i Item) bool {
		return i.ID != s.Item.ID && !i.Metered && !i.Rate.samePeriod(next)
	})
	if op.Sold != nil && hasOthers {
		return ErrPlanUnavailable.Because("The subscription has add-ons with another period than the plan. Remove " +
			"them first.")
	}
	isShorter := next.length() < rate.length() ||
		next.Price.Amount*int64(op.Quantity) < rate.Price.Amount*int64(s.Quantity)
	op.AtRenewal = (isShorter || op.remeters(current, rate)) && s.Status != Trialing
	return nil
}

// remeters reports whether a change of the current plan, nil if it is no longer configured, ends the metered price at
// which the subscription is billed. Stripe bills no usage before such a change
// (https://docs.stripe.com/billing/subscriptions/usage-based/manage-billing-setup), so that it waits for the renewal.
// Another period than the period of rate, which is paid now, does, too: it would begin at once, and the usage before it
// would not be billed.
func (o *Operation) remeters(current *Plan, rate Rate) bool {
	// A gateway without a catalog of prices has no references to them.
	isConfigured := current != nil && current.Metered != nil && current.Metered.PriceRef == o.Meter
	if o.Sold == nil || (o.Meter == "" && !isConfigured) {
		return false
	}
	m := o.Sold.Metered
	return m == nil || m.PriceRef != o.Meter || (isConfigured && *m != *current.Metered) ||
		!o.Sold.rate().samePeriod(rate)
}
