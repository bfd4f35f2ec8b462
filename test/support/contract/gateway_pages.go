package contract

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

func (g GatewayStage) checkout(plan int) payment.CheckoutOrder {
	return payment.CheckoutOrder{
		Plan: g.Plans[plan], Quantity: 2,
		SuccessURL: "https://app.example.com/yes", CancelURL: "https://app.example.com/no",
	}
}

func gatewayCheckouts(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c, k := g.customer(t), key()
	url, err := g.Checkout(ctx, k, c, g.checkout(0))
	must(t, err)
	again, err := g.Checkout(ctx, k, c, g.checkout(0))
	must(t, err)
	same(t, "the same key", again, url)
	if g.only(t, c) != nil {
		t.Fatal("a page starts a subscription without a payer")
	}
	if !g.CheckOut(t, url, "4242") {
		t.Fatal("the page is not open")
	}
	h := g.only(t, c)
	if h == nil || h.Plan != g.Plans[0].ID || h.Quantity != 2 || h.Status != payment.Active || h.Key != k {
		t.Fatalf("%+v", h)
	}
	if sum, _ := g.paid(t, c); sum != 2*g.Plans[0].Price.Amount {
		t.Errorf("paid %d", sum)
	}
	t.Run("the customer's default is charged once it is set", func(t *testing.T) {
		bad := g.AddCard(t, c, "0341")
		must(t, g.SetDefault(ctx, key(), c, bad))
		g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart)+time.Minute)
		same(t, "status", g.only(t, c).Status, payment.PastDue)
	})
	t.Run("pages end", func(t *testing.T) {
		c := g.customer(t)
		url, err := g.Checkout(ctx, key(), c, g.checkout(0))
		must(t, err)
		for range 2 {
			must(t, g.EndCheckouts(ctx, c))
		}
		if g.CheckOut(t, url, "4242") || g.only(t, c) != nil {
			t.Error("a payer started a subscription on a page that had ended")
		}
		url, err = g.Checkout(ctx, key(), c, g.checkout(0))
		must(t, err)
		g.Advance(t, payment.CheckoutLasts+time.Minute)
		if g.CheckOut(t, url, "4242") || g.only(t, c) != nil {
			t.Error("a payer started a subscription on an old page")
		}
	})
	t.Run("a trial", func(t *testing.T) {
		c, o := g.customer(t), g.checkout(0)
		o.TrialDays = 14
		url, err := g.Checkout(ctx, key(), c, o)
		must(t, err)
		if !g.CheckOut(t, url, "4242") {
			t.Fatal("the page is not open")
		}
		if h := g.only(t, c); h == nil || h.Status != payment.Trialing {
			t.Errorf("%+v", h)
		}
		if sum, _ := g.paid(t, c); sum != 0 {
			t.Errorf("paid %d", sum)
		}
	})
	_, err = g.Checkout(ctx, key(), "cus_never_there", g.checkout(0))
	if err == nil || payment.OutcomeUnknown(err) {
		t.Errorf("a customer that does not exist: %v", err)
	}
}

func gatewayPortals(t *testing.T, g GatewayStage) {
	url, err := g.Portal(t.Context(), g.customer(t), "https://app.example.com/back")
	must(t, err)
	if url == "" || strings.Contains(url, "app.example.com") {
		t.Errorf("%q", url)
	}
	_, err = g.Portal(t.Context(), "cus_never_there", "https://app.example.com/back")
	if err == nil || payment.OutcomeUnknown(err) {
		t.Errorf("a customer that does not exist: %v", err)
	}
}
