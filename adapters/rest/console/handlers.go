package console

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// handlers serve the console's pages. They are for people, and not part of the contract.
type handlers struct {
	*server.API
	application http.Handler // everything below /console/ that is not a page to sign in
}
