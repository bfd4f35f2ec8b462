// Package accounts serves people: their accounts, API keys, workspaces and groups.
package accounts

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// Area returns the area of accounts.
func Area(api *server.API) server.Area {
	a := &handlers{API: api}
	return server.Area{
		Name: "accounts",
		Operations: slices.Concat(
			a.accountOperations(), workspaceOperations(), peopleOperations(), groupOperations(),
		),
	}
}
