package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// hooked makes a webhook in the console, sends an example, looks at a delivery, and disables the webhook.
func hooked(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	var goneFlag atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if goneFlag.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		if r.Header.Get("Webhook-Signature") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write([]byte("thank you"))
	}))
	defer receiver.Close()
	goes(ctx, t, "settings/webhooks")
	reads(ctx, t, "There are no webhooks yet.")
	presses(ctx, t, "New webhook")
	types(ctx, t, `[name=url]`, "ftp://example.com")
	types(ctx, t, `[name=events]`, "no_such.event")
	presses(ctx, t, "Create")
	drive(ctx, t, poll[bool](`document.querySelectorAll('[aria-invalid=true]').length === 2`))
	keep(ctx, t, "console-webhook-refused")
	types(ctx, t, `[name=url]`, receiver.URL+"/hook")
	types(ctx, t, `[name=events]`, "group.*, webhook.*")
	types(ctx, t, `[name=description]`, "Our own")
	presses(ctx, t, "Create")
	reads(ctx, t, "whsec_")
	keep(ctx, t, "console-webhook-created")
	presses(ctx, t, "Open")
	reads(ctx, t, "Send an example")
	presses(ctx, t, "Send")
	reads(ctx, t, "Status 200")
	owner.create(t, "/api/groups", object{"name": "Heard of by the webhook"})
	drive(ctx, t, poll[bool](`/group\.created[^]*delivered[^]*Status 200/.test(
		document.querySelector('[aria-label=Deliveries] tbody')?.innerText)`))
	keep(ctx, t, "console-webhook")
	presses(ctx, t, "Disable")
	reads(ctx, t, "Enable")
	owner.get(t, "/api/webhooks").has(t, map[string]string{"data.0.status": "disabled",
		"data.0.events": `["group.*","webhook.*"]`, "data.0.description": "Our own"})
	path := "/api/webhooks/" + owner.get(t, "/api/webhooks").at("data.0.id")
	goneFlag.Store(true)
	owner.do(t, "PATCH", path, object{"enabled": true}).is(t, 200)
	owner.create(t, "/api/groups", object{"name": "No longer heard of"})
	awaits(t, "the webhook is disabled", s, func() bool { return owner.get(t, path).at("disabled_reason") == "gone" })
	owner.get(t, "/api/me").has(t, map[string]string{"failing_webhooks": "1"})
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
	reads(ctx, t, "1 webhook is failing or was disabled.")
	keep(ctx, t, "console-webhook-failing")
	owner.do(t, "DELETE", path, nil).is(t, 204)
}
