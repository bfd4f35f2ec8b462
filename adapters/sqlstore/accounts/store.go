// Package accounts stores people, their workspaces, groups, credentials and sessions in SQLite or PostgreSQL.
package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
)

// Store is a database, or one transaction on it, with the statements of accounts.
type Store struct {
	*db.DB
	enqueue db.Enqueue // queues the mails of security notices
}

// NewStore returns the statements of accounts on a database or transaction, which queue jobs by enqueue.
func NewStore(d *db.DB, enqueue db.Enqueue) *Store { return &Store{d, enqueue} }

// inTx runs fn in a transaction, and commits if fn succeeds; see db.DB.InTx.
func (store *Store) inTx(ctx context.Context, fn func(tx *Store) error) error {
	return store.InTx(ctx, func(tx *db.DB) error { return fn(NewStore(tx, store.enqueue)) })
}

// lockInTx is the clause that locks rows t in a transaction; empty outside of one.
func (store *Store) lockInTx() string {
	if store.IsTransaction() {
		return store.Dialect.Lock
	}
	return ""
}

// forCredentials returns store with the connections that are reserved for looking up credentials.
func (store *Store) forCredentials() *Store { return NewStore(store.ForCredentials(), store.enqueue) }
