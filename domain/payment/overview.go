package payment

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// errNotOperator is returned to callers who may not see the payments of all workspaces.
var errNotOperator = identity.ErrForbidden.Because("Requires an operator of the organisation, signed in or with an " +
	"API key whose ceiling is owner.")

// MayOperate returns an error unless by may see the payments of all workspaces of the org, and adjust them.
func MayOperate(by identity.Actor) error {
	if !by.Operator || by.Ceiling < identity.Owner {
		return errNotOperator
	}
	return nil
}

// ListedSubscription is a workspace's subscription, as the operators of the org see it.
type ListedSubscription struct {
	Subscription
	Workspace     identity.WorkspaceID
	WorkspaceName string
	Customer      CustomerID
	Due           int64 // what the open invoices of the subscription cost, in its currency
}

// SubscriptionFilter selects an org's subscriptions. The zero value selects the live ones.
type SubscriptionFilter struct {
	Status     Status    // only with this, such as Canceled; "" for all live ones
	EndedSince time.Time // without a Status, also those that have ended since; zero for none
}

// Periods that an overview looks at.
const (
	churnDays    = 30
	trialsWithin = 7 * 24 * time.Hour
)

// Overview is what operators see of their org's subscriptions.
type Overview struct {
	At      time.Time
	Monthly []Money        // the monthly recurring revenue, by currency
	Count   map[Status]int // of the live ones
	Overdue []Money        // what past due and unpaid subscriptions cost, by currency

	// TrialsEnding counts the trials that end within 7 days.
	TrialsEnding int

	// Of the subscriptions that were paid or to be paid Since, 30 days ago, Lost have ended.
	Since         time.Time
	Started, Lost int
}

// NewOverview returns an overview of no subscriptions.
func NewOverview(now time.Time) *Overview {
	return &Overview{At: now, Since: now.AddDate(0, 0, -churnDays), Count: map[Status]int{}}
}

// Add adds a subscription, which is live or has ended since o.Since. now is the time at the gateway.
func (o *Overview) Add(s *ListedSubscription, plans Plans, now time.Time) {
	if start := latest(s.CreatedAt, s.TrialEnd); s.Status != Incomplete && !start.After(o.Since) {
		o.Started++
		if !s.EndedAt.IsZero() {
			o.Lost++
		}
	}
	if !s.EndedAt.IsZero() {
		return
	}
	o.Count[s.Status]++
	if s.Status == Trialing && s.TrialEnd.Before(now.Add(trialsWithin)) {
		o.TrialsEnding++
	}
	if s.Status == PastDue || s.Status == Unpaid {
		o.Overdue = addMoney(o.Overdue, Money{Amount: s.Due, Currency: s.rate(plans).Price.Currency})
	}
	o.Monthly = addMoney(o.Monthly, s.Monthly(plans, now))
}

// addMoney adds m to the sum of its currency. Sums are sorted by currency, and none is 0.
func addMoney(sums []Money, m Money) []Money {
	if m.Amount == 0 {
		return sums
	}
	n, exists := slices.BinarySearchFunc(sums, m.Currency, func(sum Money, currency string) int {
		return cmp.Compare(sum.Currency, currency)
	})
	if !exists {
		return slices.Insert(sums, n, m)
	}
	sums[n].Amount += m.Amount
	return sums
}

// rate returns what s pays for a period: what was stored, else the price of its plan.
func (s *Subscription) rate(plans Plans) Rate {
	if plan, err := plans.Find(s.Plan); err == nil && s.Item.Rate == (Rate{}) {
		return plan.rate()
	}
	return s.Item.Rate
}

// Monthly returns what s brings in a month on average: its price less a lasting discount, without taxes and usage. It
// is 0 unless s is active or past due, and while its periods cost nothing.
func (s *Subscription) Monthly(plans Plans, now time.Time) Money {
	rate := s.rate(plans)
	out := Money{Currency: rate.Price.Currency}
	if (s.Status != Active && s.Status != PastDue) || s.Paused || rate.IntervalCount < 1 {
		return out
	}
	amount := rate.Price.Amount * int64(s.Quantity)
	for _, i := range s.Items { // of the plan, add-ons, and what others have added
		if !i.Metered && i.ID != s.Item.ID {
			amount += i.Rate.Price.Amount * int64(i.Quantity)
		}
	}
	if d := s.Discount; d != nil && d.Duration != DiscountOnce && !d.Ended(now) {
		amount -= d.Deduction(amount)
	}
	out.Amount = int64(math.Round(float64(amount) * Month.days() / rate.length()))
	return out
}
