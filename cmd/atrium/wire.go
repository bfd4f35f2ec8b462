//go:build wireinject

package main

import (
	"context"
	"log/slog"

	"github.com/google/wire"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/ports"
)

// buildCore opens the data.
func buildCore(ctx context.Context, c configs.Config) (*core, func(), error) {
	panic(wire.Build(storage, usecases, wire.Struct(new(core), "*")))
}

// bindServices creates the use cases on the stores of a pool or of one transaction.
func bindServices(stores ports.Stores, b beyond, p *presences.Service, u *accounts.Uses) rest.Services {
	panic(wire.Build(usecases))
}

// buildAPI puts the HTTP API on a core.
func buildAPI(c *core, metrics prometheus.Registerer, log *slog.Logger) (*rest.API, error) {
	panic(wire.Build(serving))
}
