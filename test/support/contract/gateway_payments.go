package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// newest returns the newest invoice of a customer with a status.
func (g GatewayStage) newest(t *testing.T, c payment.CustomerID, status payment.InvoiceStatus) payment.Invoice {
	t.Helper()
	all, err := g.Invoices(t.Context(), c, "")
	must(t, err)
	for _, i := range all {
		if i.Status == status {
			return i
		}
	}
	t.Fatalf("no %s invoice among %+v", status, all)
	return payment.Invoice{}
}

// overdue returns a customer whose first renewal was charged to a card, in vain.
func (g GatewayStage) overdue(t *testing.T, last4 string) (payment.CustomerID, payment.GatewaySubscription) {
	t.Helper()
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, g.order(0))
	must(t, g.SetDefault(t.Context(), key(), c, g.AddCard(t, c, last4)))
	g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart)+time.Minute)
	if h = *g.only(t, c); h.Status != payment.PastDue {
		t.Fatalf("%+v", h)
	}
	return c, h
}

func gatewayPayments(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c, _ := g.overdue(t, "0341")
	open := g.newest(t, c, payment.Open)
	assert.That(t, open.Attempts == 1 && open.NextAttemptAt.After(open.CreatedAt), "%+v", open)
	before, _ := g.paid(t, c)
	_, err := g.Pay(ctx, key(), c, open.ID)
	wantDecline(t, err, "generic_decline")
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "4242")))
	k := key()
	for range 2 {
		p, err := g.Pay(ctx, k, c, open.ID)
		must(t, err)
		require.That(t, p.Invoice.ID == open.ID && p.Invoice.Status == payment.Paid && p.Action == nil, "%+v", p)
	}
	p, err := g.Pay(ctx, key(), c, open.ID)
	must(t, err)
	same(t, "paid already", p.Invoice.Status, payment.Paid)
	g.wantPaid(t, c, before+open.AmountDue)
	same(t, "status", g.only(t, c).Status, payment.Active)
	_, err = g.Pay(ctx, key(), g.customer(t, "4242"), open.ID)
	wantErr(t, err, payment.ErrInvoiceNotFound)
	_, err = g.Pay(ctx, key(), c, "in_never_there")
	wantErr(t, err, payment.ErrInvoiceNotFound)
	t.Run("a void invoice cannot be paid", func(t *testing.T) {
		c := g.customer(t, "3155")
		h := g.mustSubscribe(t, c, g.order(0))
		must(t, g.GiveUp(ctx, key(), c, h.ID))
		_, err := g.Pay(ctx, key(), c, g.newest(t, c, payment.Void).ID)
		wantErr(t, err, payment.ErrInvoiceNotPayable)
	})
}

func gatewayUnpaidAmendments(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c, h := g.overdue(t, "0341")
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "4242")))
	before, _ := g.paid(t, c)
	more := payment.Amendment{Plan: g.Plans[0], Quantity: h.Quantity + 1, Resell: true}
	_, err := g.Amend(ctx, key(), c, h.ID, more)
	wantErr(t, err, payment.ErrSubscriptionNotActive)
	g.wantPaid(t, c, before)
	if h := g.only(t, c); h.Status != payment.PastDue || h.Quantity != more.Quantity-1 {
		t.Errorf("%+v", h)
	}
	_, err = g.Pay(ctx, key(), c, g.newest(t, c, payment.Open).ID)
	must(t, err)
	g.mustAmend(t, c, h.ID, more)
	same(t, "quantity", g.only(t, c).Quantity, more.Quantity)
}

func gatewayPaymentActions(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c, _ := g.overdue(t, "3155")
	open := g.newest(t, c, payment.Open)
	p, err := g.Pay(ctx, key(), c, open.ID)
	must(t, err)
	require.That(t, p.Invoice.Status == payment.Open && p.Action != nil && p.Action.Type == payment.ConfirmPayment &&
		!p.Action.ClientSecret.IsZero(), "%+v", p)
	again, err := g.Pay(ctx, key(), c, open.ID)
	must(t, err)
	require.That(t, again.Action != nil && again.Action.ClientSecret.Reveal() == p.Action.ClientSecret.Reveal(),
		"%+v, then %+v", p, again)
	g.Authenticate(t, c, p.Action)
	same(t, "status", g.only(t, c).Status, payment.Active)
	p, err = g.Pay(ctx, key(), c, open.ID)
	must(t, err)
	assert.That(t, p.Invoice.Status == payment.Paid && p.Action == nil, "%+v", p)
}

func gatewayUnpaid(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c, h := g.overdue(t, "0341")
	open := g.newest(t, c, payment.Open)
	g.Advance(t, open.NextAttemptAt.Sub(open.CreatedAt)+time.Minute)
	retried := g.newest(t, c, payment.Open)
	assert.That(t, retried.Attempts == 2 && retried.NextAttemptAt.After(open.NextAttemptAt), "%+v", retried)
	g.Advance(t, 14*24*time.Hour-open.NextAttemptAt.Sub(open.CreatedAt)-time.Minute)
	same(t, "after all retries", g.only(t, c).Status, payment.Unpaid)
	last := g.newest(t, c, payment.Open)
	assert.That(t, last.Attempts > 2 && last.NextAttemptAt.IsZero(), "%+v", last)
	g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart)-13*24*time.Hour)
	if got := g.only(t, c); got.Status != payment.Unpaid || !got.PeriodStart.Equal(h.PeriodEnd) {
		t.Fatalf("an unpaid subscription goes on: %+v", got)
	}
	draft := g.newest(t, c, payment.Draft)
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "4242")))
	_, err := g.Pay(ctx, key(), c, open.ID)
	must(t, err)
	same(t, "after the older invoice", g.only(t, c).Status, payment.Unpaid)
	p, err := g.Pay(ctx, key(), c, draft.ID)
	must(t, err)
	same(t, "the draft", p.Invoice.Status, payment.Paid)
	same(t, "after the newest invoice", g.only(t, c).Status, payment.Active)
	g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart))
	g.wantPaid(t, c, 4*2*g.Plans[0].Price.Amount)
}

func gatewayForeignMethods(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	mine, theirs := g.customer(t, "4242"), g.customer(t)
	m := g.AddCard(t, theirs, "4242")
	wantErr(t, g.SetDefault(ctx, key(), mine, m), payment.ErrMethodNotFound)
	must(t, g.Detach(ctx, key(), mine, m))
	w, err := g.Wallet(ctx, theirs)
	must(t, err)
	assert.That(t, len(w.Methods) == 1, "another customer took the method away")
}
