package main

import (
	"io/fs"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/console"
	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/adapters/scim"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/web"
)

// newDeps copies what Wire provides into the fields of rest.Deps.
func newDeps(
	c *node.Core, idempotency ports.Idempotency, verifier ports.Verifier,
	openID ports.OpenIDClient, pages *console.Handler, directory *scim.Handler,
	metrics prometheus.Registerer, log *slog.Logger,
) rest.Deps {
	return rest.Deps{
		Deps: server.Deps{
			Orgs:        c.Orgs.Directory,
			Services:    c.Services,
			Bind:        c.Bind,
			Idempotency: idempotency,
			Verifier:    verifier,
			Sealer:      c.Keyring.Sealer(seal.Cursors),
			Digester:    c.External.Envelope,
			Changes:     c.DB,
			Ready:       c.DB.Ready,
			Metrics:     metrics,
			Log:         log,
		},
		OpenID:  openID,
		SignIns: c.Keyring.Sealer(seal.SignIns),
		Console: pages,
		SCIM:    directory.Serve,
	}
}

func newConsole() (*console.Handler, error) {
	dist, err := fs.Sub(web.Dist, "dist")
	if err != nil {
		return nil, err
	}
	return console.New(dist), nil
}

func newSCIM(c *node.Core, log *slog.Logger) *scim.Handler {
	return scim.New(c.Services.Directory, log)
}

func serverConfig(c configs.Config) server.Config { return c.Server }
