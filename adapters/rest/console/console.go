// Package console serves the pages of the console: those to sign in, to join and to type a card, and the application.
package console

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/payment"
)

// The pages where people sign in and join. They contain no data about an org: their script calls the API.
var (
	//go:embed sign-in.js sign-in.css card.html card.js
	consoleFiles embed.FS

	//go:embed page.html
	consoleHTML     string
	consoleTemplate = template.Must(template.New("console").Parse(consoleHTML))
)

const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// Area returns the area of the console. application serves everything below /console/ that is not a page to sign in.
func Area(api *server.API, application http.Handler) server.Area {
	a := &handlers{api, application}
	const to = "./console/" // a proxy may add a path before
	redirect := func(path string) server.Route {
		send := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusSeeOther)
		}
		return server.NewRoute(http.MethodGet, path, server.WithRoute(path, send))
	}
	rest := server.WithRoute("/console/", func(w http.ResponseWriter, r *http.Request) {
		if a.MayDownload(w, r, 0) {
			a.application.ServeHTTP(w, r)
		}
	})
	routes := append(a.wellKnown(), redirect("/"), redirect("/console"), a.cardPage())
	for name, title := range map[string]string{"sign-in": "Sign in", "join": "Join a workspace"} {
		routes = append(routes, a.file("/console/"+name, func() (*server.Asset, error) {
			var html bytes.Buffer
			if err := consoleTemplate.Execute(&html, struct{ Name, Title string }{name, title}); err != nil {
				return nil, err
			}
			return server.NewAsset(html.Bytes(), "text/html; charset=utf-8", "no-store")
		}))
	}
	for _, name := range []string{"sign-in.js", "sign-in.css", "card.js"} {
		routes = append(routes, a.file("/console/"+name, func() (*server.Asset, error) {
			return server.OpenAsset(consoleFiles, name, "no-cache")
		}))
	}
	return server.Area{
		Name: "console", Public: routes, Below: []server.Route{
			server.NewRoute(http.MethodGet, "/console/", rest),
		},
	}
}

func (a *handlers) file(path string, load func() (*server.Asset, error)) server.Route {
	serve := a.AssetHandler(path, load)
	return server.NewRoute(http.MethodGet, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.SetConsoleHeaders(w.Header(), consolePolicy)
		serve.ServeHTTP(w, r)
	}))
}

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
