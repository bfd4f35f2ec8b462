package stripesim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Dashboard does what people do in Stripe's dashboard, and what a payer's browser does with test cards. What fails is
// reported to Failed.
type Dashboard struct {
	Simulator *Simulator
	Failed    func(error)
}

// change changes a customer's objects.
func (d *Dashboard) change(id string, act func(*account)) {
	d.report(d.Simulator.change(context.Background(), CustomerOf(id), func(a *account) error {
		if len(a.customers) == 0 {
			return fmt.Errorf("there is no customer of %s", id)
		}
		act(a)
		return nil
	}))
}

// edit changes a subscription.
func (d *Dashboard) edit(id string, change func(*account, *subscription)) {
	d.change(id, func(a *account) { change(a, a.subscription(id)) })
}

// Advance moves the account's clock forward.
func (d *Dashboard) Advance(by time.Duration) {
	_, _, err := d.Simulator.AdvanceAll(context.Background(), by)
	d.report(err)
}

// AddCard adds the test card with these last four digits to a customer, without authentication, and returns the payment
// method.
func (d *Dashboard) AddCard(customer, last4 string) (id string) {
	d.change(customer, func(a *account) {
		m, err := a.newMethod(TestCard(last4))
		if err != nil {
			d.Failed(fmt.Errorf("the test card %s: %w", last4, err))
			return
		}
		a.attach(m)
		id = m.ID
	})
	return id
}

// Expire makes a card expired.
func (d *Dashboard) Expire(method string) {
	d.change(method, func(a *account) { a.method(method).ExpYear = a.now().Year() - 1 })
}

// Delete deletes a customer: its subscriptions end (https://docs.stripe.com/api/customers/delete).
func (d *Dashboard) Delete(customer string) {
	d.change(customer, func(a *account) {
		for _, u := range a.subscriptions {
			if u.live() {
				a.end(u, "canceled")
			}
		}
		a.customers[0].Deleted = true
	})
}

// Subscribe makes a subscription as a payment link does, too, and returns its identifier.
func (d *Dashboard) Subscribe(customer, price string) (id string) {
	d.change(customer, func(a *account) {
		u := a.order(a.customer(customer), terms{Plan: *a.price(price), Quantity: 1}, map[string]string{}, a.now())
		a.subscriptions = append(a.subscriptions, u)
		if a.bill(u, u.amount(), attempt{present: true}).Status != "paid" {
			u.Status = "incomplete"
		}
		id = u.ID
	})
	return id
}

// Draft creates an invoice that its author has not finished: a draft without a subscription
// (https://docs.stripe.com/invoicing/dashboard#create-invoice). It returns its identifier.
func (d *Dashboard) Draft(customer string, amount payment.Money) (id string) {
	d.change(customer, func(a *account) {
		i := a.newDraft(a.customer(customer), amount.Currency)
		i.Total, i.Due, id = amount.Amount, amount.Amount, i.ID
	})
	return id
}

// CancelAt makes a subscription end at a time, as the customer portal does for the end of the period in flexible
// billing (https://docs.stripe.com/billing/subscriptions/billing-mode/compare).
func (d *Dashboard) CancelAt(id string, moment time.Time) {
	d.edit(id, func(_ *account, u *subscription) { u.CancelAt = moment })
}

// CancelAtPeriodEnd makes a subscription end with its period.
func (d *Dashboard) CancelAtPeriodEnd(id string) {
	d.edit(id, func(_ *account, u *subscription) { u.CancelAtPeriodEnd = true })
}

// AddItem adds an item with a price to a subscription, without billing it. The price can be a metered one.
func (d *Dashboard) AddItem(id, price string, quantity int64) {
	d.edit(id, func(a *account, u *subscription) {
		e := extra{ID: a.id("si"), Quantity: quantity, Taxed: []string{"txr_addon"}}
		if metered := a.meteredPrice(price); metered != nil {
			e.Price, e.Metered, e.Quantity = *metered, true, 0
		} else {
			e.Price = *a.price(price)
		}
		u.Extras = append(u.Extras, e)
	})
}

// MovePrice gives the plan's item of a subscription another price, without billing it.
func (d *Dashboard) MovePrice(id, price string) {
	d.edit(id, func(a *account, u *subscription) { u.Plan = *a.price(price) })
}

// Refund pays an invoice back, or an amount of it if that is not 0.
func (d *Dashboard) Refund(invoice string, amount int64) {
	d.report(d.Simulator.Refund(context.Background(), payment.InvoiceID(invoice), amount))
}

// Dispute opens a dispute about an invoice's payment, or an inquiry, and returns its identifier.
func (d *Dashboard) Dispute(invoice string, isInquiry bool) (id string) {
	id, err := d.Simulator.Dispute(context.Background(), payment.InvoiceID(invoice), isInquiry)
	d.report(err)
	return id
}

// CloseDispute closes a dispute.
func (d *Dashboard) CloseDispute(id string, isWon bool) {
	d.report(d.Simulator.CloseDispute(context.Background(), id, isWon))
}

// Credit makes a credit note for an invoice.
func (d *Dashboard) Credit(invoice string, amount int64) {
	d.report(d.Simulator.Credit(context.Background(), payment.InvoiceID(invoice), amount))
}

func (d *Dashboard) report(err error) {
	if err != nil {
		d.Failed(err)
	}
}

// Sell adds a monthly price, which no plan of Atrium has.
func (d *Dashboard) Sell(ref string, amount int64) {
	d.catalog(func(plans payment.Plans) payment.Plans {
		return append(plans, payment.Plan{ID: payment.PlanID(ref), PriceRef: ref,
			Price: payment.Money{Amount: amount, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1})
	})
}

// Reprice changes, for the simulator only, what a price costs: real prices cannot change, but a plan can be
// configured with the wrong one. It archives the price if the amount is 0.
func (d *Dashboard) Reprice(ref string, amount int64) {
	d.catalog(func(plans payment.Plans) payment.Plans {
		p := priceOf(plans, ref)
		if p.Unavailable = amount == 0; amount > 0 {
			p.Price.Amount = amount
		}
		return plans
	})
}

// catalog changes the prices of the account.
func (d *Dashboard) catalog(change func(payment.Plans) payment.Plans) {
	for {
		previous := d.Simulator.plans.Load()
		if changed := change(slices.Clone(*previous)); d.Simulator.plans.CompareAndSwap(previous, &changed) {
			return
		}
	}
}

// Tax sets the tax rates of a subscription by hand, for all items and for the plan's item.
func (d *Dashboard) Tax(id, rate, ofItem string) {
	d.edit(id, func(_ *account, u *subscription) { u.Rates, u.Taxed = []string{rate}, []string{ofItem} })
}

// PauseCollection pauses a subscription.
func (d *Dashboard) PauseCollection(id string) {
	d.edit(id, func(_ *account, u *subscription) { u.Paused = true })
}

// Plan makes a schedule for a subscription: it has what it has until the end of its period, then for some periods each
// the price of steps, and ends then if ends says so.
func (d *Dashboard) Plan(id string, steps []string, periods int, ends bool) {
	d.edit(id, func(a *account, u *subscription) {
		c := &schedule{ID: a.id("sub_sched"), Status: "active", subscription: u, Metadata: map[string]string{},
			Created: a.now(), Ends: ends}
		c.Phases = []phase{{terms: u.terms.clone(), Start: u.Start, End: u.End, Metadata: map[string]string{},
			Discount: u.Discount}}
		for _, price := range steps {
			p := c.Phases[len(c.Phases)-1]
			p.terms, p.Start = p.terms.clone(), p.End
			p.Plan = *a.price(price)
			for range periods {
				p.End = payment.Month.Advance(p.End, 1, u.Anchor)
			}
			c.Phases = append(c.Phases, p)
		}
		u.schedule = c
	})
}
