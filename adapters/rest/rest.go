// Package rest composes the HTTP API that openapi/openapi.yaml describes: package server takes every request, and each
// other folder serves one area. An area is registered here, and nothing else knows of it.
package rest

import (
	"cmp"
	"net/http"

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
	"github.com/atrium-hq/atrium/adapters/rest/sessions"
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

// New returns the API that serves a contract. It fails if its routes and openapi.yaml differ.
func New(contract *openapi.Contract, c server.Config, d Deps) (*server.API, error) {
	api := server.New(contract, c, d.Deps)
	return api, cmp.Or(api.Register(areas(api, d)...), api.CheckComplete())
}

// areas are all areas. The router tries them in this order, so the most frequent requests come first.
func areas(api *server.API, d Deps) []server.Area {
	return []server.Area{
		prompts.Area(),
		chats.Area(),
		connections.Area(),
		sources.Area(),
		rows.Area(),
		payments.Area(api),
		presences.Area(),
		accounts.Area(api),
		sessions.Area(api, d.OpenID, d.SignIns),
		events.Area(),
		webhooks.Area(),
		embeds.Area(api),
		scim.Area(api, d.SCIM),
		console.Area(api, d.Console),
		docs.Area(api),
	}
}
