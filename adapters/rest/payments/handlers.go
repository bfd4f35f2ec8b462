package payments

import "github.com/atrium-hq/atrium/adapters/rest/server"

// handlers serve plans, subscriptions and payments.
type handlers struct{ *server.API }
