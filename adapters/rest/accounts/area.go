// Package accounts serves people: their accounts, sessions, passkeys, API keys, workspaces and groups.
package accounts

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// Area returns the area of accounts.
func (a *Handlers) Area() server.Area {
	return server.Area{
		Name: "accounts",
		Operations: slices.Concat(
			a.accountOperations(), workspaceOperations(), peopleOperations(), a.sessionOperations(),
			a.passkeyOperations(), groupOperations(), a.signInOperations(), a.providerOperations(),
		),
		Public: []server.Route{a.methodsRoute()},
	}
}
