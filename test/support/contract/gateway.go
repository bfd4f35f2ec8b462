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
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
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

	// CheckOut completes a checkout page, as the payer, with a test card, or without a payment method if last4 is
	// empty. It reports whether the page was open and accepted that.
	CheckOut func(t *testing.T, url, last4 string) bool

	// Advance moves the gateway's clock forward.
	Advance func(t *testing.T, d time.Duration)

	// Keep makes the next change fail without an effect, by a failure that the gateway keeps under the key.
	Keep func(t *testing.T)

	// Lose drops the responses of the next n calls, after they have taken effect.
	Lose func(n int)

	// Refund pays an invoice back, or an amount of it, and Credit makes a credit note, as a person at the gateway does.
	Refund, Credit func(t *testing.T, i payment.InvoiceID, amount int64)

	// Dispute opens a dispute about an invoice's payment, or an inquiry, and CloseDispute closes it.
	Dispute      func(t *testing.T, i payment.InvoiceID, isInquiry bool) (id string)
	CloseDispute func(t *testing.T, id string, isWon bool)

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
		"refunds, credit notes and disputes are read with invoices":         gatewayRefunds,
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
		"operators give free periods, longer trials and credits":            gatewayAdjustments,
		"a plan is paid by transfer":                                        gatewayTransfers,
		"credit packs are bought once":                                      gatewayPacks,
		"add-ons are bought with a plan":                                    gatewayBundles,
		"a price has options in other currencies":                           gatewayCurrencies,
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
			require.That(t, live == nil, "two live: %+v", all)
			live = &h
		}
	}
	return live
}

// paid returns the sum that a customer has paid so far, and the number of invoices.
func (g GatewayStage) paid(t *testing.T, c payment.CustomerID) (sum int64, invoices int) {
	t.Helper()
	all, err := g.Invoices(t.Context(), c, "")
	must(t, err)
	for i, in := range all {
		if in.Status == payment.Paid {
			sum += in.AmountPaid
		}
		assert.That(t, i == 0 || !in.CreatedAt.After(all[i-1].CreatedAt), "invoices are not newest first")
	}
	return sum, len(all)
}

func wantDecline(t *testing.T, err error, code string) {
	t.Helper()
	d, ok := errors.AsType[*payment.DeclinedError](err)
	require.That(t, ok && d.DeclineCode == code, "error = %v, want a decline with %s", err, code)
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
		require.That(t, c == ids[0] && c != "", "customers = %v", ids)
	}
	other := g.customer(t)
	assert.That(t, other != ids[0], "another key found the same customer")
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
	second, err := g.CreateSetupIntent(ctx, k, c, payment.OffSession)
	must(t, err)
	assert.That(t, intent.ID != "" && intent.ID == second.ID && !intent.ClientSecret.IsZero() &&
		intent.ClientSecret.Reveal() == second.ClientSecret.Reveal() && intent.Status == "requires_payment_method",
		"%+v, then %+v", intent, second)
	one, two := g.AddCard(t, c, "4242"), g.AddCard(t, c, "4444")
	w, err := g.Wallet(ctx, c)
	assert.That(t, err == nil && w.Default == "", "a method that is added is the default at once: %+v, %v", w, err)
	must(t, g.SetDefault(ctx, key(), c, two))
	must(t, g.SetDefault(ctx, key(), c, two))
	w, err = g.Wallet(ctx, c)
	must(t, err)
	require.That(t, len(w.Methods) == 2 && w.Default == two, "%+v", w)
	for _, m := range w.Methods {
		assert.That(t, m.Type == "card" && (m.ID != one || (m.Brand == "visa" && m.Last4 == "4242")) &&
			(m.ID != two || (m.Brand == "mastercard" && m.Last4 == "4444")) && m.ExpYear >= 2026 &&
			!m.CreatedAt.IsZero(), "%+v", m)
	}
	must(t, g.Detach(ctx, key(), c, two))
	must(t, g.Detach(ctx, key(), c, two))
	must(t, g.Detach(ctx, key(), c, "pm_never_there"))
	w, err = g.Wallet(ctx, c)
	must(t, err)
	assert.That(t, len(w.Methods) == 1 && w.Methods[0].ID == one && w.Default == "", "%+v", w)
}

func gatewaySubscriptions(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	k := key()
	first, err := g.Subscribe(ctx, k, c, g.order(0))
	must(t, err)
	second, err := g.Subscribe(ctx, k, c, g.order(0))
	must(t, err)
	same(t, "again", second.ID, first.ID)
	got := g.only(t, c)
	same(t, "as it is read", *got, first)
	assert.That(t, got.Status == payment.Active && got.Plan == g.Plans[0].ID && got.Quantity == 2 && got.Key == k &&
		got.Customer == c && got.Action == nil && got.PeriodEnd.After(got.PeriodStart.AddDate(0, 0, 27)), "%+v", got)
	sum, n := g.paid(t, c)
	assert.That(t, sum == 2*g.Plans[0].Price.Amount && n == 1, "paid %d by %d invoices", sum, n)
	must(t, g.Cancel(ctx, key(), c, first.ID, payment.Cancellation{}))
	must(t, g.Cancel(ctx, key(), c, first.ID, payment.Cancellation{}))
	assert.That(t, g.only(t, c) == nil, "it lives still")
}

func gatewayDeclines(t *testing.T, g GatewayStage) {
	c := g.customer(t, "0341")
	k := key()
	_, err := g.Subscribe(t.Context(), k, c, g.order(0))
	wantDecline(t, err, "generic_decline")
	assert.That(t, g.only(t, c) == nil, "a subscription is left")
	_, err = g.Subscribe(t.Context(), k, c, g.order(0))
	wantDecline(t, err, "generic_decline")
	g.wantPaid(t, c, 0)
}

func gatewayActions(t *testing.T, g GatewayStage) {
	c := g.customer(t, "3155")
	h := g.mustSubscribe(t, c, g.order(0))
	require.That(t, h.Status == payment.Incomplete && h.Action != nil && h.Action.Type == payment.ConfirmPayment &&
		!h.Action.ClientSecret.IsZero(), "%+v", h)
	read := g.only(t, c)
	assert.That(t, read.Action != nil && read.Action.ClientSecret.Reveal() == h.Action.ClientSecret.Reveal(),
		"%+v", read)
	g.Authenticate(t, c, h.Action)
	if got := g.only(t, c); got.ID != h.ID || got.Status != payment.Active || got.Action != nil {
		t.Errorf("%+v", got)
	}
	sum, n := g.paid(t, c)
	assert.That(t, sum == 2*g.Plans[0].Price.Amount && n == 1, "paid %d by %d invoices", sum, n)
	t.Run("an incomplete subscription expires after a day", func(t *testing.T) {
		c := g.customer(t, "3155")
		g.mustSubscribe(t, c, g.order(0))
		g.Advance(t, 24*time.Hour)
		got := g.only(t, c)
		assert.That(t, got == nil, "%+v", got)
	})
}

func gatewayKeys(t *testing.T, g GatewayStage) {
	c := g.customer(t, "4242")
	k := key()
	h, err := g.Subscribe(t.Context(), k, c, g.order(0))
	must(t, err)
	_, err = g.Subscribe(t.Context(), k, c, g.order(1))
	_, isRefused := errors.AsType[*payment.Rejection](err)
	assert.That(t, isRefused, "error = %v, want a rejection", err)
	same(t, "the subscription", *g.only(t, c), h)
}

func gatewayTime(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, g.order(0))
	g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
	next := g.only(t, c)
	require.That(t, next.PeriodStart.Equal(h.PeriodEnd) && next.Status == payment.Active, "%+v", next)
	sum, n := g.paid(t, c)
	assert.That(t, sum == 4*g.Plans[0].Price.Amount && n == 2, "paid %d by %d", sum, n)
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "0341")))
	g.Advance(t, next.PeriodEnd.Sub(next.PeriodStart))
	got := g.only(t, c)
	require.That(t, got.Status == payment.PastDue && got.PeriodStart.Equal(next.PeriodEnd), "%+v", got)
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "4242")))
	g.Advance(t, 8*24*time.Hour)
	got = g.only(t, c)
	require.That(t, got.Status == payment.Active, "%+v", got)
	yes := true
	h = g.mustAmend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes})
	require.That(t, h.CancelAtPeriodEnd && h.Status == payment.Active, "%+v", h)
	g.Advance(t, 40*24*time.Hour)
	got = g.only(t, c)
	assert.That(t, got == nil, "%+v", got)
}

func gatewayLostAnswers(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	lost := func(err error) {
		t.Helper()
		require.That(t, payment.OutcomeUnknown(err), "error = %v, want one that leaves the outcome open", err)
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
	upper := payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true}
	k = key()
	g.Lose(1)
	_, err = g.Amend(ctx, k, c, h.ID, upper)
	lost(err)
	_, err = g.Amend(ctx, k, c, h.ID, upper)
	must(t, err)
	_, n := g.paid(t, c)
	assert.Equal(t, "invoices", n, 2)
}
