package contract

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// GatewayStage is a gateway with a test clock and a payer.
type GatewayStage struct {
	ports.Gateway
	Plans payment.Plans // two monthly plans, the second more expensive, a yearly one, and one with a metered price

	// AddCard adds the test card with these last four digits, and passes its bank's authentication.
	AddCard func(t *testing.T, c payment.CustomerID, last4 string) payment.MethodID

	// Confirm tries a test card on a setup intent, as the payer's browser does, and reports whether it was added.
	Confirm func(t *testing.T, c payment.CustomerID, i payment.SetupIntent, last4 string) bool

	// Authenticate completes, as the payer, the authentication that a subscription waits for.
	Authenticate func(t *testing.T, c payment.CustomerID, a *payment.Action)

	// CheckOut completes a checkout page, as the payer, with a test card, and reports whether the page was open.
	CheckOut func(t *testing.T, url, last4 string) bool

	// Advance moves the gateway's clock forward.
	Advance func(t *testing.T, d time.Duration)

	// Keep makes the next change fail without an effect, by a failure that the gateway keeps under the key.
	Keep func(t *testing.T)

	// Lose drops the responses of the next n calls, after they have taken effect.
	Lose func(n int)

	Elsewhere Elsewhere
}

// Gateway is the suite for ports.Gateway.
func Gateway(t *testing.T, open func(*testing.T) GatewayStage) {
	for name, test := range map[string]func(*testing.T, GatewayStage){
		"a customer is created once per key":                                gatewayCustomers,
		"methods are added, made the default and removed":                   gatewayWallets,
		"an incomplete subscription can be given up unless it was paid":     gatewayGivenUp,
		"setup intents are cancelled":                                       gatewayIntents,
		"another customer's method is not found":                            gatewayForeignMethods,
		"a subscription is created once per key":                            gatewaySubscriptions,
		"a declined charge leaves no subscription":                          gatewayDeclines,
		"a subscription that requires authentication is incomplete":         gatewayActions,
		"an upgrade is billed now, a downgrade takes effect at renewal":     gatewayAmendments,
		"a change that cannot be charged changes nothing":                   gatewayDeclinedAmendments,
		"a change that cannot be charged keeps the scheduled change":        gatewayKeptAmendments,
		"what was not paid is not deducted from a change":                   gatewayUnpaidAmendments,
		"a key cannot be used for another order":                            gatewayKeys,
		"a scheduled change can be replaced until renewal":                  gatewayRenewals,
		"a subscription that ends with its period is not changed otherwise": gatewayEndings,
		"a subscription renews with time, and ends if it was cancelled":     gatewayTime,
		"an open invoice is paid once":                                      gatewayPayments,
		"a payment that requires authentication waits for the payer":        gatewayPaymentActions,
		"a renewal that requires authentication has an action":              gatewayRenewalActions,
		"an unpaid subscription is active again when its newest is paid":    gatewayUnpaid,
		"a change that requires authentication waits for the payer":         gatewayConfirmations,
		"a change that waits for the payer can lapse or be replaced":        gatewayLapses,
		"what is left of a payment is credited":                             gatewayCredits,
		"a failure that is kept is final for its key, and for no other":     gatewayKeptFailures,
		"what is added at once costs its price":                             gatewayProration,
		"a change costs what its preview says":                              gatewayPreviews,
		"what describes a customer is replaced, and shown on invoices":      gatewayDetails,
		"a card has one fingerprint at all customers":                       gatewayFingerprints,
		"automatic tax needs an address":                                    gatewayTaxes,
		"a payer starts a subscription on a page until it ends":             gatewayCheckouts,
		"a paused subscription costs nothing":                               gatewayPauses,
		"the reason of a cancellation is stored":                            gatewayReasons,
		"usage is billed when the period ends":                              gatewayMeters,
		"usage is billed when the subscription ends":                        gatewayMeteredEnds,
		"a portal has an address":                                           gatewayPortals,
		"a trial costs nothing until it ends":                               gatewayTrials,
		"a trial that ends early is paid at once":                           gatewayTrialsEnded,
		"a call whose response was lost can be repeated with the same key":  gatewayLostAnswers,
		"a customer that does not exist is refused":                         gatewayStrangers,
		"a promotion code reduces invoices":                                 gatewayPromotions,
		"a discount lasts as long as its coupon says":                       gatewayDiscountDurations,
		"a change can carry a promotion code":                               gatewayPromotedChanges,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func key() string { return id.New("key") }

func (g GatewayStage) customer(t *testing.T, cards ...string) payment.CustomerID {
	t.Helper()
	c, err := g.CreateCustomer(t.Context(), key(), payment.Details{Name: "Acme", Email: "ann@example.com"})
	must(t, err)
	for _, last4 := range cards {
		must(t, g.SetDefault(t.Context(), key(), c, g.AddCard(t, c, last4)))
	}
	return c
}

func (g GatewayStage) order(plan int) payment.Order {
	return payment.Order{Plan: g.Plans[plan], Quantity: 2}
}

// only returns the one live subscription of a customer, or nil.
func (g GatewayStage) only(t *testing.T, c payment.CustomerID) *payment.GatewaySubscription {
	t.Helper()
	all, err := g.Subscriptions(t.Context(), c)
	must(t, err)
	var live *payment.GatewaySubscription
	for _, h := range all {
		if h.Status.Live() {
			if live != nil {
				t.Fatalf("two live: %+v", all)
			}
			live = &h
		}
	}
	return live
}

// paid returns the sum that a customer has paid so far, and the number of invoices.
func (g GatewayStage) paid(t *testing.T, c payment.CustomerID) (sum int64, invoices int) {
	t.Helper()
	all, err := g.Invoices(t.Context(), c)
	must(t, err)
	for i, in := range all {
		if in.Status == payment.Paid {
			sum += in.AmountPaid
		}
		if i > 0 && in.CreatedAt.After(all[i-1].CreatedAt) {
			t.Errorf("invoices are not newest first")
		}
	}
	return sum, len(all)
}

func wantDecline(t *testing.T, err error, code string) {
	t.Helper()
	if d, is := errors.AsType[*payment.DeclinedError](err); !is || d.DeclineCode != code {
		t.Fatalf("error = %v, want a decline with %s", err, code)
	}
}

func gatewayCustomers(t *testing.T, g GatewayStage) {
	k := key()
	ids := make([]payment.CustomerID, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], err = g.CreateCustomer(context.Background(), k, payment.Details{Name: "Acme"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, c := range ids {
		if c != ids[0] || c == "" {
			t.Fatalf("customers = %v", ids)
		}
	}
	if other := g.customer(t); other == ids[0] {
		t.Error("another key found the same customer")
	}
	w, err := g.Wallet(t.Context(), ids[0])
	must(t, err)
	same(t, "wallet", w, payment.Wallet{})
}

func gatewayWallets(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t)
	k := key()
	intent, err := g.CreateSetupIntent(ctx, k, c, payment.OffSession)
	must(t, err)
	again, err := g.CreateSetupIntent(ctx, k, c, payment.OffSession)
	must(t, err)
	if intent.ID == "" || intent.ID != again.ID || intent.ClientSecret.IsZero() ||
		intent.ClientSecret.Reveal() != again.ClientSecret.Reveal() || intent.Status != "requires_payment_method" {
		t.Errorf("%+v, then %+v", intent, again)
	}
	one, two := g.AddCard(t, c, "4242"), g.AddCard(t, c, "4444")
	if w, err := g.Wallet(ctx, c); err != nil || w.Default != "" {
		t.Errorf("a method that is added is the default at once: %+v, %v", w, err)
	}
	must(t, g.SetDefault(ctx, key(), c, two))
	must(t, g.SetDefault(ctx, key(), c, two))
	w, err := g.Wallet(ctx, c)
	must(t, err)
	if len(w.Methods) != 2 || w.Default != two {
		t.Fatalf("%+v", w)
	}
	for _, m := range w.Methods {
		if m.Type != "card" || (m.ID == one && (m.Brand != "visa" || m.Last4 != "4242")) || (m.ID == two &&
			(m.Brand != "mastercard" || m.Last4 != "4444")) || m.ExpYear < 2026 || m.CreatedAt.IsZero() {
			t.Errorf("%+v", m)
		}
	}
	must(t, g.Detach(ctx, key(), c, two))
	must(t, g.Detach(ctx, key(), c, two))
	must(t, g.Detach(ctx, key(), c, "pm_never_there"))
	w, err = g.Wallet(ctx, c)
	must(t, err)
	if len(w.Methods) != 1 || w.Methods[0].ID != one || w.Default != "" {
		t.Errorf("%+v", w)
	}
}

func gatewaySubscriptions(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	k := key()
	first, err := g.Subscribe(ctx, k, c, g.order(0))
	must(t, err)
	again, err := g.Subscribe(ctx, k, c, g.order(0))
	must(t, err)
	same(t, "again", again.ID, first.ID)
	got := g.only(t, c)
	same(t, "as it is read", *got, first)
	if got.Status != payment.Active || got.Plan != g.Plans[0].ID || got.Quantity != 2 || got.Key != k ||
		got.Customer != c || got.Action != nil || !got.PeriodEnd.After(got.PeriodStart.AddDate(0, 0, 27)) {
		t.Errorf("%+v", got)
	}
	if sum, n := g.paid(t, c); sum != 2*g.Plans[0].Price.Amount || n != 1 {
		t.Errorf("paid %d by %d invoices", sum, n)
	}
	must(t, g.Cancel(ctx, key(), c, first.ID, payment.Cancellation{}))
	must(t, g.Cancel(ctx, key(), c, first.ID, payment.Cancellation{}))
	if g.only(t, c) != nil {
		t.Error("it lives still")
	}
}

func gatewayDeclines(t *testing.T, g GatewayStage) {
	c := g.customer(t, "0341")
	k := key()
	_, err := g.Subscribe(t.Context(), k, c, g.order(0))
	wantDecline(t, err, "generic_decline")
	if g.only(t, c) != nil {
		t.Error("a subscription is left")
	}
	_, err = g.Subscribe(t.Context(), k, c, g.order(0))
	wantDecline(t, err, "generic_decline")
	if sum, _ := g.paid(t, c); sum != 0 {
		t.Errorf("paid %d", sum)
	}
}

func gatewayActions(t *testing.T, g GatewayStage) {
	c := g.customer(t, "3155")
	h, err := g.Subscribe(t.Context(), key(), c, g.order(0))
	must(t, err)
	if h.Status != payment.Incomplete || h.Action == nil || h.Action.Type != payment.ConfirmPayment ||
		h.Action.ClientSecret.IsZero() {
		t.Fatalf("%+v", h)
	}
	read := g.only(t, c)
	if read.Action == nil || read.Action.ClientSecret.Reveal() != h.Action.ClientSecret.Reveal() {
		t.Errorf("%+v", read)
	}
	g.Authenticate(t, c, h.Action)
	if got := g.only(t, c); got.ID != h.ID || got.Status != payment.Active || got.Action != nil {
		t.Errorf("%+v", got)
	}
	if sum, n := g.paid(t, c); sum != 2*g.Plans[0].Price.Amount || n != 1 {
		t.Errorf("paid %d by %d invoices", sum, n)
	}
	t.Run("an incomplete subscription expires after a day", func(t *testing.T) {
		c := g.customer(t, "3155")
		_, err := g.Subscribe(t.Context(), key(), c, g.order(0))
		must(t, err)
		g.Advance(t, 24*time.Hour)
		if got := g.only(t, c); got != nil {
			t.Errorf("%+v", got)
		}
	})
}

func gatewayKeys(t *testing.T, g GatewayStage) {
	c := g.customer(t, "4242")
	k := key()
	h, err := g.Subscribe(t.Context(), k, c, g.order(0))
	must(t, err)
	_, err = g.Subscribe(t.Context(), k, c, g.order(1))
	if _, refused := errors.AsType[*payment.Rejection](err); !refused {
		t.Errorf("error = %v, want a rejection", err)
	}
	same(t, "the subscription", *g.only(t, c), h)
}

func gatewayTime(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	h, err := g.Subscribe(ctx, key(), c, g.order(0))
	must(t, err)
	g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
	next := g.only(t, c)
	if !next.PeriodStart.Equal(h.PeriodEnd) || next.Status != payment.Active {
		t.Fatalf("%+v", next)
	}
	if sum, n := g.paid(t, c); sum != 4*g.Plans[0].Price.Amount || n != 2 {
		t.Errorf("paid %d by %d", sum, n)
	}
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "0341")))
	g.Advance(t, next.PeriodEnd.Sub(next.PeriodStart))
	if got := g.only(t, c); got.Status != payment.PastDue || !got.PeriodStart.Equal(next.PeriodEnd) {
		t.Fatalf("%+v", got)
	}
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "4242")))
	g.Advance(t, 8*24*time.Hour)
	if got := g.only(t, c); got.Status != payment.Active {
		t.Fatalf("%+v", got)
	}
	yes := true
	h, err = g.Amend(ctx, key(), c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes})
	must(t, err)
	if !h.CancelAtPeriodEnd || h.Status != payment.Active {
		t.Fatalf("%+v", h)
	}
	g.Advance(t, 40*24*time.Hour)
	if got := g.only(t, c); got != nil {
		t.Errorf("%+v", got)
	}
}

func gatewayLostAnswers(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	lost := func(err error) {
		t.Helper()
		if !payment.OutcomeUnknown(err) {
			t.Fatalf("error = %v, want one that leaves the outcome open", err)
		}
	}
	k := key()
	g.Lose(1)
	_, err := g.CreateCustomer(ctx, k, payment.Details{Name: "Acme"})
	lost(err)
	c, err := g.CreateCustomer(ctx, k, payment.Details{Name: "Acme"})
	must(t, err)
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "4242")))
	k = key()
	g.Lose(1)
	_, err = g.Subscribe(ctx, k, c, g.order(0))
	lost(err)
	h, err := g.Subscribe(ctx, k, c, g.order(0))
	must(t, err)
	same(t, "the subscription", g.only(t, c).ID, h.ID)
	up := payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true}
	k = key()
	g.Lose(1)
	_, err = g.Amend(ctx, k, c, h.ID, up)
	lost(err)
	_, err = g.Amend(ctx, k, c, h.ID, up)
	must(t, err)
	if _, n := g.paid(t, c); n != 2 {
		t.Errorf("%d invoices, want one for each change", n)
	}
}
