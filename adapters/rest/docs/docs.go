// Package docs serves the reference of the API.
package docs

import (
	"embed"
	"net/http"
	"strings"

	"github.com/swaggest/swgui/v5/static"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// docsPolicy lets the reference load resources from this server only, and run no inline scripts. Swagger UI sets styles
// on elements.
const docsPolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Area is the reference of the API.
func Area(api *server.API) server.Area { return server.Area{Name: "docs", Public: docsRoutes(api)} }

// docsFiles are the page, the scripts that start Swagger UI and extend it, and the style of its samples and its search.
//
//go:embed index.html *.js page.css
var docsFiles embed.FS

// docsRoutes are the reference's page and its files. Each file has a route: any other path is unknown, as
// it is elsewhere.
func docsRoutes(a *server.API) []server.Route {
	var routes []server.Route
	add := func(path string, load func() (*server.Asset, error)) {
		serve := a.AssetHandler("/api/docs", load)
		handler := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", docsPolicy)
			serve.ServeHTTP(w, r)
		}
		routes = append(routes, server.NewRoute(http.MethodGet, path, http.HandlerFunc(handler)))
	}
	const forMinutes = "public, max-age=300"
	serve := func(path, file, contentType string) {
		add(path, func() (*server.Asset, error) {
			text, err := docsFiles.ReadFile(file)
			if err != nil {
				return nil, err
			}
			return server.NewAsset(text, contentType, forMinutes)
		})
	}
	serve("/api/docs", "index.html", "text/html; charset=utf-8")
	serve("/api/docs/start.js", "start.js", "text/javascript; charset=utf-8")
	serve("/api/docs/navigation.js", "navigation.js", "text/javascript; charset=utf-8")
	serve("/api/docs/references.js", "references.js", "text/javascript; charset=utf-8")
	serve("/api/docs/page.css", "page.css", "text/css; charset=utf-8")
	add("/api/docs/samples.json", func() (*server.Asset, error) {
		return server.NewAsset(openapi.Samples(), "application/json", forMinutes)
	})
	files, err := static.FS.ReadDir(".")
	if err != nil { // it is part of the program
		panic(err)
	}
	for _, f := range files {
		add(
			"/api/docs/"+strings.TrimSuffix(f.Name(), ".gz"),
			func() (*server.Asset, error) { return server.OpenAsset(static.FS, f.Name(), forMinutes) },
		)
	}
	return routes
}
