package accounts

import "github.com/atrium-hq/atrium/adapters/rest/server"

// handlers serve people: their accounts, API keys, workspaces and groups.
type handlers struct {
	*server.API
	failing counts // of webhooks
}
