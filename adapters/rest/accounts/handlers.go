package accounts

import (
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/ports"
)

// handlers serve people: their accounts, sessions, passkeys, API keys, workspaces and groups.
type handlers struct {
	*server.API
	openID   ports.OpenIDClient
	cookies  ports.Sealer    // of sign-ins at providers
	signIns  *server.Limiter // by address, for tokens that are to open a session, and do not
	flows    *server.Limiter // by address, for all sign-ins that begin
	mailings chan struct{}   // sign-in links that are being mailed
	failing  counts          // of webhooks
}

func newHandlers(api *server.API, openID ports.OpenIDClient, cookies ports.Sealer) *handlers {
	limits := api.Config.RateLimit
	return &handlers{
		API: api, openID: openID, cookies: cookies,
		signIns:  server.NewLimiter(limits.SignInsPerMinute, limits.SignInsPerMinute),
		flows:    server.NewLimiter(limits.SignInFlowsPerMinute, limits.SignInFlowsPerMinute),
		mailings: make(chan struct{}, mailingsAtOnce),
	}
}

const mailingsAtOnce = 16 // links that are mailed at the same time on a node
