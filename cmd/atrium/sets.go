//go:build wireinject

package main

import (
	"github.com/google/wire"

	"github.com/atrium-hq/atrium/adapters/mail"
	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/idempotency"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/ports"
)

var (
	// storage is the data and the keys to it.
	storage = wire.NewSet(
		node.NewKeyring, node.NewDatabase, node.NewOrgs, node.NewStores, node.NewExternal, node.NewPresenceSignals,
		wire.FieldsOf(new(node.OpenedKeyring), "Keyring"),
		mail.New, wire.FieldsOf(new(configs.Config), "Mail"),
	)

	// usecases is every use case on the stores of the pool, and the function that binds them to a transaction's stores.
	usecases = wire.NewSet(wire.FieldsOf(new(node.External), "External"), application.NewBind, node.NewServices)

	// serving is the HTTP API on a core.
	serving = wire.NewSet(
		wire.FieldsOf(new(*node.Core), "Config", "DB"), serverConfig,
		oidc.New, wire.Bind(new(ports.Verifier), new(*oidc.Verifier)),
		oidc.NewClient, wire.Bind(new(ports.OpenIDClient), new(*oidc.Client)), newDeps, newConsole,
		newSCIM, rest.New,
		sqlstore.NewIdempotency, wire.Bind(new(ports.Idempotency), new(*idempotency.Store)),
	)
)
