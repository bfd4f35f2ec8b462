package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// billed buys a plan in the console, changes it, pauses and resumes it, says why it ends, keeps it after all, and
// enters the address of invoices.
func billed(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	slug := owner.create(t, "/api/workspaces", object{"name": "Payers"}).at("slug")
	payer := s.user(t, "owner", "--workspace", slug)
	contains := func(want map[string]string) {
		t.Helper()
		payer.get(t, mine).has(t, want)
	}
	page := s.url + "/console/w/" + slug + "/billing"
	payer.create(t, payments+"/subscriptions", object{"plan_id": "starter"}) // a trial without a card
	drive(ctx, t, chromedp.Navigate(page))
	reads(ctx, t, "Add a payment method before the trial ends.")
	payer.do(t, "DELETE", mine, nil).is(t, 204)
	payer.card(t, cardNumber)
	drive(ctx, t, chromedp.Navigate(page))
	reads(ctx, t, "Chat templates")
	on(ctx, t, `[...document.querySelectorAll('li')].find((l) => l.innerText.startsWith('Team\n'))?.querySelector('button')`,
		"click")
	reads(ctx, t, "Subscribe to Team")
	types(ctx, t, `[name=promotion_code]`, "NO-SUCH-CODE")
	presses(ctx, t, "Subscribe")
	reads(ctx, t, "promotion_code_invalid")
	keep(ctx, t, "console-subscribe")
	types(ctx, t, `[name=promotion_code]`, "TENOFF")
	presses(ctx, t, "Subscribe")
	reads(ctx, t, "Discount: 10 %")
	contains(map[string]string{"plan_id": "team", "status": "active", "quantity": "1"})

	presses(ctx, t, "Change…")
	types(ctx, t, `[name=quantity]`, "3")
	presses(ctx, t, "Show what it costs")
	reads(ctx, t, "Next invoice")
	keep(ctx, t, "console-change-plan")
	presses(ctx, t, "Change the plan")
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null`))
	reads(ctx, t, "3 × Team")
	contains(map[string]string{"quantity": "3"})

	presses(ctx, t, "Add…")
	types(ctx, t, `[name=quantity]`, "2")
	presses(ctx, t, "Show what it costs")
	reads(ctx, t, "2 × 5,000 messages")
	keep(ctx, t, "console-add-on")
	presses(ctx, t, "Change the add-on")
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null`))
	contains(map[string]string{"items.1.add_on_id": "messages", "items.1.quantity": "2"})
	keep(ctx, t, "console-add-ons")

	presses(ctx, t, "Buy…")
	types(ctx, t, `[name=quantity]`, "2")
	reads(ctx, t, "Pay on the provider’s page")
	keep(ctx, t, "console-credit-pack")
	clicks(ctx, t, `[role=dialog] button[type=submit]`)
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null`))
	reads(ctx, t, "20,000 left of a credit pack")
	payer.get(t, entitlements).has(t, map[string]string{"limits.messages.credit_packs.0.remaining": "20000"})
	on(ctx, t, `document.querySelector('meter')`, "scrollIntoView")
	keep(ctx, t, "console-credit-packs")

	payer.do(t, "POST", payments+"/usage", object{"feature": "messages", "quantity": 15}).is(t, 200)
	drive(ctx, t, chromedp.Navigate(page))
	drive(ctx, t, poll[bool](`document.querySelector('svg[aria-label="Messages by day"]')?.textContent.includes(': 15')`))
	on(ctx, t, `document.querySelector('svg[aria-label="Messages by day"]')`, "scrollIntoView")
	keep(ctx, t, "console-usage-by-day")

	presses(ctx, t, "Pause")
	reads(ctx, t, "nothing is charged")
	confirms(ctx, t)
	reads(ctx, t, "Its periods cost nothing.")
	contains(map[string]string{"paused": "true"})
	presses(ctx, t, "Resume")
	reads(ctx, t, "The next period begins")
	contains(map[string]string{"paused": "false"})

	presses(ctx, t, "Cancel…")
	reads(ctx, t, "Until then you can change your mind.")
	chooses(ctx, t, `[name=feedback]`, "unused")
	keep(ctx, t, "console-cancel-plan")
	presses(ctx, t, "Cancel at the end of the period")
	reads(ctx, t, "The subscription ends")
	contains(map[string]string{"status": "active", "cancel_at_period_end": "true", "cancellation_feedback": "unused"})
	presses(ctx, t, "Keep the subscription")
	reads(ctx, t, "The next period begins")
	contains(map[string]string{"cancel_at_period_end": "false"})

	presses(ctx, t, "Edit")
	types(ctx, t, `[name=name]`, "Acme GmbH")
	types(ctx, t, `[name=line1]`, "Am Markt 1")
	types(ctx, t, `[name=tax_ids]`, "eu_vat DE123456789")
	presses(ctx, t, "Save")
	drive(ctx, t, poll[bool](`document.querySelector('[name=country]').getAttribute('aria-invalid') === 'true'`))
	types(ctx, t, `[name=country]`, "de")
	presses(ctx, t, "Save")
	reads(ctx, t, "eu_vat: DE123456789")
	payer.get(t, payments+"/details").has(t, map[string]string{"name": "Acme GmbH", "address.country": "DE",
		"tax_ids.0.value": "DE123456789"})
	on(ctx, t, `document.querySelector('meter')`, "scrollIntoView")
	keep(ctx, t, "console-billed")

	payer.makeDefault(t, payer.card(t, "4000000000000341"))
	s.must(t, "payments", "sandbox", "advance", "32d")
	drive(ctx, t, chromedp.Navigate(page))
	reads(ctx, t, "The last payment failed.")
	keep(ctx, t, "console-unpaid")
	presses(ctx, t, "Pay")
	reads(ctx, t, "card_declined")
	payer.makeDefault(t, payer.card(t, cardNumber))
	presses(ctx, t, "Pay")
	drive(ctx, t, poll[bool](`!document.body.innerText.includes('The last payment failed.')`))
	contains(map[string]string{"status": "active"})
}
