// Package events stores the audit trail in SQLite or PostgreSQL.
package events

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Store is a database, or one transaction on it, with the statements of the audit trail.
type Store struct {
	*db.DB
	hooks *Hooks
}

// Hooks are what the audit trail needs of other areas.
type Hooks struct {
	// Wake returns the write that makes the webhooks of a workspace with new events due.
	Wake func(ws identity.WorkspaceID, now time.Time) db.Write

	// Templates have events that only people who see the template may read.
	Templates []Templates
}

// Templates is a table of templates.
type Templates struct {
	table  string
	types  string // of events that only people who see the template may read, as SQL
	seenBy func(*db.Conditions, identity.Actor)
}

// NewStore returns the statements of the audit trail on a database or transaction.
func NewStore(d *db.DB, hooks *Hooks) *Store { return &Store{d, hooks} }

// inTx runs fn in a transaction, and commits if fn succeeds; see db.DB.InTx.
func (store *Store) inTx(ctx context.Context, fn func(tx *Store) error) error {
	return store.InTx(ctx, func(tx *db.DB) error { return fn(NewStore(tx, store.hooks)) })
}

// snapshot calls fn with a consistent snapshot of the database.
func (store *Store) snapshot(ctx context.Context, fn func(*Store) error) error {
	return store.Snapshot(ctx, func(tx *db.DB) error { return fn(NewStore(tx, store.hooks)) })
}
