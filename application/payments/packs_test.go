package payments_test

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// selling returns a service that sells a credit pack, and has a workspace with a card.
func selling(t *testing.T) *mockedService {
	s := mockedWith(t, customer("pm_1"))
	s.terms.CreditPacks = payment.Plans{{ID: "pack", Price: payment.Money{Amount: 500, Currency: "usd"},
		PriceRef: "price_pack", Limits: map[string]int64{"messages": 10}}}
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
	return s
}

func sold(key string, status payment.InvoiceStatus) payment.Invoice {
	return payment.Invoice{ID: "in_1", Status: status, PaidAt: now, Total: 1000, Pack: &payment.PackSale{Pack: "pack",
		Quantity: 2, Limits: map[string]int64{"messages": 10}, Key: key}}
}

var twoPacks = payment.PackRequest{Pack: "pack", Quantity: 2}

func TestCreditPacksAreBought(t *testing.T) {
	t.Run("by an operation that is stored before the call", func(t *testing.T) {
		s := selling(t)
		s.usageMeters.Buy(any, "k", payment.CustomerID("cus_1"), any).DoAndReturn(func(_ context.Context, _ string,
			_ payment.CustomerID, o payment.PackOrder) (payment.InvoicePayment, error) {
			assert.That(t, s.kept.Pending != nil && o.Quantity == 2 && o.Method == "pm_1" &&
				o.Pack.Limits["messages"] == 10,
				"%+v, %+v", o, s.kept.Pending)
			return payment.InvoicePayment{Invoice: sold("k", payment.Paid)}, nil
		})
		p, err := s.BuyPack(s.ctx, owner, "k", twoPacks)
		require.NoError(t, err)
		assert.That(t, p.Invoice.Status == payment.Paid && s.kept.Pending == nil && len(s.kept.Invoices) == 1, "%+v",
			s.kept)
	})
	t.Run("a call that was settled returns the invoice again, and buys nothing", func(t *testing.T) {
		s := selling(t)
		s.kept.Done = []payment.DoneCall{{Key: "k", At: now}}
		s.subscriptions.Invoices(any, any, any).AnyTimes().Return([]payment.Invoice{sold("k", payment.Paid)}, nil)
		s.payments.EXPECT().Invoices(any, identity.WorkspaceID("acme"), "sandbox", payment.InvoiceStatus(""),
			any).Return(
			payment.InvoicePage{Items: []payment.Invoice{sold("other", payment.Paid), sold("k", payment.Paid)}}, nil)
		p, err := s.BuyPack(s.ctx, owner, "k", twoPacks)
		require.NoError(t, err)
		assert.Equal(t, "the key of the invoice", p.Invoice.Pack.Key, "k")
	})
	t.Run("what is not sold is refused before the call", func(t *testing.T) {
		s := selling(t)
		_, err := s.BuyPack(s.ctx, owner, "k", payment.PackRequest{Pack: "none", Quantity: 1})
		require.ErrorIs(t, err, payment.ErrPackNotFound)
		s.unsold = true
		_, err = s.BuyPack(s.ctx, owner, "k", twoPacks)
		require.ErrorIs(t, err, payment.ErrPackUnavailable)
		_, err = s.BuyPack(s.ctx, member, "k", twoPacks)
		require.ErrorIs(t, err, payment.ErrRoleRequired)
	})
	t.Run("a decline leaves nothing pending", func(t *testing.T) {
		s := selling(t)
		s.usageMeters.Buy(any, "k", any, any).Return(payment.InvoicePayment{},
			&payment.DeclinedError{DeclineCode: "lost_card"})
		_, err := s.BuyPack(s.ctx, owner, "k", twoPacks)
		require.ErrorIs(t, err, payment.ErrCardDeclined)
		assert.That(t, s.kept.Pending == nil && len(s.kept.Done) == 0, "%+v", s.kept)
	})
	runInBubble(t, "a call without a response stays pending until the job repeats it", func(t *testing.T) {
		s, lost := selling(t), true
		s.usageMeters.Buy(any, "k", any, any).AnyTimes().DoAndReturn(func(context.Context, string, payment.CustomerID,
			payment.PackOrder) (payment.InvoicePayment, error) {
			if lost {
				return payment.InvoicePayment{}, payment.ErrGatewayTimeout
			}
			return payment.InvoicePayment{Invoice: sold("k", payment.Paid)}, nil
		})
		_, err := s.BuyPack(s.ctx, owner, "k", twoPacks)
		require.ErrorIs(t, err, payment.ErrGatewayTimeout)
		require.That(t, s.kept.Pending != nil && len(s.kept.Invoices) == 0, "%+v", s.kept)
		lost = false
		require.NoError(t, s.Reconcile(s.ctx, system))
		assert.That(t, s.kept.Pending == nil && len(s.kept.Invoices) == 1, "%+v", s.kept)
	})
	for name, tt := range map[string]struct {
		status    payment.InvoiceStatus
		isSettled bool
	}{"paid": {payment.Paid, true}, "open": {payment.Open, true}, "void": {payment.Void, false}} {
		runInBubble(t, "a call that is too old to be repeated is looked up: "+name, func(t *testing.T) {
			s := selling(t)
			s.kept.Pending = &payment.Operation{Kind: payment.Buy, Key: "k", At: now.Add(-24 * time.Hour), Plan: "pack",
				Sold: &s.terms.CreditPacks[0], Quantity: 2}
			s.subscriptions.Invoices(any, any, any).AnyTimes().Return([]payment.Invoice{sold("k", tt.status)}, nil)
			require.NoError(t, s.Reconcile(s.ctx, system))
			assert.That(t, s.kept.Pending == nil && (len(s.kept.Invoices) == 1) == (tt.status == payment.Paid) &&
				(recordedFailure(s.kept) == !tt.isSettled), "%+v", s.kept)
		})
	}
}

// recordedFailure reports whether the last operation of c has failed.
func recordedFailure(c *payment.Customer) bool {
	for _, e := range c.Recorded() {
		if e.Type == "subscription.request_failed" {
			return true
		}
	}
	return false
}

func TestCreditPacksCountInEntitlements(t *testing.T) {
	s := onBasic(t)
	s.terms.Losses = payment.LossRules{OnRefund: payment.EndPlan}
	s.usage.EXPECT().Amounts(any, any, any).AnyTimes()
	s.meters.EXPECT().Sums(any, any, any).AnyTimes().Return(
		map[string]payment.Tally{"messages": {Used: 13, FromPacks: 3}}, nil)
	packOf := func(granted int64, expiry time.Time, isRefunded bool) payment.CreditPack {
		return payment.CreditPack{Pack: "pack", Feature: "messages", Granted: granted, ExpiresAt: expiry,
			IsRefunded: isRefunded}
	}
	s.packs = []payment.CreditPack{packOf(20, time.Time{}, false), packOf(5, now.Add(time.Hour), false),
		packOf(99, now, false), packOf(99, time.Time{}, true)}
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, payment.ErrGatewayTimeout)
	e, err := s.Entitlements(s.ctx, member)
	require.NoError(t, err)
	a := e.Allowance("messages") // 10 of the plan
	assert.That(t, a.Limit == 38 && a.Used == 13 && len(a.Packs) == 2 && a.Packs[0].Granted == 5, "%+v", a)
}

func TestCreditPacksExpire(t *testing.T) {
	packOf := func(expiry time.Time) payment.CreditPack {
		return payment.CreditPack{Pack: "pack", Feature: "messages", Granted: 5, ExpiresAt: expiry}
	}
	all := func(packs ...payment.CreditPack) []payment.CreditPack { return packs }
	for name, tt := range map[string]struct {
		packs      []payment.CreditPack
		hasExpired bool
		wait       time.Duration // for the next audit
	}{
		"none":                                    {all(), false, payment.AuditEvery},
		"one that does not expire":                {all(packOf(time.Time{})), false, payment.AuditEvery},
		"one that expires later than a day":       {all(packOf(now.AddDate(0, 0, 2))), false, payment.AuditEvery},
		"one that expires soon has an audit then": {all(packOf(now.Add(time.Hour))), false, time.Hour},
		"what has expired is recorded":            {all(packOf(now)), true, payment.AuditEvery},
		"beside one that expires before long":     {all(packOf(now.Add(-1)), packOf(now.Add(9))), true, 9},
	} {
		t.Run(name, func(t *testing.T) {
			s := mockedWith(t, customer("pm_1"))
			s.packs = tt.packs
			s.customers.Wallet(any, any).AnyTimes().Return(payment.Wallet{}, payment.ErrGatewayUnavailable)
			if tt.hasExpired {
				s.meters.EXPECT().ExpirePacks(any, any, "sandbox", payment.PackRules{Now: now}).Return(nil)
			}
			require.ErrorIs(t, s.Audit(s.ctx, system), payment.ErrGatewayUnavailable) // also while the gateway is down
			assert.Equal(t, "the next audit", s.queued[payment.AuditJob].Due, now.Add(tt.wait))
		})
	}
}
