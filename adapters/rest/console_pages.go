package rest

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
)

// The pages where people sign in and join. They contain no data of an org: their script calls the API.
var (
	//go:embed console/sign-in.js console/sign-in.css console/card.html console/card.js
	consoleFiles embed.FS

	//go:embed console/page.html
	consoleHTML     string
	consoleTemplate = template.Must(template.New("console").Parse(consoleHTML))
)

const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// registerConsole serves the pages. They are for people, and not part of the contract.
func (a *API) registerConsole() error {
	for name, title := range map[string]string{"sign-in": "Sign in", "join": "Join a workspace"} {
		var html bytes.Buffer
		if err := consoleTemplate.Execute(&html, struct{ Name, Title string }{name, title}); err != nil {
			return err
		}
		a.registerConsoleFile("/console/"+name, func() (*asset, error) {
			return newAsset(html.Bytes(), "text/html; charset=utf-8", "no-store")
		})
	}
	for _, name := range []string{"sign-in.js", "sign-in.css", "card.js"} {
		a.registerConsoleFile("/console/"+name, func() (*asset, error) {
			return openAsset(consoleFiles, "console/"+name, "no-cache")
		})
	}
	a.registerCardPage()
	const to = "./console/" // a proxy may add a path before
	for _, path := range []string{"/", "/console"} {
		register(a.router, http.MethodGet, path, withRoute(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusSeeOther)
		}))
	}
	a.router.PathPrefix("/console/").Methods(http.MethodGet, http.MethodHead).Handler(
		withRoute("/console/", func(w http.ResponseWriter, r *http.Request) {
			if a.mayDownload(w, r, 0) {
				a.Console.ServeHTTP(w, r)
			}
		}))
	return nil
}

func (a *API) registerConsoleFile(path string, load func() (*asset, error)) {
	serve := a.asset(path, load)
	register(a.router, http.MethodGet, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setConsoleHeaders(w.Header(), consolePolicy)
		serve.ServeHTTP(w, r)
	}))
}

func setConsoleHeaders(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}
