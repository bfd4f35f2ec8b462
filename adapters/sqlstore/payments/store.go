// Package payments stores payments in SQLite or PostgreSQL.
package payments

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Store is a database, or one transaction on it, with the statements of payments.
type Store struct{ *db.DB }

// NewStore returns the statements of payments on a database or transaction.
func NewStore(d *db.DB) *Store { return &Store{d} }

// inTx runs fn in a transaction, and commits if fn succeeds; see db.DB.InTx.
func (store *Store) inTx(ctx context.Context, fn func(tx *Store) error) error {
	return store.InTx(ctx, func(tx *db.DB) error { return fn(NewStore(tx)) })
}

// Payments stores the customers of payment gateways, and the mirror of the gateways' data.
type Payments struct{ db *Store }

var _ ports.Payments = (*Payments)(nil)
