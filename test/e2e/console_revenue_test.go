package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/domain/payment"
)

// revenue shows an operator what the workspaces pay. The operator gives one of them a credit, and makes another free.
func revenue(t *testing.T, s *server, owner *client) {
	t.Helper()
	boss := s.user(t, "owner", "--operator")
	payers := map[string]*client{}
	for _, name := range []string{"Buyers", "Guests"} {
		slug := owner.create(t, "/api/workspaces", object{"name": name}).at("slug")
		payers[name] = s.user(t, "owner", "--workspace", slug)
	}
	payers["Buyers"].card(t, cardNumber)
	payers["Buyers"].subscribe(t, "team")
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, boss.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "Revenue")
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/revenue"))
	reads(ctx, t, "Monthly recurring revenue")
	reads(ctx, t, "Buyers")
	keep(ctx, t, "console-revenue")
	on(ctx, t, `[...document.querySelectorAll('tr')].find((r) => r.innerText.startsWith('Buyers'))?.querySelector('button')`,
		"click")
	reads(ctx, t, "Give something to Buyers")
	types(ctx, t, `[name=amount]`, "500")
	types(ctx, t, `[name=currency]`, "usd")
	types(ctx, t, `[name=reason]`, "Sorry for the outage")
	keep(ctx, t, "console-give")
	presses(ctx, t, "Give")
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null`))
	payers["Buyers"].get(t, mine).has(t, map[string]string{"credit.amount": "500"})

	presses(ctx, t, "Give to a workspace…")
	types(ctx, t, `[name=workspace_id]`, payers["Guests"].workspace)
	chooses(ctx, t, `[role=dialog] select`, string(payment.Comp))
	types(ctx, t, `[name=plan_id]`, "no-such-plan")
	types(ctx, t, `[name=reason]`, "Partner")
	presses(ctx, t, "Give")
	reads(ctx, t, "plan_not_found")
	types(ctx, t, `[name=plan_id]`, "starter")
	presses(ctx, t, "Give")
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null`))
	reads(ctx, t, "Guests")
	payers["Guests"].get(t, mine).has(t, map[string]string{"plan_id": "starter", "discount.percent_off": "100"})
	chooses(ctx, t, `main select`, string(payment.PastDue))
	drive(ctx, t, poll[bool](fmt.Sprintf(`document.querySelector('main').innerText.includes(%q)`,
		"No subscription matches.")))
}
