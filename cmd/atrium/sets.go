//go:build wireinject

package main

import (
	"github.com/google/wire"

	"github.com/atrium-hq/atrium/adapters/mail"
	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/ports"
)

var (
	// storage is the data and the keys to it.
	storage = wire.NewSet(
		newKeyring, newDatabase, newOrgs, newStores, newBeyond, newPresenceSignals, wire.FieldsOf(new(keyring), "Keyring"),
		mail.New, wire.FieldsOf(new(configs.Config), "Mail"),
	)

	// usecases is every use case on the stores of the pool, and the function that binds them to those of a transaction.
	usecases = wire.NewSet(wire.FieldsOf(new(beyond), "External"), application.NewBind, newServices)

	// serving is the HTTP API on a core.
	serving = wire.NewSet(
		wire.FieldsOf(new(*core), "config", "db"), serverConfig,
		oidc.New, wire.Bind(new(ports.Verifier), new(*oidc.Verifier)), newDeps, openapi.Load, rest.New,
		sqlstore.NewIdempotency, wire.Bind(new(ports.Idempotency), new(*sqlstore.Idempotency)),
	)
)
