package accounts

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/ports"
)

// Handlers are those of people: their accounts, sessions, passkeys, API keys, workspaces and groups.
type Handlers struct {
	*server.API
	openID   ports.OpenIDClient
	sealer   ports.Sealer    // of sign-ins at providers, in cookies
	signIns  *server.Limiter // by address, for tokens that are to open a session
	mailings chan struct{}   // sign-in links that are being mailed
	failing  counts          // of webhooks
}

// New returns the handlers of accounts, which serve no request before Configure.
func New(api *server.API) *Handlers {
	return &Handlers{API: api, mailings: make(chan struct{}, mailingsAtOnce)}
}

// Configure gives the area what it needs to serve requests.
func (a *Handlers) Configure(openID ports.OpenIDClient, sealer ports.Sealer, signInsPerMinute int) {
	a.openID, a.sealer, a.signIns = openID, sealer, server.NewLimiter(signInsPerMinute, signInsPerMinute)
}

// Area returns the area of accounts.
func (a *Handlers) Area() server.Area {
	return server.Area{
		Name: "accounts",
		Operations: slices.Concat(
			a.accountOperations(), workspaceOperations(), peopleOperations(), a.sessionOperations(),
			a.passkeyOperations(), groupOperations(),
		),
		Public: slices.Concat(a.signInRoutes(), a.providerRoutes()),
	}
}
