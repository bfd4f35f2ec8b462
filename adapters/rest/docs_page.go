package rest

import (
	"embed"
	"net/http"
	"strings"

	"github.com/swaggest/swgui/v5/static"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

// docsPolicy lets the reference load resources from this server only, and run no inline scripts. Swagger UI sets styles
// on elements.
const docsPolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsArea is the reference of the API.
func docsArea(api *API) area { return area{name: "docs", public: docsRoutes(api)} }

// docsFiles are the page, the scripts that start Swagger UI and extend it, and the style of its samples and its search.
//
//go:embed docs
var docsFiles embed.FS

// docsRoutes are the reference's page and its files. Each file has a route: any other path is unknown, as
// it is elsewhere.
func docsRoutes(a *API) []route {
	var routes []route
	add := func(path string, load func() (*asset, error)) {
		serve := a.asset("/api/docs", load)
		handler := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", docsPolicy)
			serve.ServeHTTP(w, r)
		}
		routes = append(routes, newRoute(http.MethodGet, path, http.HandlerFunc(handler)))
	}
	const forMinutes = "public, max-age=300"
	own := func(path, file, contentType string) {
		add(path, func() (*asset, error) {
			text, err := docsFiles.ReadFile("docs/" + file)
			if err != nil {
				return nil, err
			}
			return newAsset(text, contentType, forMinutes)
		})
	}
	own("/api/docs", "index.html", "text/html; charset=utf-8")
	own("/api/docs/start.js", "start.js", "text/javascript; charset=utf-8")
	own("/api/docs/navigation.js", "navigation.js", "text/javascript; charset=utf-8")
	own("/api/docs/references.js", "references.js", "text/javascript; charset=utf-8")
	own("/api/docs/page.css", "page.css", "text/css; charset=utf-8")
	add("/api/docs/samples.json", func() (*asset, error) {
		return newAsset(openapi.Samples(), "application/json", forMinutes)
	})
	files, err := static.FS.ReadDir(".")
	if err != nil { // it is part of the program
		panic(err)
	}
	for _, f := range files {
		add(
			"/api/docs/"+strings.TrimSuffix(f.Name(), ".gz"),
			func() (*asset, error) { return openAsset(static.FS, f.Name(), forMinutes) },
		)
	}
	return routes
}
