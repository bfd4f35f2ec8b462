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

// consoleArea is the pages of the console. They are for people, and not part of the contract.
type consoleArea struct {
	*API
	application http.Handler // everything below /console/ that is not a page to sign in
}

func newConsole(api *API) *consoleArea { return &consoleArea{API: api} }

func (a *consoleArea) area() area {
	const to = "./console/" // a proxy may add a path before
	redirect := func(path string) route {
		return newRoute(http.MethodGet, path, withRoute(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusSeeOther)
		}))
	}
	application := withRoute("/console/", func(w http.ResponseWriter, r *http.Request) {
		if a.mayDownload(w, r, 0) {
			a.application.ServeHTTP(w, r)
		}
	})
	routes := []route{redirect("/"), redirect("/console"), a.cardPage()}
	for name, title := range map[string]string{"sign-in": "Sign in", "join": "Join a workspace"} {
		routes = append(routes, a.file("/console/"+name, func() (*asset, error) {
			var html bytes.Buffer
			if err := consoleTemplate.Execute(&html, struct{ Name, Title string }{name, title}); err != nil {
				return nil, err
			}
			return newAsset(html.Bytes(), "text/html; charset=utf-8", "no-store")
		}))
	}
	for _, name := range []string{"sign-in.js", "sign-in.css", "card.js"} {
		routes = append(routes, a.file("/console/"+name, func() (*asset, error) {
			return openAsset(consoleFiles, "console/"+name, "no-cache")
		}))
	}
	return area{name: "console", public: routes, below: []route{newRoute(http.MethodGet, "/console/", application)}}
}

func (a *consoleArea) file(path string, load func() (*asset, error)) route {
	serve := a.asset(path, load)
	return newRoute(http.MethodGet, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setConsoleHeaders(w.Header(), consolePolicy)
		serve.ServeHTTP(w, r)
	}))
}
