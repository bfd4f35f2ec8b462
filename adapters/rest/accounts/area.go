// Package accounts serves people: their accounts, sessions, passkeys, API keys, workspaces and groups.
package accounts

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/ports"
)

// Area returns the area of accounts. flows seals sign-ins at providers, in cookies.
func Area(api *server.API, openID ports.OpenIDClient, flows ports.Sealer) server.Area {
	a := newHandlers(api, openID, flows)
	return server.Area{
		Name: "accounts",
		Operations: slices.Concat(
			a.accountOperations(), workspaceOperations(), peopleOperations(), a.sessionOperations(),
			a.passkeyOperations(), groupOperations(), a.signInOperations(), a.providerOperations(),
		),
	}
}
