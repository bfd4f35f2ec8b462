package server

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/ports"
)

// publicRoutes are those of no area.
func (a *API) publicRoutes() []Route {
	return []Route{
		{http.MethodGet, healthPaths + "live", WithRoute(healthPaths+"live", a.live)},
		{http.MethodGet, healthPaths + "ready", WithRoute(healthPaths+"ready", a.ready)},
		{http.MethodGet, "/api/openapi.json", a.AssetHandler("/api/openapi.json", a.document)},
		{http.MethodGet, "/problems/{code}", WithRoute("/problems/{code}", a.problemPage)},
	}
}

// live reports that the process can serve requests. It checks nothing else.
func (a *API) live(w http.ResponseWriter, r *http.Request) {
	a.Send(w, r, OK(openapi.Health{Status: openapi.HealthStatusOk}))
}

// Send sends a reply, or a problem if it cannot be encoded.
func (a *API) Send(w http.ResponseWriter, r *http.Request, out Reply) {
	answer, err := out.encode()
	if err != nil {
		a.Problem(w, r, err)
		return
	}
	Write(w, r, answer)
}

func (a *API) document() (*Asset, error) {
	text, err := a.Contract.JSONOf(a.Serves)
	if err != nil {
		return nil, err
	}
	return NewAsset(text, "application/json", "public, max-age=300")
}

var problemTemplate = template.Must(template.New("problem").Funcs(template.FuncMap{
	"code": renderCode,
}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}} · Atrium</title>
<style>:root{color-scheme:light dark}
body{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}
h1{overflow-wrap:break-word;line-height:1.25}
code{background:rgb(128 128 128/.15);padding:.1em .3em;border-radius:.2em}</style>
</head><body><p><code>{{.Status}} {{.Code}}</code></p><h1>{{.Title}}</h1><p>{{code .Description}}</p>
<p><a href="/api/docs">API reference</a></p></body></html>
`))

// renderCode renders text in backticks as code.
func renderCode(markdown string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(markdown, "`") {
		text := template.HTMLEscapeString(part)
		if i%2 == 1 {
			text = "<code>" + text + "</code>"
		}
		out.WriteString(text)
	}
	return template.HTML(out.String()) //nolint:gosec // every part is escaped
}

// problemPage explains the code of a problem to people. The type of a problem is its address.
func (a *API) problemPage(w http.ResponseWriter, r *http.Request) {
	declaration, ok := a.Contract.Problem(PathVar(r, "code"))
	if !ok {
		a.Problem(w, r, ErrNoSuchPath)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	)
	h.Set("Cache-Control", "public, max-age=300")
	_ = problemTemplate.Execute(w, declaration) // it fails if the client is gone
}

// ready reports whether this node should get requests: 503 while the database cannot be reached or
// has an older schema than this node, and while the node drains.
func (a *API) ready(w http.ResponseWriter, r *http.Request) {
	err := errDraining
	if !a.draining.Load() {
		err = a.readiness.isReady(r.Context())
	}
	if err != nil {
		w.Header().Set("Retry-After", "1")
		Write(w, r, a.problemAnswer(r, ports.ErrUnavailable, err)) // problem would log every one
		return
	}
	a.Send(w, r, OK(openapi.Health{Status: openapi.HealthStatusOk}))
}
