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
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	card, _ := g.add(t, c, "pm_card_pendingRefund")
	require.NoError(t, g.SetDefault(ctx, "d", c, card))
	_, err = g.Subscribe(ctx, "s", c, payment.Order{Plan: plans[0], Quantity: 1})
	require.NoError(t, err)
	invoices, err := g.Invoices(ctx, c, "")
	require.NoError(t, err)
	p.bodies = nil
	require.NoError(t, g.Refund(ctx, invoices[0].ID, 100))
	_, _, err = g.AdvanceAll(ctx, 2*time.Hour)
	require.NoError(t, err)
	id, err := g.Dispute(ctx, invoices[0].ID, false)
	require.NoError(t, err)
	require.NoError(t, g.CloseDispute(ctx, id, true))
	require.NoError(t, g.Credit(ctx, invoices[0].ID, 100))
	var types []string
	for _, body := range p.bodies {
		e, err := payment.ParseEvent([]byte(body))
		require.NoError(t, err)
		types = append(types, e.Type)
		namesCharge := strings.HasPrefix(e.Type, "refund.") || strings.HasPrefix(e.Type, "charge.dispute.")
		assert.That(t, (e.Customer == "") == namesCharge && (e.Charge != "") == namesCharge, "%s", body)
		if namesCharge {
			charged, err := g.Charged(ctx, e.Charge)
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
		if err == nil && e.Charge != "" {
			c, err := g.Charged(ctx, e.Charge)
			charged = append(charged, c)
			return err
		}
		return err
	}})
	ctx := t.Context()
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	card, _ := g.add(t, c, "pm_card_createDispute")
	require.NoError(t, g.SetDefault(ctx, "d", c, card))
	_, err = g.Subscribe(ctx, "s", c, payment.Order{Plan: plans[0], Quantity: 1})
	require.NoError(t, err)
	assert.That(t, len(charged) == 1 && charged[0] == c, "%v", charged)
}

func TestNoMoreIsPaidBackThanWasPaid(t *testing.T) {
	g := newAccount(t)
	ctx := t.Context()
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	card, _ := g.add(t, c, "pm_card_visa")
	require.NoError(t, g.SetDefault(ctx, "d", c, card))
	_, err = g.Subscribe(ctx, "s", c, payment.Order{Plan: plans[0], Quantity: 1})
	require.NoError(t, err)
	invoices, err := g.Invoices(ctx, c, "")
	require.NoError(t, err)
	paid := invoices[0]
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
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	card, _ := g.add(t, c, "pm_card_visa")
	require.NoError(t, g.SetDefault(ctx, "d", c, card))
	bought, err := g.Subscribe(ctx, "s", c, payment.Order{Plan: plans[0], Quantity: 1})
	require.NoError(t, err)
	seller := &stripesim.Dashboard{Simulator: g.Simulator, Failed: func(err error) { t.Error(err) }}
	for range 10 {
		seller.AddItem(string(bought.ID), plans[1].PriceRef, 1)
	}
	_, _, err = g.AdvanceAll(ctx, 32*24*time.Hour)
	require.NoError(t, err)
	invoices, err := g.Invoices(ctx, c, "")
	require.NoError(t, err)
	renewal, first := invoices[0], invoices[1]
	assert.That(t, len(renewal.Lines) == 10 && renewal.HasMoreLines, "%d lines of the renewal", len(renewal.Lines))
	assert.That(t, len(first.Lines) == 1 && !first.HasMoreLines, "%d lines of the first invoice", len(first.Lines))
}
