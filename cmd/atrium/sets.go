//go:build wireinject

package main

import (
	"github.com/google/wire"

	"github.com/atrium-hq/atrium/adapters/mail"
	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/ports"
)

var (
	// storage is the data and the keys to it.
	storage = wire.NewSet(newKeyring, newDatabase, newOrgs, newStores, newBeyond, newPresences, newPresenceSignals, accounts.NewUses, wire.FieldsOf(new(keyring), "Keyring"))

	// usecases is every service on given stores.
	usecases = wire.NewSet(
		wire.FieldsOf(new(ports.Stores), "Atomic", "Prompts", "PromptLists", "Chats", "ChatLists", "Embeds", "Users", "People", "Workspaces", "Invitations", "Keys", "Events", "Connections", "Sources", "Jobs", "Payments", "Inbox", "Tickets"),
		wire.FieldsOf(new(beyond), "passes", "credentials", "digester", "notes", "registries", "warehouses", "sheets", "offers", "intake", "limits", "bounds", "mails", "quotaOf", "terms", "pays"),
		wire.Bind(new(ports.Notes), new(*sqlstore.Notes)),
		accounts.NewService, accounts.NewTickets, prompts.NewService, chats.NewService, chats.NewEmbeds, connections.NewService, newLend, newQuotas, sources.NewService, payments.NewService, wire.Struct(new(rest.Services), "*"),
	)

	// serving is the HTTP API on a core.
	serving = wire.NewSet(
		wire.FieldsOf(new(*core), "config", "db"), wire.FieldsOf(new(configs.Config), "Mail"), serverConfig, mail.New,
		oidc.New, wire.Bind(new(ports.Verifier), new(*oidc.Verifier)), newBind, newDeps, openapi.Load, rest.New,
		sqlstore.NewIdempotency, wire.Bind(new(ports.Idempotency), new(*sqlstore.Idempotency)),
	)
)
