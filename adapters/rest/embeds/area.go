// Package embeds serves chats on pages of other sites: their tokens, and the requests of visitors.
package embeds

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// Area returns the area of embeds.
func Area(api *server.API) server.Area {
	a := newHandlers(api)
	return server.Area{
		Name:       "embeds",
		Operations: slices.Concat(a.embedTokenOperations(), a.visitOperations()),
		Public:     a.visitRoutes(),
		CORS:       &server.CORS{Prefix: visitPaths, Handle: a.visitCORS},
	}
}
