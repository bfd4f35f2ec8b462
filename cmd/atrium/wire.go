//go:build wireinject

package main

import (
	"context"
	"log/slog"

	"github.com/google/wire"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
)

// buildCore opens the data.
func buildCore(ctx context.Context, c configs.Config, log *slog.Logger) (*node.Core, func(), error) {
	panic(wire.Build(storage, usecases, wire.Struct(new(node.Core), "*")))
}

// buildAPI puts the HTTP API on a core.
func buildAPI(
	c *node.Core, contract *openapi.Contract, metrics prometheus.Registerer, log *slog.Logger,
) (*server.API, error) {
	panic(wire.Build(serving))
}
