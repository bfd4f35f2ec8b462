package payment_test

import (
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

var (
	now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	owner  = actor(identity.Owner)
	admin  = actor(identity.Admin)
	member = actor(identity.Member)

	basic = payment.Plan{ID: "basic", Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1, PriceRef: "price_basic"}
	pro = payment.Plan{ID: "pro", Price: payment.Money{Amount: 2900, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1, PriceRef: "price_pro"}
	trial = payment.Plan{ID: "trial", Price: payment.Money{Amount: 500, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1, TrialDays: 14, PriceRef: "price_trial"}
	gone = payment.Plan{ID: "gone", Price: payment.Money{Amount: 500, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1, Unavailable: true, PriceRef: "price_gone"}
	euro = payment.Plan{ID: "euro", Price: payment.Money{Amount: 5000, Currency: "eur"}, Interval: payment.Month,
		IntervalCount: 1, PriceRef: "price_euro"}
	year = payment.Plan{ID: "year", Price: payment.Money{Amount: 29000, Currency: "usd"}, Interval: payment.Year,
		IntervalCount: 1, PriceRef: "price_year"}
	plans = payment.Plans{basic, pro, trial, gone, euro, year}
)

func actor(role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: "ann", Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

// card returns a card that is valid for years, added so many minutes ago.
func card(id payment.MethodID, minutes int) payment.Method {
	return payment.Method{ID: id, Type: "card", Brand: "visa", Last4: "4242", ExpMonth: 12, ExpYear: 2034,
		CreatedAt: now.Add(-time.Duration(minutes) * time.Minute)}
}

func expired(id payment.MethodID) payment.Method {
	m := card(id, 0)
	m.ExpYear = 2025
	return m
}

// customer returns a customer with some methods, of which the first is the default.
func customer(methods ...payment.Method) *payment.Customer {
	c := &payment.Customer{Org: "org", Workspace: "acme", Gateway: payment.Sandbox, Account: "sandbox", ID: "cus_1",
		Methods: methods, Revision: 5}
	if len(methods) > 0 {
		c.Default = methods[0].ID
	}
	return c
}

// subscribed returns a customer with a subscription.
func subscribed(plan payment.PlanID, status payment.Status, methods ...payment.Method) *payment.Customer {
	c := customer(methods...)
	c.Subscription = &payment.Subscription{ID: "sub_1", Plan: plan, Quantity: 1, Status: status, Key: "made",
		PeriodStart: now.AddDate(0, 0, -3), PeriodEnd: now.AddDate(0, 0, 27), CreatedAt: now.AddDate(0, 0, -3)}
	return c
}

// active returns a customer with an active subscription.
func active(plan payment.PlanID, methods ...payment.Method) *payment.Customer {
	return subscribed(plan, payment.Active, methods...)
}

func held(status payment.Status) payment.GatewaySubscription {
	return payment.GatewaySubscription{ID: "sub_1", Customer: "cus_1", Plan: "basic", Quantity: 1,
		Status: status, Key: "made", PeriodStart: now.AddDate(0, 0, -3), PeriodEnd: now.AddDate(0, 0, 27),
		CreatedAt: now.AddDate(0, 0, -3)}
}

func recorded(l *event.Log) string {
	all := ""
	for _, e := range l.Recorded() {
		all += e.Type + " "
	}
	return all
}

// seeWallet updates the mirror of c with payment methods that by has just read.
func seeWallet(c *payment.Customer, by identity.Actor, w payment.Wallet) {
	c.Mirror(by, c.Look(), payment.Seen{Wallet: &w}, nil)
}

// seeSubscriptions is seeWallet for subscriptions.
func seeSubscriptions(
	c *payment.Customer, by identity.Actor, subscriptions []payment.GatewaySubscription, plans payment.Plans,
) {
	c.Mirror(by, c.Look(), payment.Seen{Subscriptions: &subscriptions}, plans)
}
