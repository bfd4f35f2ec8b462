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
	second, input := a.Second(), make([]int, 24)
	must(t, errors.Join(atOnce(len(input), func(i int) error {
		_, err := []ports.Stores{a.Stores, second}[i%2].Payments.Update(t.Context(), by, sandboxAccount,
			func(c *payment.Customer) error {
				input[i] = len(c.Notify(by, fixture.At, grace))
				return nil
			})
		return err
	})...))
	total := 0
	for _, n := range input {
		total += n
	}
	same(t, "given", total, 1)
	customer, err := a.Payments.Customer(t.Context(), by.Workspace, sandboxAccount)
	must(t, err)
	same(t, "stored", len(customer.Notices), 1)
	same(t, "kind", customer.Notices[0].Kind, payment.PaymentFailed)
	same(t, "due", len(customer.DueNotices(fixture.At, grace)), 0)
	found := 0
	for _, kind := range kinds(eventsOn(t, a.Stores, by.Workspace, string(customer.ID))) {
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
	deadline := fixture.At.Add(payment.CheckoutLasts)
	changeCustomer(t, a.Stores, team.Owner, func(c *payment.Customer) { c.CheckoutUntil = deadline })
	customer, err := a.Second().Payments.Customer(t.Context(), team.Owner.Workspace, sandboxAccount)
	must(t, err)
	same(t, "until", customer.CheckoutUntil, deadline)
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
		c.CheckoutUntil = deadline
		c.Lost(team.Owner, c.ID, "again") // with its pages
	})
	live(0)
}
