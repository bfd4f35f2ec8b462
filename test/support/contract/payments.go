package contract

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Payments is the suite for ports.Payments.
func Payments(t *testing.T, open Opener) {
	a := open(t)
	t.Run("a customer is stored with every field", func(t *testing.T) { customersAreKept(t, a) })
	t.Run("a second Reserve returns the first customer", func(t *testing.T) { customersAreReservedOnce(t, a) })
	t.Run("an invoice is found by its id", func(t *testing.T) { invoicesAreFound(t, a) })
	t.Run("a change that fails is not stored", func(t *testing.T) { customersAreChangedWhole(t, a) })
	t.Run("customers of other workspaces and orgs", func(t *testing.T) { customersAreApart(t, a) })
	t.Run("pauses", func(t *testing.T) { pausesAreKept(t, a) })
	t.Run("duplicates", func(t *testing.T) { duplicatesAreKept(t, a) })
	t.Run("a customer has at most one live subscription", func(t *testing.T) { subscriptionsAreOne(t, a) })
	t.Run("notices", func(t *testing.T) { noticesAreGivenOnce(t, a) })
	t.Run("checkouts", func(t *testing.T) { checkoutsAreStored(t, a) })
	t.Run("invoices", func(t *testing.T) { invoicesAreListed(t, a) })
	t.Run("the subscriptions of an org", func(t *testing.T) { subscriptionsAreListed(t, a) })
	t.Run("concurrent removals leave one payment method", func(t *testing.T) { methodsAreRemovedOneByOne(t, a) })
	t.Run("a deleted workspace has no customer", func(t *testing.T) { customersOfGoneWorkspaces(t, a) })
}

const sandboxAccount = "sandbox"

// customerOf reserves a customer for by's workspace and gives it a gateway id.
func customerOf(t *testing.T, s ports.Stores, by identity.Actor) *payment.Customer {
	t.Helper()
	c, err := payment.NewCustomer(by, payment.Sandbox, sandboxAccount, id.New("key"),
		payment.Details{Name: "Ärger", Email: "ann@example.com"})
	must(t, err)
	_, err = s.Payments.Reserve(t.Context(), by, c)
	must(t, err)
	return changeCustomer(t, s, by, func(c *payment.Customer) { c.Made(by, payment.CustomerID(id.New("cus"))) })
}

func changeCustomer(t *testing.T, s ports.Stores, by identity.Actor, change func(*payment.Customer)) *payment.Customer {
	t.Helper()
	c, err := s.Payments.Update(t.Context(), by, sandboxAccount, func(c *payment.Customer) error {
		change(c)
		return nil
	})
	must(t, err)
	return c
}

func method(id payment.MethodID, minutes int) payment.Method {
	return payment.Method{ID: id, Type: "card", Brand: "visa", Last4: "4242", ExpMonth: 12, ExpYear: 2034,
		Country: "US", Fingerprint: "fp " + string(id), CreatedAt: fixture.At.Add(time.Duration(minutes) * time.Minute)}
}

func held(id payment.SubscriptionID) payment.GatewaySubscription {
	item := payment.Item{
		ID: "si_1", Quantity: 3, PeriodStart: fixture.At, PeriodEnd: fixture.At.Add(time.Hour),
		Rate: payment.Rate{Ref: "price_1", Price: payment.Money{Amount: 700, Currency: "usd"}, Interval: payment.Month,
			IntervalCount: 1},
	}
	next := item
	next.Quantity = 9
	return payment.GatewaySubscription{
		ID: id, Items: []payment.Item{item}, Status: payment.Trialing, Key: "k", TrialEnd: fixture.At.Add(time.Hour),
		CancelAt: item.PeriodEnd, Confirming: true, CreatedAt: fixture.At, Method: "pm_own",
		Schedule: &payment.Schedule{Phases: []payment.Phase{
			{Start: item.PeriodStart, End: item.PeriodEnd, Items: []payment.Item{item}},
			{Start: item.PeriodEnd, Items: []payment.Item{next}, Plan: "pro"},
		}},
		Paused: true, PaidUntil: fixture.At.Add(time.Minute),
		Cancellation: payment.Cancellation{Feedback: "other", Comment: "Why not?"},
	}
}

var plansForSale = payment.Plans{{ID: "basic", PriceRef: "price_1", Price: payment.Money{Amount: 1, Currency: "usd"},
	Interval: payment.Month, IntervalCount: 1}}

func duplicatesAreKept(t *testing.T, a Adapter) {
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner
	customerOf(t, a.Stores, by)
	duplicates := func(org identity.OrgID, account string) []payment.SubscriptionID {
		t.Helper()
		all, err := a.Payments.Duplicates(t.Context(), org, account)
		must(t, err)
		return all[by.Workspace]
	}
	see := func(all ...payment.GatewaySubscription) *payment.Customer {
		return changeCustomer(t, a.Stores, by, func(c *payment.Customer) { seeSubscriptions(c, by, all, plansForSale) })
	}
	see(held("sub_1"))
	same(t, "duplicates of one", duplicates(by.Org, sandboxAccount), []payment.SubscriptionID(nil))
	second := held("sub_2")
	second.CreatedAt = second.CreatedAt.Add(time.Hour)
	changeCustomer(t, a.Stores, by,
		func(c *payment.Customer) { c.CheckoutTrial, c.CheckingOut = "page", fixture.At.Add(time.Second) })
	c := see(held("sub_1"), second)
	got, err := a.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
	must(t, err)
	same(t, "the customer", got, c)
	same(t, "duplicates", duplicates(by.Org, sandboxAccount), []payment.SubscriptionID{"sub_2"})
	same(t, "at another account", duplicates(by.Org, "acct_1"), []payment.SubscriptionID(nil))
	same(t, "in another org", duplicates(a.Orgs[1], sandboxAccount), []payment.SubscriptionID(nil))
	second.Status = payment.PastDue
	c = see(second)
	got, err = a.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
	must(t, err)
	same(t, "the customer that owes a period", got, c)
	assert.That(t, !got.Subscription.PastDueSince.IsZero(), "it does not say since when")
	same(t, "after one has ended", duplicates(by.Org, sandboxAccount), []payment.SubscriptionID(nil))
}

func pausesAreKept(t *testing.T, a Adapter) {
	ctx := t.Context()
	one, foreign := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner, fixture.NewTeam(t, a.Stores, a.Orgs[1]).Owner
	customerOf(t, a.Stores, one)
	customerOf(t, a.Stores, foreign)
	pause := func(org identity.OrgID, account string) []identity.WorkspaceID {
		t.Helper()
		all, err := a.Payments.Paused(ctx, org, account)
		must(t, err)
		return all
	}
	same(t, "paused at first", pause(one.Org, sandboxAccount), []identity.WorkspaceID(nil))
	c := changeCustomer(t, a.Stores, one, func(c *payment.Customer) {
		must(t, c.BeginIntent(one, "k", payment.CardLimits{OpenSetupIntents: 1}))
		c.Declined(one, payment.CardLimits{DeclinesPerDay: 1})
	})
	got, err := a.Second().Payments.Customer(ctx, one.Workspace, sandboxAccount)
	must(t, err)
	same(t, "the customer", got, c)
	assert.That(t, len(got.Attempts.Intents) == 1 && len(got.Attempts.Declines) == 1 && !got.PausedAt.IsZero(),
		"%+v", got)
	same(t, "paused", pause(one.Org, sandboxAccount), []identity.WorkspaceID{one.Workspace})
	same(t, "at another account", pause(one.Org, "acct_1"), []identity.WorkspaceID(nil))
	same(t, "in another org", pause(foreign.Org, sandboxAccount), []identity.WorkspaceID(nil))
	changeCustomer(t, a.Stores, one, func(c *payment.Customer) {
		_, err := c.Resume(one)
		must(t, err)
	})
	same(t, "paused after a resume", pause(one.Org, sandboxAccount), []identity.WorkspaceID(nil))
}

func subscriptionsAreOne(t *testing.T, a Adapter) {
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner
	live := func(want int) {
		t.Helper()
		n, err := a.Payments.Live(t.Context(), by.Workspace, sandboxAccount)
		must(t, err)
		same(t, "live", n, want)
		n, err = a.Payments.Live(t.Context(), by.Workspace, "acct_1")
		must(t, err)
		same(t, "live at another account", n, 0)
	}
	elsewhere := func(org identity.OrgID, account string) int {
		t.Helper()
		counts, err := a.Payments.LiveElsewhere(t.Context(), org, account)
		must(t, err)
		return counts[sandboxAccount]
	}
	previous, foreign := elsewhere(by.Org, "acct_1"), elsewhere(a.Orgs[1], "acct_1")
	live(0)
	customerOf(t, a.Stores, by)
	changeCustomer(t, a.Stores, by,
		func(c *payment.Customer) { c.Pending = &payment.Operation{Kind: payment.Subscribe, Key: "k"} })
	live(1)
	changeCustomer(t, a.Stores, by, func(c *payment.Customer) {
		c.Settle(by, "k", c.Look(), []payment.GatewaySubscription{held("sub_1")}, plansForSale)
	})
	live(1)
	assert.That(t, elsewhere(by.Org, "acct_1") == previous+1 && elsewhere(by.Org, sandboxAccount) == 0 &&
		elsewhere(a.Orgs[1], "acct_1") == foreign, "it is not counted as one at an account that is not used any more")
	_, err := a.Payments.Update(t.Context(), by, sandboxAccount, func(c *payment.Customer) error {
		// without recording that sub_1 ended
		c.Subscription = &payment.Subscription{ID: "sub_2", Status: payment.Active}
		return nil
	})
	require.That(t, err != nil, "a second live subscription was stored")
	changeCustomer(t, a.Stores, by, func(c *payment.Customer) {
		next := held("sub_2")
		seeSubscriptions(c, by, []payment.GatewaySubscription{next}, plansForSale)
	})
	live(1)
	changeCustomer(t, a.Stores, by, func(c *payment.Customer) { seeSubscriptions(c, by, nil, plansForSale) })
	live(0)
	same(t, "elsewhere", elsewhere(by.Org, "acct_1"), previous)
}

func invoicesAreListed(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Owner
	customerOf(t, a.Stores, by)
	customerOf(t, a.Stores, other.Owner)
	var want []payment.Invoice
	for i := range 5 {
		at := fixture.At.Add(-time.Duration(i/2) * time.Hour) // pairs of them have the same time
		want = append(want, payment.Invoice{
			ID: payment.InvoiceID(fmt.Sprint("in_", 9-i)), Number: fmt.Sprint("A-", i), Status: payment.Paid,
			Currency: "usd", Subtotal: 1 << 40, Tax: 2, Total: 3, AmountDue: 4, AmountPaid: 5,
			PeriodStart: at, PeriodEnd: at.Add(time.Hour), DueAt: at, PaidAt: at, HostedURL: "https://example.com/h",
			PDFURL: "https://example.com/p", CreatedAt: at,
		})
	}
	want[2].Status, want[2].PaidAt = payment.Open, time.Time{}
	billedTo := described()
	billedTo.Workspace = ""
	want[2].BilledTo, want[3].BilledTo = &billedTo, &payment.Details{}
	changeCustomer(t, a.Stores, by, func(c *payment.Customer) { seeInvoices(c, by, want) })
	changeCustomer(t, a.Stores, other.Owner, func(c *payment.Customer) { seeInvoices(c, by, want[:1]) })
	list := func(status payment.InvoiceStatus) []payment.Invoice {
		return fixture.Pages(t, 2, func(q page.Query) (payment.InvoicePage, error) {
			return a.Payments.Invoices(ctx, by.Workspace, sandboxAccount, status, q)
		})
	}
	same(t, "invoices", list(""), want)
	same(t, "open ones", list(payment.Open), want[2:3])
	want[2].Status, want[2].AmountPaid = payment.Void, 77
	changeCustomer(t, a.Stores, by, func(c *payment.Customer) { seeInvoices(c, by, want[2:3]) })
	same(t, "after a change of one", list(""), want)
	empty, err := a.Payments.Invoices(ctx, by.Workspace, "acct_1", "", page.Query{Limit: 9})
	assert.That(t, err == nil && len(empty.Items) == 0, "at another account: %+v, %v", empty, err)
}

func methodsAreRemovedOneByOne(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Owner
	customerOf(t, a.Stores, by)
	var methods []payment.Method
	for i := range 8 {
		methods = append(methods, method(payment.MethodID(fmt.Sprint("pm_", i)), i))
	}
	changeCustomer(t, a.Stores, by, func(c *payment.Customer) {
		seeWallet(c, by, payment.Wallet{Methods: methods, Default: "pm_0"})
		continuing := held("sub_1")
		continuing.CancelAt = time.Time{}
		seeSubscriptions(c, by, []payment.GatewaySubscription{continuing}, plansForSale)
	})
	second := a.Second()
	refusedErrs := make(chan error, len(methods))
	var wg sync.WaitGroup
	for i, m := range methods {
		wg.Go(func() {
			_, err := []ports.Stores{a.Stores, second}[i%2].Payments.Update(context.Background(), by, sandboxAccount,
				func(c *payment.Customer) error {
					_, err := c.Remove(by, by.At, m.ID, "")
					return err
				})
			if err != nil {
				refusedErrs <- err
			}
		})
	}
	wg.Wait()
	close(refusedErrs)
	n := 0
	for err := range refusedErrs {
		n++
		wantErr(t, err, payment.ErrMethodInUse)
	}
	c, err := a.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
	must(t, err)
	if n != 1 || len(c.Shown()) != 1 || c.Default != c.Shown()[0].ID {
		t.Errorf("%d were refused, and %+v are left, the default is %s", n, c.Shown(), c.Default)
	}
}

func customersOfGoneWorkspaces(t *testing.T, a Adapter) {
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner
	customerOf(t, a.Stores, by)
	_, err := a.Workspaces.Update(t.Context(), by, by.Workspace, nil,
		func(w *account.Workspace) error { return w.Delete(by, nil) })
	must(t, err)
	_, err = a.Payments.Update(t.Context(), by, sandboxAccount, func(*payment.Customer) error { return nil })
	wantErr(t, err, identity.ErrWorkspaceNotFound)
	c, err := payment.NewCustomer(by, payment.Sandbox, "acct_2", "k", payment.Details{})
	must(t, err)
	_, err = a.Payments.Reserve(t.Context(), by, c)
	wantErr(t, err, identity.ErrWorkspaceNotFound)
}
