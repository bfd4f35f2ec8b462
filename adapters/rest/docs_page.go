package rest

import (
	"net/http"
	"strings"

	"github.com/swaggest/swgui/v5/static"
)

// docsPolicy lets the reference load from this server only, and run no script of its own markup. Swagger UI
// sets styles on elements.
const docsPolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const docsPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Atrium API</title>
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
<link rel="icon" type="image/png" href="/api/docs/favicon-32x32.png" sizes="32x32">
<style>html{box-sizing:border-box;overflow-y:scroll}
*,*:before,*:after{box-sizing:inherit}body{margin:0;background:#fafafa}</style>
</head><body><div id="swagger-ui"></div>
<script src="/api/docs/swagger-ui-bundle.js"></script>
<script src="/api/docs/swagger-ui-standalone-preset.js"></script>
<script src="/api/docs/start.js"></script>
</body></html>
`

// docsScript starts Swagger UI, which would send the document to a validator elsewhere otherwise.
const docsScript = `window.ui = SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  plugins: [SwaggerUIBundle.plugins.DownloadUrl],
  layout: 'StandaloneLayout',
  showExtensions: true,
  showCommonExtensions: true,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
})
`

// docsOperations are the reference's page and its files. Each file has a route: any other path is unknown, as
// it is elsewhere.
func (a *API) docsOperations() ([]publicOperation, error) {
	var operations []publicOperation
	add := func(path string, load func() (*asset, error)) {
		serve := a.asset("/api/docs", load)
		handler := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", docsPolicy)
			serve.ServeHTTP(w, r)
		}
		operations = append(operations, publicOperation{http.MethodGet, path, http.HandlerFunc(handler)})
	}
	const forMinutes = "public, max-age=300"
	add(
		"/api/docs",
		func() (*asset, error) { return newAsset([]byte(docsPage), "text/html; charset=utf-8", forMinutes) },
	)
	add("/api/docs/start.js", func() (*asset, error) {
		return newAsset([]byte(docsScript), "text/javascript; charset=utf-8", forMinutes)
	})
	files, err := static.FS.ReadDir(".")
	for _, f := range files {
		add(
			"/api/docs/"+strings.TrimSuffix(f.Name(), ".gz"),
			func() (*asset, error) { return openAsset(static.FS, f.Name(), forMinutes) },
		)
	}
	return operations, err
}
