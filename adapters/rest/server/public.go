package server

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/ports"
)

// publicRoutes are the routes of no area.
func (a *API) publicRoutes() []Route {
	return []Route{
		a.NewPage(http.MethodGet, healthPaths+"live", showLiveness),
		a.NewPage(http.MethodGet, healthPaths+"ready", showReadiness),
		{http.MethodGet, "/api/openapi.json", a.AssetHandler("/api/openapi.json", a.document)},
		a.NewPage(http.MethodGet, "/problems/{code}", showProblem),
	}
}

// showLiveness reports that the process can serve requests. It checks nothing else.
func showLiveness(*Call) (ports.Answer, error) {
	return OK(openapi.Health{Status: openapi.HealthStatusOk}).encode()
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

// showProblem explains the code of a problem to people. The type of a problem is its address.
func showProblem(r *Call) (ports.Answer, error) {
	declaration, ok := r.API.Contract.Problem(PathVar(r.Request, "code"))
	if !ok {
		return ports.Answer{}, ErrNoSuchPath
	}
	var page bytes.Buffer
	err := problemTemplate.Execute(&page, declaration)
	return ports.Answer{Status: http.StatusOK, Body: page.Bytes(), Header: map[string]string{
		"Content-Type": "text/html; charset=utf-8",
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; " +
			"form-action 'none'; frame-ancestors 'none'",
		"Cache-Control": "public, max-age=300",
	}}, err
}

// showReadiness reports whether this node should get requests: 503 while the database cannot be reached or
// has an older schema than this node, and while the node drains.
func showReadiness(r *Call) (ports.Answer, error) {
	err := errDraining
	if !r.API.draining.Load() {
		err = r.API.readiness.isReady(r.Context())
	}
	if err != nil {
		r.ReplyHeader.Set("Retry-After", "1")
		return r.API.problemAnswer(r.Request, ports.ErrUnavailable, err), nil // a problem would log every one
	}
	return showLiveness(r)
}
