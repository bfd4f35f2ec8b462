package contract

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func customersAreKept(t *testing.T, a Adapter) {
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner
	_, err := a.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
	wantErr(t, err, payment.ErrNoCustomer)
	_, err = a.Payments.Update(t.Context(), by, sandboxAccount, func(*payment.Customer) error { return nil })
	wantErr(t, err, payment.ErrNoCustomer)
	customerOf(t, a.Stores, by)
	yes := true
	input := described()
	input.Workspace = ""
	c := changeCustomer(t, a.Stores, by, func(c *payment.Customer) {
		seeWallet(c, by, payment.Wallet{Methods: []payment.Method{method("pm_1", 1), method("pm_2", 2)},
			Default: "pm_2", Credit: payment.Money{Amount: 700, Currency: "usd"}})
		seeSubscriptions(c, by, []payment.GatewaySubscription{held("sub_1")}, plansForSale)
		_, err := c.Remove(by, by.At, "pm_1", "")
		must(t, err)
		seeInvoices(c, by, nil)
		c.Entered, c.Given, c.Giving = input, &input, "k3"
		c.Pending = &payment.Operation{Kind: payment.Change, Key: "k2", At: fixture.At, Plan: "pro", Quantity: 2,
			Method: "pm_2", TrialDays: 3, Subscription: "sub_1", Resell: true, AtRenewal: true, CancelAtPeriodEnd: &yes,
			AddOns: []payment.ItemOrder{{Ref: "price_addon", Quantity: 2}}}
		c.Subscription.Items = []payment.Item{{ID: "si_1", Quantity: 2, Rate: payment.Rate{
			Ref: "price_addon", Price: payment.Money{Amount: 700, Currency: "usd"}, Interval: payment.Month,
			IntervalCount: 1,
		}}, {ID: "si_2", Metered: true}}
		c.UsageSince = fixture.At
		c.Subscription.Pending = &payment.PendingChange{Plan: "pro", Quantity: 2, At: fixture.At,
			Next: &payment.PendingChange{Plan: "basic", Quantity: 3, At: fixture.At.AddDate(1, 0, 0), Elsewhere: true}}
		c.Done = []payment.DoneCall{{Key: "k1", Request: "r1", At: fixture.At}}
	})
	for _, s := range []ports.Stores{a.Stores, a.Second()} {
		got, err := s.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
		must(t, err)
		same(t, "the customer", got, c)
	}
	same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, "sub_1")), []string{"subscription.started"})
	t.Run("and so is what takes its place", func(t *testing.T) {
		c := changeCustomer(t, a.Stores, by, func(c *payment.Customer) {
			c.Pending, c.Done, c.Entered, c.Given, c.Giving = nil, nil, payment.Details{}, nil, ""
			seeWallet(c, by, payment.Wallet{Methods: []payment.Method{method("pm_3", 3)}})
			seeSubscriptions(c, by, nil, plansForSale)
		})
		got, err := a.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
		must(t, err)
		same(t, "the customer", got, c)
		assert.That(t, got.Subscription == nil && got.Pending == nil && len(got.Methods) == 1 && got.HadTrial,
			"%+v", got)
	})
}

func customersAreReservedOnce(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	keys := make([]string, 16)
	second := a.Second()
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			c, err := payment.NewCustomer(team.Owner, payment.Sandbox, sandboxAccount, fmt.Sprint("key ", i),
				payment.Details{})
			if err == nil {
				c, err = []ports.Stores{a.Stores, second}[i%2].Payments.Reserve(context.Background(), team.Owner, c)
			}
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = c.Key
		})
	}
	wg.Wait()
	for _, key := range keys {
		require.That(t, key == keys[0] && key != "", "keys = %q", keys)
	}
	t.Run("but there is one of each account", func(t *testing.T) {
		c, err := payment.NewCustomer(team.Owner, payment.Stripe, "acct_1", "another", payment.Details{})
		must(t, err)
		c, err = a.Payments.Reserve(t.Context(), team.Owner, c)
		must(t, err)
		same(t, "key", c.Key, "another")
	})
}

func customersAreChangedWhole(t *testing.T, a Adapter) {
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner
	previous := customerOf(t, a.Stores, by)
	_, err := a.Payments.Update(t.Context(), by, sandboxAccount, func(c *payment.Customer) error {
		seeWallet(c, by, payment.Wallet{Methods: []payment.Method{method("pm_1", 1)}})
		return errBoom
	})
	wantErr(t, err, errBoom)
	wantErr(t, a.Atomic.Atomically(t.Context(), func(tx ports.Stores) error {
		changeCustomer(t, tx, by, func(c *payment.Customer) {
			seeWallet(c, by, payment.Wallet{Methods: []payment.Method{method("pm_1", 1)}})
		})
		return errBoom
	}), errBoom)
	got, err := a.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
	must(t, err)
	same(t, "the customer", got, previous)
}

func customersAreApart(t *testing.T, a Adapter) {
	ctx := t.Context()
	one, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	foreign := fixture.NewTeam(t, a.Stores, a.Orgs[1])
	c := customerOf(t, a.Stores, one.Owner)
	for _, ws := range []identity.WorkspaceID{other.Workspace.ID, foreign.Workspace.ID} {
		_, err := a.Payments.Customer(ctx, ws, sandboxAccount)
		wantErr(t, err, payment.ErrNoCustomer)
	}
	ws, err := a.Payments.Find(ctx, a.Orgs[0], sandboxAccount, c.ID)
	must(t, err)
	same(t, "the workspace", ws, one.Workspace.ID)
	for _, position := range []struct {
		org     identity.OrgID
		account string
		id      payment.CustomerID
	}{{a.Orgs[1], sandboxAccount, c.ID}, {a.Orgs[0], "acct_1", c.ID}, {a.Orgs[0], sandboxAccount, "cus_x"},
		{a.Orgs[0], sandboxAccount, ""}} {
		_, err := a.Payments.Find(ctx, position.org, position.account, position.id)
		wantErr(t, err, payment.ErrNoCustomer)
	}
	all := fixture.Pages(t, 1, func(q page.Query) (page.Of[identity.WorkspaceID], error) {
		return a.Payments.Customers(ctx, a.Orgs[0], sandboxAccount, q)
	})
	found := false
	for i, ws := range all {
		found = found || ws == one.Workspace.ID
		assert.That(t, ws != other.Workspace.ID && ws != foreign.Workspace.ID && (i <= 0 || all[i-1] < ws),
			"customers = %v", all)
	}
	assert.That(t, found, "customers = %v", all)
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

// seeInvoices is seeWallet for invoices.
func seeInvoices(c *payment.Customer, by identity.Actor, all []payment.Invoice) {
	c.Mirror(by, c.Look(), payment.Seen{Invoices: &all}, nil)
}
