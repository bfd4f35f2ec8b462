package console

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// Handlers are those of the pages of the console. They are for people, and not part of the contract.
type Handlers struct {
	*server.API
	Application http.Handler // everything below /console/ that is not a page to sign in
}

// New returns the handlers of the console.
func New(api *server.API) *Handlers { return &Handlers{API: api} }
