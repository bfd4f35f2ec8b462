package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/accounts"
	"github.com/atrium-hq/atrium/adapters/sqlstore/chats"
	"github.com/atrium-hq/atrium/adapters/sqlstore/connections"
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/adapters/sqlstore/embeds"
	"github.com/atrium-hq/atrium/adapters/sqlstore/events"
	"github.com/atrium-hq/atrium/adapters/sqlstore/idempotency"
	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/adapters/sqlstore/payments"
	"github.com/atrium-hq/atrium/adapters/sqlstore/presences"
	"github.com/atrium-hq/atrium/adapters/sqlstore/prompts"
	"github.com/atrium-hq/atrium/adapters/sqlstore/sources"
	"github.com/atrium-hq/atrium/adapters/sqlstore/webhooks"
	"github.com/atrium-hq/atrium/ports"
)

// areas are all areas. An area is after those whose rows its rows refer to.
var areas = []db.Area{
	accounts.Area(jobs.Enqueue),
	webhooks.Area,
	idempotency.Area,
	jobs.Area,
	events.Area(eventHooks),
	presences.Area,
	prompts.Area,
	chats.Area,
	embeds.Area(embeds.Templates{Read: chats.ReadTemplate, Locked: chats.LockedTemplate}),
	connections.Area,
	sources.Area,
	payments.Area,
}

// Stores returns every store on db.
func (store *Store) Stores() ports.Stores {
	s := ports.Stores{Atomic: store}
	for _, area := range areas {
		if area.AddStores != nil {
			area.AddStores(&s, store.DB)
		}
	}
	s.Erasures = &Erasures{store, areas}
	return s
}

// eventHooks are what the audit trail needs of other areas.
var eventHooks = &events.Hooks{
	Wake: webhooks.Wake,
	Templates: []events.Templates{
		events.NewTemplates("prompt_template", "prompt_templates", prompts.SeenBy),
		events.NewTemplates("chat_template", "chat_templates", chats.SeenBy),
	},
}

// Events returns the audit trail.
func (store *Store) Events() *events.Store { return events.NewStore(store.DB, eventHooks) }

// Atomically implements ports.Atomic.
func (store *Store) Atomically(ctx context.Context, fn func(ports.Stores) error) error {
	return store.inTx(ctx, func(tx *Store) error { return fn(tx.Stores()) })
}

// Try implements ports.Atomic.
func (store *Store) Try(ctx context.Context, fn func(ports.Stores) error) error {
	return store.DB.Try(ctx, func(tx *db.DB) error { return fn((&Store{tx}).Stores()) })
}

// NewIdempotency returns the responses by Idempotency-Key. What they are the responses to uses all stores.
func NewIdempotency(store *Store) *idempotency.Store {
	return idempotency.NewStore(store.DB, func(tx *db.DB) ports.Stores { return (&Store{tx}).Stores() })
}

// NewWebhookQueue returns the queue of webhooks, which queues jobs too.
func NewWebhookQueue(store *Store) *webhooks.Queue { return webhooks.NewQueue(store.DB, jobs.Enqueue) }
