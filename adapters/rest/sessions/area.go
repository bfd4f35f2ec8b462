// Package sessions serves signing in with a browser: sessions, their links, providers, passkeys and joining by an
// invitation.
package sessions

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/ports"
)

// Area returns the area of sessions. cookies seals sign-ins at providers.
func Area(api *server.API, openID ports.OpenIDClient, cookies ports.Sealer) server.Area {
	a := &handlers{API: api, openID: openID, cookies: cookies, mailings: make(chan struct{}, mailingsAtOnce)}
	return server.Area{
		Name: "sessions",
		Operations: slices.Concat(
			a.sessionOperations(), a.passkeyOperations(), a.signInOperations(), a.providerOperations(),
		),
	}
}
