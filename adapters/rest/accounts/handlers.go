package accounts

import (
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/ports"
)

// handlers serve people: their accounts, sessions, passkeys, API keys, workspaces and groups.
type handlers struct {
	*server.API
	openID   ports.OpenIDClient
	flows    ports.Sealer    // of sign-ins at providers, in cookies
	signIns  *server.Limiter // by address, for tokens that are to open a session
	mailings chan struct{}   // sign-in links that are being mailed
	failing  counts          // of webhooks
}

func newHandlers(api *server.API, openID ports.OpenIDClient, flows ports.Sealer) *handlers {
	limit := api.Config.RateLimit.SignInsPerMinute
	return &handlers{
		API: api, openID: openID, flows: flows, signIns: server.NewLimiter(limit, limit),
		mailings: make(chan struct{}, mailingsAtOnce),
	}
}

const mailingsAtOnce = 16 // links that are mailed at the same time on a node
