package sessions

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/ports"
)

// handlers serve signing in.
type handlers struct {
	*server.API
	openID   ports.OpenIDClient
	cookies  ports.Sealer  // of sign-ins at providers
	mailings chan struct{} // sign-in links that are being mailed
}

const (
	mailingsAtOnce = 16               // links that are mailed at the same time on a node
	mailingWithin  = 20 * time.Second // how long that may take
)
