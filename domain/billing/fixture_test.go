package billing_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

var (
	now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	owner  = actor(identity.Owner)
	admin  = actor(identity.Admin)
	member = actor(identity.Member)

	basic = billing.Plan{ID: "basic", Price: billing.Money{Amount: 900, Currency: "usd"}, Interval: billing.Month,
		IntervalCount: 1, PriceRef: "price_basic"}
	pro = billing.Plan{ID: "pro", Price: billing.Money{Amount: 2900, Currency: "usd"}, Interval: billing.Month,
		IntervalCount: 1, PriceRef: "price_pro"}
	trial = billing.Plan{ID: "trial", Price: billing.Money{Amount: 500, Currency: "usd"}, Interval: billing.Month,
		IntervalCount: 1, TrialDays: 14, PriceRef: "price_trial"}
	gone = billing.Plan{ID: "gone", Price: billing.Money{Amount: 500, Currency: "usd"}, Interval: billing.Month,
		IntervalCount: 1, Unavailable: true, PriceRef: "price_gone"}
	euro = billing.Plan{ID: "euro", Price: billing.Money{Amount: 5000, Currency: "eur"}, Interval: billing.Month,
		IntervalCount: 1, PriceRef: "price_euro"}
	year = billing.Plan{ID: "year", Price: billing.Money{Amount: 29000, Currency: "usd"}, Interval: billing.Year,
		IntervalCount: 1, PriceRef: "price_year"}
	plans = billing.Plans{basic, pro, trial, gone, euro, year}
)

func actor(role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: "ann", Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

// card returns a card that is valid for years, added so many minutes ago.
func card(id billing.MethodID, minutes int) billing.Method {
	return billing.Method{ID: id, Type: "card", Brand: "visa", Last4: "4242", ExpMonth: 12, ExpYear: 2034,
		CreatedAt: now.Add(-time.Duration(minutes) * time.Minute)}
}

func expired(id billing.MethodID) billing.Method {
	m := card(id, 0)
	m.ExpYear = 2025
	return m
}

// customer returns a customer with some methods, of which the first is the default.
func customer(methods ...billing.Method) *billing.Customer {
	c := &billing.Customer{Org: "org", Workspace: "acme", Gateway: billing.Sandbox, Account: "sandbox", ID: "cus_1",
		Methods: methods, Revision: 5}
	if len(methods) > 0 {
		c.Default = methods[0].ID
	}
	return c
}

// subscribed returns a customer with a subscription.
func subscribed(plan billing.PlanID, status billing.Status, methods ...billing.Method) *billing.Customer {
	c := customer(methods...)
	c.Subscription = &billing.Subscription{ID: "sub_1", Plan: plan, Quantity: 1, Status: status, Key: "made",
		PeriodStart: now.AddDate(0, 0, -3), PeriodEnd: now.AddDate(0, 0, 27), CreatedAt: now.AddDate(0, 0, -3)}
	return c
}

func held(status billing.Status) billing.GatewaySubscription {
	return billing.GatewaySubscription{ID: "sub_1", Customer: "cus_1", Plan: "basic", Quantity: 1,
		Status: status, Key: "made", PeriodStart: now.AddDate(0, 0, -3), PeriodEnd: now.AddDate(0, 0, 27),
		CreatedAt: now.AddDate(0, 0, -3)}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error = %v, want %v", got, want)
	}
}

func recorded(l *event.Log) string {
	all := ""
	for _, e := range l.Recorded() {
		all += e.Type + " "
	}
	return all
}

// seeWallet updates the mirror of c with payment methods that by has just read.
func seeWallet(c *billing.Customer, by identity.Actor, w billing.Wallet) {
	c.Mirror(by, c.Look(), billing.Seen{Wallet: &w}, nil)
}

// seeSubscriptions is seeWallet for subscriptions.
func seeSubscriptions(
	c *billing.Customer, by identity.Actor, held []billing.GatewaySubscription, plans billing.Plans,
) {
	c.Mirror(by, c.Look(), billing.Seen{Subscriptions: &held}, plans)
}
