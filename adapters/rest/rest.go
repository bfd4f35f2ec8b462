// Package rest composes the HTTP API that openapi/openapi.yaml describes: package server takes every request, and each
// other folder serves one area. An area is registered here, and nothing else knows of it.
package rest

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/accounts"
	"github.com/atrium-hq/atrium/adapters/rest/chats"
	"github.com/atrium-hq/atrium/adapters/rest/connections"
	"github.com/atrium-hq/atrium/adapters/rest/console"
	"github.com/atrium-hq/atrium/adapters/rest/docs"
	"github.com/atrium-hq/atrium/adapters/rest/embeds"
	"github.com/atrium-hq/atrium/adapters/rest/events"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/payments"
	"github.com/atrium-hq/atrium/adapters/rest/presences"
	"github.com/atrium-hq/atrium/adapters/rest/prompts"
	"github.com/atrium-hq/atrium/adapters/rest/rows"
	"github.com/atrium-hq/atrium/adapters/rest/scim"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/adapters/rest/sources"
	"github.com/atrium-hq/atrium/adapters/rest/webhooks"
	"github.com/atrium-hq/atrium/ports"
)

// Deps are the dependencies of the API.
type Deps struct {
	server.Deps
	OpenID  ports.OpenIDClient
	SignIns ports.Sealer // of sign-ins at providers, in cookies
	Console http.Handler // everything below /console/ that is not a page to sign in
	SCIM    scim.ServeDirectory
}

// Routes are the routes of one API. They need none of its dependencies, and take most of the time that it takes to
// build an API: so a server builds them while its database is opened.
type Routes struct {
	api      *server.API
	accounts *accounts.Handlers
	console  *console.Handlers
	scim     *scim.Handlers
}

// NewRoutes returns the routes of an API. It fails if they and openapi.yaml differ.
func NewRoutes(contract *openapi.Contract) (*Routes, error) {
	r := newRoutes(contract)
	return r, cmp.Or(r.api.Register(r.areas()...), r.api.CheckComplete())
}

func newRoutes(contract *openapi.Contract) *Routes {
	api := server.New(contract)
	return &Routes{api: api, accounts: accounts.New(api), console: console.New(api), scim: scim.New(api)}
}

// areas are all areas. The router tries them in this order, so the most frequent requests come first.
func (r *Routes) areas() []server.Area {
	return []server.Area{
		prompts.Area(),
		chats.Area(),
		connections.Area(),
		sources.Area(),
		rows.Area(),
		payments.Area(r.api),
		presences.Area(),
		r.accounts.Area(),
		events.Area(),
		webhooks.Area(),
		embeds.Area(r.api),
		r.scim.Area(),
		r.console.Area(),
		docs.Area(r.api),
	}
}

// New returns the API of routes as a handler. Routes are for one API: their handlers use it.
func New(c server.Config, d Deps, r *Routes) *server.API {
	r.api.Start(c, d.Deps)
	r.accounts.Configure(d.OpenID, d.SignIns, c.RateLimit.SignInsPerMinute)
	r.scim.Serve = d.SCIM
	r.console.Application = d.Console
	return r.api
}

// Traceable reports whether a request may be traced. Spans contain the path, and the path of a page for frames contains
// an embed token, that of a page of the sandbox its secret. Streams are not traced either, since they may last for
// days.
func Traceable(r *http.Request) bool {
	return !strings.HasPrefix(r.URL.Path, "/embed/") && !strings.HasPrefix(r.URL.Path, "/sandbox/") &&
		r.URL.Path != presences.StreamPath && r.URL.Path != events.StreamPath
}
