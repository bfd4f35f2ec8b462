package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func invoicesAreFound(t *testing.T, a Adapter) {
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	customerOf(t, a.Stores, team.Owner)
	want := payment.Invoice{ID: "in_1", Status: payment.Open, Currency: "usd", Total: 900, AmountDue: 900,
		CreatedAt: fixture.At, Subscription: "sub_1", Attempts: 2, NextAttemptAt: fixture.At.Add(time.Hour)}
	changeCustomer(t, a.Stores, team.Owner,
		func(c *payment.Customer) { seeInvoices(c, team.Owner, []payment.Invoice{want}) })
	draft := want
	draft.ID, draft.Status = "in_draft", payment.Draft
	// of those that a gateway does not list any more, drafts are gone
	for _, all := range [][]payment.Invoice{{want, draft}, {}} {
		changeCustomer(t, a.Stores, team.Owner, func(c *payment.Customer) { seeInvoices(c, team.Owner, all) })
		_, err := a.Payments.Invoice(t.Context(), team.Owner.Workspace, sandboxAccount, "in_draft")
		assert.That(t, (err == nil) == (len(all) == 2), "the draft, with %d invoices at the gateway: %v", len(all), err)
	}
	got, err := a.Payments.Invoice(t.Context(), team.Owner.Workspace, sandboxAccount, "in_1")
	must(t, err)
	same(t, "the invoice", *got, want)
	want.Status, want.AmountPaid, want.PaidAt, want.Reason = payment.Paid, 900, fixture.At, payment.SubscriptionCycle
	want.AmountRemaining, want.AmountRefunded, want.HasMoreLines = 1, 300, true
	want.Disputes = []payment.Dispute{{ID: "du_1", Amount: 600, Reason: "fraudulent", Status: payment.DisputeOpen},
		{ID: "du_2", Amount: 5, Reason: "general", Status: payment.DisputeClosed, Inquiry: true}}
	changeCustomer(t, a.Stores, team.Owner,
		func(c *payment.Customer) { seeInvoices(c, team.Owner, []payment.Invoice{want}) })
	got, err = a.Payments.Invoice(t.Context(), team.Owner.Workspace, sandboxAccount, "in_1")
	must(t, err)
	same(t, "the invoice after a refund and a dispute", *got, want)
	for _, id := range []payment.InvoiceID{"in_2", "in_1\x00", "in_\xff"} {
		_, err := a.Payments.Invoice(t.Context(), team.Owner.Workspace, sandboxAccount, id)
		wantErr(t, err, payment.ErrInvoiceNotFound)
	}
	_, err = a.Payments.Invoice(t.Context(), other.Owner.Workspace, sandboxAccount, "in_1")
	wantErr(t, err, payment.ErrInvoiceNotFound)
	_, err = a.Payments.Invoice(t.Context(), team.Owner.Workspace, "another account", "in_1")
	wantErr(t, err, payment.ErrInvoiceNotFound)
}
