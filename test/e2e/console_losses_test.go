package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// losses lowers the role of a member who has a service key and a webhook, keeps the key, and takes over the webhook.
func losses(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	ann, hooks := s.user(t, "admin"), newReceiver(t)
	program, key := ann.service(t, "admin")
	hook := ann.create(t, "/api/webhooks", object{"url": hooks.url, "events": []string{"group.*"}}).at("id")
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/settings/members"))
	reads(ctx, t, ann.email)
	drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
		const row = [...document.querySelectorAll('tbody tr')].find((row) => row.innerText.includes(%q))
		const field = row?.querySelector('select')
		if (!field) return false
		Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set.call(field, 'viewer')
		field.dispatchEvent(new Event('change', {bubbles: true}))
		return true
	})()`, ann.email)))
	for _, text := range []string{"These service keys stop working: a program", "Keep the service keys",
		"These webhooks and reply endpoints go on, and need a new owner: " + hooks.url} {
		reads(ctx, t, text)
	}
	keep(ctx, t, "console-losses")
	clicks(ctx, t, `[role=dialog] [type=checkbox]`)
	reads(ctx, t, "These service keys become yours, and go on: a program")
	presses(ctx, t, "Change the role")
	reads(ctx, t, "Saved.")
	owner.get(t, "/api/workspaces/"+ann.workspace+"/members/"+ann.id).has(t, map[string]string{"role": "viewer"})
	owner.get(t, apiKeys+"/"+key).has(t, map[string]string{"status": "active"})
	program.get(t, "/api/webhooks")
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/settings/webhooks"))
	reads(ctx, t, "Its owner has lost the role. Confirm that its URL may get your events, or delete it.")
	keep(ctx, t, "console-ownerless")
	presses(ctx, t, "Confirm")
	reads(ctx, t, "You become its owner.")
	confirms(ctx, t)
	drive(ctx, t, poll[bool](`!document.body.innerText.includes('Its owner has lost the role.')`))
	owner.get(t, "/api/webhooks/"+hook).has(t, map[string]string{"ownerless": "false"})
}
