package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestReturnAddresses(t *testing.T) {
	live := payment.ReturnPolicy{Origins: []string{"https://app.example.com", "http://localhost:3000"}}
	sandbox := payment.ReturnPolicy{Loopback: true}
	for address, want := range map[string][2]string{ // the codes for each policy
		"https://app.example.com":             {"", "not_allowed_value"},
		"https://app.example.com/a?b=c#d":     {"", "not_allowed_value"},
		"https://app.example.com:8443/":       {"not_allowed_value", "not_allowed_value"},
		"https://app.example.com.evil.com/":   {"not_allowed_value", "not_allowed_value"},
		"http://app.example.com/":             {"invalid_format", "invalid_format"},
		"https://ann@app.example.com/":        {"invalid_format", "invalid_format"},
		"http://localhost:3000/billing":       {"", ""},
		"http://127.0.0.1:1":                  {"not_allowed_value", ""},
		"https://[::1]/":                      {"not_allowed_value", ""},
		"http://localhost.evil.com":           {"invalid_format", "invalid_format"},
		"//app.example.com":                   {"invalid_format", "invalid_format"},
		"javascript:alert(1)":                 {"invalid_format", "invalid_format"},
		"https:app.example.com":               {"invalid_format", "invalid_format"},
		"":                                    {"invalid_format", "invalid_format"},
		"https://app.example.com\r\nX: y":     {"invalid_format", "invalid_format"},
		"https://app.example.com\\@evil.com/": {"invalid_format", "invalid_format"},
	} {
		for i, policy := range []payment.ReturnPolicy{live, sandbox} {
			var errs fault.Fields
			policy.Check(&errs, "/url", address)
			code := ""
			if len(errs) > 0 {
				code = errs[0].Code
			}
			if code != want[i] {
				t.Errorf("%q by %+v: %q, want %q", address, policy, code, want[i])
			}
		}
	}
}

func TestCheckouts(t *testing.T) {
	c := customer()
	start := func(plan payment.PlanID, quantity int) payment.CheckoutRequest {
		return payment.CheckoutRequest{Plan: plan, Quantity: quantity, Key: "page"}
	}
	o, err := c.StartCheckout(owner, now, start("trial", 2), plans)
	require.NoError(t, err)
	assert.That(t, o.Plan.ID == "trial" && o.Quantity == 2 && o.TrialDays == 14 &&
		recorded(&c.Log) == "subscription.checkout_started ", "%+v, %s", o, recorded(&c.Log))
	last := now.Add(24 * time.Hour)
	assert.That(t, c.MayCheckOut(last.Add(-1)) && !c.MayCheckOut(last) && !customer().MayCheckOut(now),
		"%v", c.CheckoutUntil)
	previous := hadTrial(customer())
	if o, err := previous.StartCheckout(owner, now, start("trial", 1), plans); err != nil || o.TrialDays != 0 {
		t.Errorf("a second trial: %+v, %v", o, err)
	}
	empty := start("trial", 1)
	empty.NoTrial = true
	if o, err := customer().StartCheckout(owner, now, empty, plans); err != nil || o.TrialDays != 0 {
		t.Errorf("without a trial: %+v, %v", o, err)
	}
	pausedCustomer := customer()
	pausedCustomer.PausedAt = now
	for name, tt := range map[string]struct {
		c    *payment.Customer
		plan payment.PlanID
		err  error
	}{
		"a live subscription":        {active("basic"), "basic", payment.ErrSubscriptionExists},
		"one that waits for payment": {subscribed("basic", payment.Incomplete), "basic", payment.ErrSubscriptionExists},
		"an operation":               {pending(customer(), "other"), "basic", payment.ErrPending},
		"paused payments":            {pausedCustomer, "basic", payment.ErrPaused},
		"an unknown plan":            {customer(), "other", payment.ErrPlanNotFound},
		"an unavailable plan":        {customer(), "gone", payment.ErrPlanUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.c.StartCheckout(owner, now, start(tt.plan, 1), plans)
			require.ErrorIs(t, err, tt.err)
			assert.That(t, !tt.c.MayCheckOut(now), "it has begun")
		})
	}
	_, err = customer().StartCheckout(member, now, start("basic", 1), plans)
	require.ErrorIs(t, err, payment.ErrRoleRequired)
}

func TestOneCheckoutIsCreatedAtATime(t *testing.T) {
	c := customer()
	w := payment.CheckoutRequest{Plan: "basic", Quantity: 1, Key: "one"}
	_, err := c.StartCheckout(owner, now, w, plans)
	require.NoError(t, err)
	w.Ended = c.CheckoutUntil
	_, err = c.StartCheckout(owner, now, w, plans)
	require.ErrorIs(t, err, payment.ErrPending)
	_, err = c.Subscribe(owner, now, "k", payment.SubscribeRequest{Plan: "basic", Quantity: 1, Ended: w.Ended}, plans)
	require.ErrorIs(t, err, payment.ErrPending)
	require.ErrorIs(t, c.MayEndCheckouts(owner), payment.ErrPending)
	c.CheckoutCreated(now.Add(-time.Second))
	_, err = c.StartCheckout(owner, now, w, plans)
	require.ErrorIs(t, err, payment.ErrPending) // an earlier call has ended, not this one
	c.CheckoutCreated(now)
	require.NoError(t, c.MayEndCheckouts(owner))
	seen := w
	seen.Ended = now
	_, err = c.StartCheckout(owner, now, seen, plans)
	require.ErrorIs(t, err, payment.ErrPending) // its page may be open
	_, err = c.StartCheckout(owner, now, w, plans)
	require.NoError(t, err)
	laterActor := owner
	laterActor.At = now.Add(15 * time.Second) // the call did not end
	w.Ended = c.CheckoutUntil
	_, err = c.StartCheckout(laterActor, now, w, plans)
	require.NoError(t, err)
}

func TestTrialsOfCheckouts(t *testing.T) {
	begin := func() *payment.Customer {
		c := customer()
		_, err := c.StartCheckout(owner, now, payment.CheckoutRequest{Plan: "trial", Quantity: 1, Key: "page"}, plans)
		require.NoError(t, err)
		return c
	}
	c := begin()
	day := now.Add(24 * time.Hour)
	assert.That(t, !c.LapsedCheckoutTrial(day) && c.LapsedCheckoutTrial(day.Add(25*time.Hour)) &&
		!c.OnCheckoutTrial(), "%+v", c)
	for _, key := range []string{"page", "page" + payment.CheckoutAgain} {
		for _, isRefused := range []bool{false, true} {
			c := begin()
			c.Subscription = &payment.Subscription{ID: "sub_1", Plan: "trial", Status: payment.Trialing, Key: key}
			require.That(t, c.OnCheckoutTrial(), "%v", key)
			c.EndCheckoutTrial(owner, "another", isRefused)
			c.EndCheckoutTrial(owner, "page", isRefused)
			assert.That(t, !c.OnCheckoutTrial() && (c.Subscription == nil) == isRefused &&
				strings.Contains(recorded(&c.Log), "trial.refused subscription.ended") == isRefused,
				"%v: %+v, %s", isRefused, c.Subscription, recorded(&c.Log))
		}
	}
}

func TestAPageThatWasCreatedSinceHasNotEnded(t *testing.T) {
	c := customer()
	_, err := c.StartCheckout(owner, now, payment.CheckoutRequest{Plan: "basic", Quantity: 1, Key: "one"}, plans)
	require.NoError(t, err)
	end := c.CheckoutUntil
	assert.That(t, !c.CheckoutsEnded(owner, end) && c.CheckoutUntil == end, "the page that is being created has ended")
	c.CheckoutCreated(now)
	assert.That(t, !c.CheckoutsEnded(owner, end.Add(-1)) && c.CheckoutUntil == end,
		"a page has ended that was created since")
	assert.That(t, c.CheckoutsEnded(owner, end) && c.CheckoutUntil.IsZero() && !c.MayCheckOut(now),
		"open until %s", c.CheckoutUntil)
}

func TestAPageAsksForAPaymentMethodIfTheRulesWantOne(t *testing.T) {
	page := payment.CheckoutPage{IsMethodOptional: true, Locale: "de"}
	for name, tt := range map[string]struct {
		days       int
		rules      payment.TrialRules
		isOptional bool
		end        payment.TrialEnd
	}{
		"a trial": {14, payment.TrialRules{}, true, payment.CancelTrial},
		"a trial that is paused at its end": {14, payment.TrialRules{WithoutCard: payment.PauseTrial}, true,
			payment.PauseTrial},
		"a trial that requires a card": {14, payment.TrialRules{CardRequired: true}, false, ""},
		"no trial":                     {0, payment.TrialRules{CardRequired: true}, true, ""},
	} {
		o := payment.CheckoutOrder{TrialDays: tt.days}
		o.Show(page, tt.rules)
		assert.That(t, o.IsMethodOptional == tt.isOptional && o.TrialEnd == tt.end && o.Locale == "de", "%s: %+v",
			name, o)
	}
}
