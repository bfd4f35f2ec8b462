package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func subscriptionsAreListed(t *testing.T, a Adapter) {
	moment := fixture.At.AddDate(10, 0, 0) // later than the subscriptions of other tests
	begin := func(org identity.OrgID, id payment.SubscriptionID, days int, status payment.Status) identity.Actor {
		by := fixture.NewTeam(t, a.Stores, org).Owner
		customerOf(t, a.Stores, by)
		h := held(id)
		h.Status, h.CreatedAt = status, moment.AddDate(0, 0, days)
		changeCustomer(t, a.Stores, by, func(c *payment.Customer) {
			seeSubscriptions(c, by, []payment.GatewaySubscription{h}, plansForSale)
		})
		return by
	}
	org := a.Orgs[0]
	first := begin(org, "sub_first", 1, payment.Active)
	second := begin(org, "sub_second", 2, payment.PastDue)
	begin(org, "sub_third", 2, payment.Active)
	begin(a.Orgs[1], "sub_foreign", 3, payment.Active)
	gone := begin(org, "sub_gone", 4, payment.Active)
	gone.At = moment
	changeCustomer(t, a.Stores, gone, func(c *payment.Customer) { seeSubscriptions(c, gone, nil, plansForSale) })
	changeCustomer(t, a.Stores, second, func(c *payment.Customer) {
		open := payment.Invoice{ID: "in_open", Status: payment.Open, Currency: "usd", AmountRemaining: 700,
			Subscription: "sub_second", CreatedAt: fixture.At}
		paid, other := open, open
		paid.ID, paid.Status = "in_paid", payment.Paid
		other.ID, other.Subscription = "in_other", "sub_zero"
		seeInvoices(c, second, []payment.Invoice{open, paid, other})
	})
	list := func(f payment.SubscriptionFilter, account string, limit int) (ids []payment.SubscriptionID) {
		t.Helper()
		for q := (page.Query{Limit: limit}); ; {
			p, err := a.Payments.Subscriptions(t.Context(), org, account, f, q)
			must(t, err)
			for _, s := range p.Items {
				if !s.CreatedAt.Before(moment) {
					ids = append(ids, s.ID)
				}
			}
			if q.After = p.Next; q.After == "" {
				return ids
			}
		}
	}
	live := []payment.SubscriptionID{"sub_third", "sub_second", "sub_first"}
	same(t, "live ones", list(payment.SubscriptionFilter{}, sandboxAccount, 100), live)
	same(t, "one by one", list(payment.SubscriptionFilter{}, sandboxAccount, 1), live)
	same(t, "past due", list(payment.SubscriptionFilter{Status: payment.PastDue}, sandboxAccount, 100), live[1:2])
	same(t, "ended", list(payment.SubscriptionFilter{Status: payment.Canceled}, sandboxAccount, 100),
		[]payment.SubscriptionID{"sub_gone"})
	same(t, "with those that have ended since", list(payment.SubscriptionFilter{EndedSince: moment.Add(-time.Hour)},
		sandboxAccount, 100), slices.Insert(slices.Clone(live), 0, "sub_gone"))
	same(t, "with none that has ended before", list(payment.SubscriptionFilter{EndedSince: moment.Add(time.Hour)},
		sandboxAccount, 100), live)
	same(t, "at another account", list(payment.SubscriptionFilter{}, "acct_1", 100), []payment.SubscriptionID(nil))

	p, err := a.Payments.Subscriptions(t.Context(), org, sandboxAccount, payment.SubscriptionFilter{},
		page.Query{Limit: 3})
	must(t, err)
	got := p.Items[1]
	stored, err := a.Payments.Customer(t.Context(), second.Workspace, sandboxAccount)
	must(t, err)
	same(t, "the subscription", &got.Subscription, stored.Subscription)
	w, err := a.Workspaces.Find(t.Context(), org, string(second.Workspace))
	must(t, err)
	assert.That(t, got.Workspace == second.Workspace && got.WorkspaceName == w.Name && got.Customer == stored.ID &&
		got.Due == 700 && p.Items[2].Workspace == first.Workspace && p.Items[2].Due == 0, "%+v", got)
}
