package contract

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// keeps fails t unless call fails with a failure that the gateway keeps: first as any failure, then as a kept one.
func (g GatewayStage) keeps(t *testing.T, call func() error) {
	t.Helper()
	g.Keep(t)
	if err := call(); !errors.Is(err, payment.ErrGatewayUnavailable) || !payment.OutcomeUnknown(err) {
		t.Fatalf("first: %v", err)
	}
	for range 2 {
		err := call()
		_, isKept := errors.AsType[*payment.KeptFailure](err)
		require.That(t, isKept && payment.OutcomeUnknown(err), "again: %v, want a failure that is kept", err)
	}
}

func gatewayKeptFailures(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	create := func(k string) error {
		_, err := g.CreateCustomer(ctx, k, payment.Details{Name: "Acme"})
		return err
	}
	k := key()
	g.keeps(t, func() error { return create(k) })
	must(t, create(key()))
	c := g.customer(t, "4242")
	intent := func(k string) error {
		_, err := g.CreateSetupIntent(ctx, k, c, payment.OffSession)
		return err
	}
	k = key()
	g.keeps(t, func() error { return intent(k) })
	must(t, intent(key()))
	subscribe := func(k string) error {
		_, err := g.Subscribe(ctx, k, c, g.order(0))
		return err
	}
	k = key()
	g.keeps(t, func() error { return subscribe(k) })
	got := g.only(t, c)
	assert.That(t, got == nil, "%+v", got)
	must(t, subscribe(key()))
	sum, n := g.paid(t, c)
	assert.That(t, sum == 2*g.Plans[0].Price.Amount && n == 1, "paid %d by %d invoices", sum, n)
}

func gatewayProration(t *testing.T, g GatewayStage) {
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, payment.Order{Plan: g.Plans[1], Quantity: 1})
	g.mustAmend(t, c, h.ID, g.more(2))
	if i := g.newest(t, c, payment.Paid); i.Total != g.Plans[1].Price.Amount {
		t.Errorf("the second unit costs %d, want %d", i.Total, g.Plans[1].Price.Amount)
	}
}

func gatewayStrangers(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	_, walletErr := g.Wallet(ctx, "cus_never_there")
	_, subscribeErr := g.Subscribe(ctx, key(), "cus_never_there", g.order(0))
	for _, err := range []error{walletErr, subscribeErr} {
		_, isRefused := errors.AsType[*payment.Rejection](err)
		assert.That(t, isRefused, "error = %v, want a rejection", err)
	}
	wantErr(t, walletErr, payment.ErrCustomerGone)
}
