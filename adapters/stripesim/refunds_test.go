package stripesim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestEventsAboutRefundsAndDisputesNameOnlyTheCharge is so at Stripe, too
// (https://docs.stripe.com/api/disputes/object).
func TestEventsAboutRefundsAndDisputesNameOnlyTheCharge(t *testing.T) {
	g, p := newGateway(t, stripesim.Config{})
	ctx := t.Context()
	c, _ := g.buyer(t, "pm_card_pendingRefund", plans[0])
	_, invoice := g.state(t, c)
	p.bodies = nil
	require.NoError(t, g.Refund(ctx, invoice.ID, 100))
	_, _, err := g.AdvanceAll(ctx, 2*time.Hour)
	require.NoError(t, err)
	id, err := g.Dispute(ctx, invoice.ID, false)
	require.NoError(t, err)
	require.NoError(t, g.CloseDispute(ctx, id, true))
	require.NoError(t, g.Credit(ctx, invoice.ID, 100))
	var types []string
	for _, body := range p.bodies {
		e, err := payment.ParseEvent([]byte(body))
		require.NoError(t, err)
		types = append(types, e.Type)
		namesCharge := strings.HasPrefix(e.Type, "refund.") || strings.HasPrefix(e.Type, "charge.dispute.")
		assert.That(t, (e.Customer == "") == namesCharge && (e.About.Kind == "charge") == namesCharge, "%s", body)
		if namesCharge {
			charged, err := g.CustomerOf(ctx, e.About)
			assert.That(t, err == nil && charged == c, "%q, %v", charged, err)
		}
	}
	assert.Equal(t, "events", strings.Join(types, " "), "charge.refunded refund.created refund.updated "+
		"charge.dispute.created charge.dispute.closed customer.updated credit_note.created")
}

// TestWhoReceivesAnEventCanAskTheAccount is how a receiver finds a dispute's customer.
func TestWhoReceivesAnEventCanAskTheAccount(t *testing.T) {
	var g gateway
	var charged []payment.CustomerID
	g, _ = newGateway(t, stripesim.Config{Deliver: func(ctx context.Context, body []byte, _ string) error {
		e, err := payment.ParseEvent(body)
		if err == nil && e.About.ID != "" {
			c, err := g.CustomerOf(ctx, e.About)
			charged = append(charged, c)
			return err
		}
		return err
	}})
	c, _ := g.buyer(t, "pm_card_createDispute", plans[0])
	assert.That(t, len(charged) == 1 && charged[0] == c, "%v", charged)
}

// TestAThinEventNamesAnObjectWhoseCustomerCanBeRead is so at Stripe, too
// (https://docs.stripe.com/changelog/endive/2026-09-30/thin-events-for-api-v1-resources-generally-available).
func TestAThinEventNamesAnObjectWhoseCustomerCanBeRead(t *testing.T) {
	g, p := newGateway(t, stripesim.Config{Thin: true})
	ctx := t.Context()
	c, _ := g.buyer(t, "pm_card_createDispute", plans[0])
	_, invoice := g.state(t, c)
	require.NoError(t, g.Refund(ctx, invoice.ID, 100))
	require.NoError(t, g.Credit(ctx, invoice.ID, 100))
	_, err := g.Checkout(ctx, "page", c, payment.CheckoutOrder{Plan: plans[0], Quantity: 1,
		SuccessURL: "https://app.example.com", CancelURL: "https://app.example.com"})
	require.NoError(t, err)
	require.NoError(t, g.EndCheckouts(ctx, c))
	kinds := map[string]bool{}
	for _, body := range p.bodies {
		e, err := payment.ParseEvent([]byte(body))
		require.NoError(t, err)
		assert.That(t, strings.HasPrefix(e.Type, "v1.") && !e.CreatedAt.IsZero(), "%+v", e)
		kinds[e.About.Kind] = true
		if e.Customer == "" {
			e.Customer, err = g.CustomerOf(ctx, e.About)
			require.NoError(t, err)
		}
		assert.That(t, e.Customer == c, "%+v", e)
	}
	for _, kind := range []string{"", "payment_method", "setup_intent", "subscription", "invoice", "checkout.session",
		"refund", "dispute", "credit_note"} {
		assert.That(t, kinds[kind], "no event is about a %s: %v", kind, kinds)
	}
	w, err := g.Wallet(ctx, c)
	require.NoError(t, err)
	require.NoError(t, g.Detach(ctx, "detach", c, w.Default))
	owner, err := g.CustomerOf(ctx, payment.Reference{Kind: "payment_method", ID: string(w.Default)})
	assert.That(t, err == nil && owner == "", "of a removed method: %q, %v", owner, err)
	owner, err = g.CustomerOf(ctx, payment.Reference{Kind: "billing.meter", ID: "mtr_1"})
	assert.That(t, err == nil && owner == "", "of an object without one: %q, %v", owner, err)
}

func TestNoMoreIsPaidBackThanWasPaid(t *testing.T) {
	g := newAccount(t)
	ctx := t.Context()
	c, _ := g.buyer(t, "pm_card_visa", plans[0])
	_, paid := g.state(t, c)
	assert.ErrorIs(t, g.Refund(ctx, paid.ID, paid.AmountPaid+1), stripesim.ErrNotPaid)
	require.NoError(t, g.Refund(ctx, paid.ID, 0))
	assert.ErrorIs(t, g.Refund(ctx, paid.ID, 1), stripesim.ErrNotPaid)
	assert.ErrorIs(t, g.Credit(ctx, paid.ID, paid.AmountPaid+1), stripesim.ErrNotPaid)
	assert.ErrorIs(t, g.Credit(ctx, paid.ID, -1), stripesim.ErrNotPaid)
	assert.ErrorIs(t, g.Refund(ctx, "in_of_no_one", 1), payment.ErrInvoiceNotFound)
	assert.ErrorIs(t, g.CloseDispute(ctx, "du_of_no_one", true), stripesim.ErrNoDispute)
}

func TestAnInvoiceHasItsFirstTenLinesAndSaysThatThereAreMore(t *testing.T) {
	g := newAccount(t)
	ctx := t.Context()
	c, s := g.buyer(t, "pm_card_visa", plans[0])
	seller := &stripesim.Dashboard{Simulator: g.Simulator, Failed: func(err error) { t.Error(err) }}
	for range 10 {
		seller.AddItem(string(s.ID), plans[1].PriceRef, 1)
	}
	_, _, err := g.AdvanceAll(ctx, 32*24*time.Hour)
	require.NoError(t, err)
	invoices, err := g.Invoices(ctx, c, "")
	require.NoError(t, err)
	renewal, first := invoices[0], invoices[1]
	assert.That(t, len(renewal.Lines) == 10 && renewal.HasMoreLines, "%d lines of the renewal", len(renewal.Lines))
	assert.That(t, len(first.Lines) == 1 && !first.HasMoreLines, "%d lines of the first invoice", len(first.Lines))
}
