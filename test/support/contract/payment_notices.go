package contract

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// noticesAreGivenOnce has two nodes give the notice of the same failed renewal, many times at once.
func noticesAreGivenOnce(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Owner
	customerOf(t, a.Stores, by)
	changeCustomer(t, a.Stores, by, func(c *payment.Customer) {
		seeSubscriptions(c, by, []payment.GatewaySubscription{{
			ID: "sub_due", Plan: "basic", Quantity: 1, Status: payment.PastDue, PeriodStart: fixture.At,
			PeriodEnd: fixture.At.AddDate(0, 1, 0), CreatedAt: fixture.At,
		}}, nil)
	})
	const grace = 7 * 24 * time.Hour
	second, given := a.Second(), make([]int, 24)
	must(t, errors.Join(atOnce(len(given), func(i int) error {
		_, err := []ports.Stores{a.Stores, second}[i%2].Payments.Update(t.Context(), by, sandboxAccount,
			func(c *payment.Customer) error {
				given[i] = len(c.Notify(by, fixture.At, grace))
				return nil
			})
		return err
	})...))
	total := 0
	for _, n := range given {
		total += n
	}
	same(t, "given", total, 1)
	stored, err := a.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
	must(t, err)
	same(t, "stored", len(stored.Notices), 1)
	same(t, "kind", stored.Notices[0].Kind, payment.PaymentFailed)
	same(t, "due", len(stored.DueNotices(fixture.At, grace)), 0)
	found := 0
	for _, kind := range kinds(eventsOn(t, a.Stores, by.Workspace, string(stored.ID))) {
		if kind == string(payment.PaymentFailed) {
			found++
		}
	}
	same(t, "events", found, 1)
}

// checkoutsAreStored has another node see until when a payer can check out.
func checkoutsAreStored(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	customerOf(t, a.Stores, team.Owner)
	until := fixture.At.Add(payment.CheckoutLasts)
	changeCustomer(t, a.Stores, team.Owner, func(c *payment.Customer) { c.CheckoutUntil = until })
	stored, err := a.Second().Payments.Customer(t.Context(), team.Owner.Workspace, sandboxAccount)
	must(t, err)
	same(t, "until", stored.CheckoutUntil, until)
	live := func(want int) {
		t.Helper()
		n, err := a.Payments.Live(t.Context(), team.Owner.Workspace, sandboxAccount)
		must(t, err)
		same(t, "live, or about to be", n, want)
	}
	live(1)
	changeCustomer(t, a.Stores, team.Owner, func(c *payment.Customer) { c.CheckoutUntil = time.Time{} })
	live(0)
	changeCustomer(t, a.Stores, team.Owner, func(c *payment.Customer) {
		c.CheckoutUntil = until
		c.Lost(team.Owner, c.ID, "again") // with its pages
	})
	live(0)
}
