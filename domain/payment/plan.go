// Package payment describes what a workspace pays for: plans, the customer that the workspace is at a
// payment gateway, its payment methods, subscription and invoices. Money moves only at the gateway.
// Atrium stores a mirror of it, and the operations that the gateway has not answered yet.
package payment

import (
	"cmp"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
)

// Money is an amount in the minor unit of its currency: cents of usd, whole jpy.
type Money struct {
	Amount   int64
	Currency string // ISO 4217 in lower case
}

// Interval is the unit of a plan's period.
type Interval string

// The intervals.
const (
	Day   Interval = "day"
	Week  Interval = "week"
	Month Interval = "month"
	Year  Interval = "year"
)

// days returns an interval's average length in days.
func (i Interval) days() float64 {
	switch i {
	case Week:
		return 7
	case Month:
		return 365.25 / 12
	case Year:
		return 365.25
	}
	return 1
}

// Advance returns when n intervals that start at t end. A month ends on the same day of a later month, or on its last
// day if that month is shorter. anchor is the intended day of the month, so that a subscription of the 31st returns to
// it.
func (i Interval) Advance(t time.Time, n, anchor int) time.Time {
	switch i {
	case Week:
		return t.AddDate(0, 0, 7*n)
	case Month, Year:
		months := n
		if i == Year {
			months = 12 * n
		}
		first := time.Date(t.Year(), t.Month(), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(),
			t.Location()).AddDate(0, months, 0)
		last := first.AddDate(0, 1, -1).Day()
		return first.AddDate(0, 0, min(anchor, last)-1)
	}
	return t.AddDate(0, 0, n)
}

// PlanID is a plan's key in the org's configuration.
type PlanID string

// Plan is a product that an org sells by subscription: a plan, or an add-on. With an empty Interval it is a credit
// pack, which is bought once.
type Plan struct {
	ID          PlanID
	Name        string
	Description string
	Price       Money // for IntervalCount intervals, per unit of quantity

	// CurrencyOptions are what it costs in other currencies. If Price is one of them, Base is the price in the plan's
	// own currency; otherwise it is the zero Money.
	CurrencyOptions []Money
	Base            Money

	Interval      Interval
	IntervalCount int // at least 1
	ExpiresAfter  int // days until what is left of a credit pack expires; 0 if it does not
	TrialDays     int // 0 for none; a workspace has one trial
	DaysUntilDue  int // of invoices that are paid by transfer; 0 if the payment method is charged
	Features      []string
	Limits        map[string]int64

	// SeatLimits are limits that grow with the quantity: what each unit has. None of them is in Limits.
	SeatLimits map[string]int64

	// Seats is quota.Members if each member needs a seat: then the quantity follows their number. "" if it does not.
	Seats quota.Kind

	// PriceRef is the gateway's id of the price. The sandbox needs none.
	PriceRef string

	// Metered is what a feature's usage costs, in addition to Price; nil if the plan has no such price.
	Metered *MeteredPrice

	// Unavailable says that the gateway does not have the price, or has a different one: the plan
	// cannot be bought, and existing subscriptions keep it.
	Unavailable bool

	// Retired says that the org no longer sells the plan. Existing subscriptions keep it, with its limits.
	Retired bool
}

// OnSale reports whether the plan can be bought.
func (p *Plan) OnSale() bool { return !p.Unavailable && !p.Retired }

// snapshot returns the part of p that an operation stores.
func (p *Plan) snapshot() *Plan {
	out := &Plan{ID: p.ID, PriceRef: p.PriceRef, Price: p.Price, Base: p.Base, Interval: p.Interval,
		IntervalCount: p.IntervalCount, Metered: p.Metered, DaysUntilDue: p.DaysUntilDue}
	if p.IsPack() {
		out.Name, out.Limits, out.ExpiresAfter = p.Name, p.Limits, p.ExpiresAfter
	}
	return out
}

// PricedIn returns p with its price in a currency; "" is the currency that it has. ErrPlanUnavailable if p is not sold
// in it.
func (p *Plan) PricedIn(currency string) (*Plan, error) {
	if currency == "" || currency == p.Price.Currency {
		return p, nil
	}
	out := *p
	out.Price, out.Base = cmp.Or(p.Base, p.Price), Money{}
	if currency == out.Price.Currency {
		return &out, nil
	}
	n := slices.IndexFunc(p.CurrencyOptions, func(m Money) bool { return m.Currency == currency })
	if n < 0 {
		return nil, ErrPlanUnavailable.Because("The plan is not sold in this currency, only in that of its price and " +
			"those of its currency_options.")
	}
	out.Price, out.Base = p.CurrencyOptions[n], out.Price
	return &out, nil
}

// ByTransfer reports whether workspaces get invoices that they pay by transfer, and need no payment method.
func (p *Plan) ByTransfer() bool { return p.DaysUntilDue > 0 }

// total returns what a quantity of p costs per period.
func (p *Plan) total(quantity int) int64 { return p.Price.Amount * int64(quantity) }

// Plans are the plans that an org sells, in display order.
type Plans []Plan

// Find returns a plan, or ErrPlanNotFound.
func (p Plans) Find(id PlanID) (*Plan, error) {
	if i := slices.IndexFunc(p, func(p Plan) bool { return p.ID == id }); i >= 0 {
		return &p[i], nil
	}
	return nil, ErrPlanNotFound
}

// Offered returns the plans that are shown to a workspace: those that the org sells, and the workspace's current one.
func (p Plans) Offered(current PlanID) Plans {
	return slices.DeleteFunc(slices.Clone(p), func(p Plan) bool { return p.Retired && p.ID != current })
}

// Replace returns plans with one replaced by the plan with its ID.
func (p Plans) Replace(by Plan) Plans {
	all := slices.Clone(p)
	for i := range all {
		if all[i].ID == by.ID {
			all[i] = by
		}
	}
	return all
}

// ByPrice returns the plan with a gateway's price; nil if the org has none.
func (p Plans) ByPrice(ref string) *Plan {
	if i := slices.IndexFunc(p, func(p Plan) bool { return p.PriceRef == ref }); ref != "" && i >= 0 {
		return &p[i]
	}
	return nil
}

// buyable returns a plan that can be bought.
func (p Plans) buyable(id PlanID) (*Plan, error) {
	plan, err := p.Find(id)
	if err == nil && !plan.OnSale() {
		err = ErrPlanUnavailable
	}
	return plan, err
}

// MaySee returns identity.ErrWorkspaceNotFound if by is not in the workspace. Every member may read
// plans and the subscription.
func MaySee(by identity.Actor) error {
	if by.Workspace == "" || by.Role == identity.NoRole {
		return identity.ErrWorkspaceNotFound
	}
	return nil
}

// MayManage returns ErrRoleRequired unless by is an owner or admin. Only they see methods and invoices,
// and change anything.
func MayManage(by identity.Actor) error {
	if err := MaySee(by); err != nil {
		return err
	}
	if by.Role < identity.Admin || by.ReadOnly() {
		return ErrRoleRequired
	}
	return nil
}
