package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdpfetch "github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// stripeScript stands in for https://js.stripe.com/v3/: it takes what the page must give it, and refuses anything else,
// as Stripe's script does. It has a card that is declined at first.
const stripeScript = `window.Stripe = (key, options) => {
	if (!/^pk_/.test(key)) throw new Error('not a publishable key')
	if (Object.keys(options).some((o) => o !== 'stripeAccount')) throw new Error('unknown option')
	let mounted = false, tries = 0
	return {
		elements({clientSecret, appearance}) {
			if (!/^seti_.+_secret_.+/.test(clientSecret)) throw new Error('not a client secret')
			if (!['stripe', 'night', 'flat'].includes(appearance.theme)) throw new Error('unknown theme')
			return {
				create(kind) {
					if (kind !== 'payment') throw new Error('unknown element')
					return {mount(at) {
						mounted = true
						document.querySelector(at).textContent = 'The form of Stripe'
					}}
				},
			}
		},
		async confirmSetup({elements, redirect, confirmParams}) {
			const back = new URL(confirmParams.return_url);
			if (!mounted || !elements || redirect !== 'if_required' || !back.protocol.startsWith('http')) {
				throw new Error('confirmSetup')
			}
			return tries++ === 0
				? {error: {type: 'card_error', message: 'Your card was declined.'}}
				: {setupIntent: {status: 'succeeded'}}
		},
	}
}`

// standsIn answers requests for Stripe's script in a tab.
func standsIn(ctx context.Context, t *testing.T) (askedCount *int) {
	t.Helper()
	askedCount = new(int)
	drive(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdpfetch.Enable, cdpfetch.EnableParams{
			Patterns: []*cdpfetch.RequestPattern{{URLPattern: "https://js.stripe.com/*"}},
		})
		return err
	}))
	pausedCall := chromedp.Events(ctx, cdpfetch.RequestPaused)
	go func() {
		for event, err := range pausedCall {
			if err != nil {
				return
			}
			*askedCount++
			_, _ = chromedp.Run(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, cdpfetch.FulfillRequest, cdpfetch.FulfillRequestParams{
					RequestID: event.RequestID, ResponseCode: 200,
					ResponseHeaders: []*cdpfetch.HeaderEntry{{Name: "Content-Type", Value: "text/javascript"}},
					Body:            []byte(stripeScript),
				})
				return err
			}))
		}
	}()
	return askedCount
}

func TestTheCardFormOfStripeIsADocumentOfItsOwn(t *testing.T) {
	t.Parallel()
	mock := services.StripeMock(t)
	s := start(t, sqlite, configured(fmt.Sprintf(`
orgs:
  - slug: default
    payments:
      gateway: stripe
      webhook_secrets: ['env:TEST_WEBHOOK_SECRET']
      stripe: {secret_key: 'env:TEST_STRIPE_KEY', publishable_key: pk_test_1, base_url: %q}
      plans:
        - {id: basic, name: Basic, price: {amount: 900, currency: usd}, interval: month, gateway_price: price_1}
        - {id: forint, name: Forint, price: {amount: 490000, currency: huf}, interval: month, gateway_price: price_2}
        - {id: yen, name: Yen, price: {amount: 500, currency: jpy}, interval: month, gateway_price: price_3}
        - {id: dinar, name: Dinar, price: {amount: 5120, currency: kwd}, interval: month, gateway_price: price_4}
`, mock)), knowsWebhookKey, func(d *deployment) { d.env = append(d.env, "TEST_STRIPE_KEY=sk_test_c4n4ry") })
	ann := s.user(t, "owner")
	ctx, console := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, ann.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "There are no prompts yet.")
	askedCount := standsIn(ctx, t)
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/"+ann.workspace+"/billing"))
	for _, price := range []string{"$9", "HUF\u00a04,900", "¥500", "KWD\u00a05.120"} {
		reads(ctx, t, price)
	}
	presses(ctx, t, "Add a payment method")
	reads(ctx, t, "The form of Stripe")
	keep(ctx, t, "console-card")
	if *askedCount != 1 {
		t.Errorf("Stripe's script was asked for %d times", *askedCount)
	}
	presses(ctx, t, "Save the payment method")
	reads(ctx, t, "Your card was declined.")
	presses(ctx, t, "Save the payment method")
	reads(ctx, t, "A new payment method can take a moment to appear here.")
	saysNothing(ctx, t, console)
	card, other := policyOf(t, s.url+"/console/card", 200), policyOf(t, s.url+"/console/w/default/billing", 200)
	for _, existing := range []string{"script-src 'self' https://js.stripe.com", "frame-ancestors 'none'"} {
		if !strings.Contains(card, existing) {
			t.Errorf("the policy has no %q", existing)
		}
	}
	if strings.Contains(other, "stripe") {
		t.Error("the console itself may load Stripe's script")
	}
}

// policyOf returns the content security policy of a page.
func policyOf(t *testing.T, url string, status int) string {
	t.Helper()
	page, err := http.Get(url)
	require.NoError(t, err)
	_ = page.Body.Close()
	assert.Equal(t, url+": StatusCode", page.StatusCode, status)
	return page.Header.Get("Content-Security-Policy")
}

// paid adds test cards in the sandbox, and subscribes with one that asks the bank.
func paid(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	policyOf(t, s.url+"/console/card", 404)
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/billing"))
	reads(ctx, t, "no money moves")
	presses(ctx, t, "Add a payment method")
	clicks(ctx, t, `[data-card="0002"]`)
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog] [role=alert]').innerText.includes('declined')`))
	keep(ctx, t, "console-test-cards")
	drive(ctx, t, poll[bool](`!document.querySelector('[data-card="3155"]').disabled`))
	clicks(ctx, t, `[data-card="3155"]`)
	reads(ctx, t, "The bank asks whether it is you.")
	presses(ctx, t, "Confirm")
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null`))
	reads(ctx, t, "•••• 3155")
	owner.get(t, payments+"/methods").has(t, map[string]string{"data.0.last4": "3155", "data.0.is_default": "true"})
	keep(ctx, t, "console-billing")
}
