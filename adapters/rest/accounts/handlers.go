package accounts

import (
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

const mailingsAtOnce = 16 // links that are mailed at the same time on a node
