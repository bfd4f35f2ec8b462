package rest

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/ports"
)

// accountsArea is people: their accounts, sessions, passkeys, API keys, workspaces and groups.
type accountsArea struct {
	*server.API
	openID   ports.OpenIDClient
	sealer   ports.Sealer    // of sign-ins at providers, in cookies
	signIns  *server.Limiter // by address, for tokens that are to open a session
	mailings chan struct{}   // sign-in links that are being mailed
	failing  counts          // of webhooks
}

func newAccounts(api *server.API) *accountsArea {
	return &accountsArea{API: api, mailings: make(chan struct{}, mailingsAtOnce)}
}

// start gives the area what it needs to serve requests.
func (a *accountsArea) start(openID ports.OpenIDClient, sealer ports.Sealer, signInsPerMinute int) {
	a.openID, a.sealer, a.signIns = openID, sealer, server.NewLimiter(signInsPerMinute, signInsPerMinute)
}

func (a *accountsArea) area() server.Area {
	return server.Area{
		Name: "accounts",
		Operations: slices.Concat(
			a.accountOperations(), workspaceOperations(), peopleOperations(), a.sessionOperations(),
			a.passkeyOperations(), groupOperations(),
		),
		Public: slices.Concat(a.signInRoutes(), a.providerRoutes()),
	}
}
