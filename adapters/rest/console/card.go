// Package console serves the pages of the console: those to sign in, to join and to type a card, and the application.
package console

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/payment"
)

// cardPolicy lets the page of the card form load Stripe.js, which the policy of the console does not: it needs scripts,
// frames and connections of its own, and no Trusted Types. See https://docs.stripe.com/security/guide.
const cardPolicy = "default-src 'none'; script-src 'self' https://js.stripe.com https://*.js.stripe.com; " +
	"frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com; " +
	"connect-src 'self' https://api.stripe.com; style-src 'self'; img-src data:; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// cardPage serves the document in which payers type a card into Stripe's own form, so that the card reaches
// Stripe only. It exists only where the org's gateway is Stripe.
func (a *handlers) cardPage() server.Route {
	page := a.AssetHandler("/console/card", func() (*server.Asset, error) {
		return server.OpenAsset(consoleFiles, "card.html", "no-store")
	})
	return server.NewRoute(http.MethodGet, "/console/card", server.WithRoute("/console/card",
		func(w http.ResponseWriter, r *http.Request) {
			if a.Services.Payments.GatewayOf(server.Observed(r).Org.ID) != payment.Stripe {
				a.Problem(w, r, server.ErrNoSuchPath)
				return
			}
			h := w.Header()
			server.SetConsoleHeaders(h, cardPolicy)
			h.Set("Referrer-Policy", "strict-origin") // Stripe asks which site shows its form
			h.Set("Permissions-Policy", `camera=(), geolocation=(), microphone=(), usb=(), `+
				`payment=(self "https://js.stripe.com")`)
			page.ServeHTTP(w, r)
		}))
}
