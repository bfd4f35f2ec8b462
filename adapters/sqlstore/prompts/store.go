// Package prompts stores prompts in SQLite or PostgreSQL.
package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Store is a database, or one transaction on it, with the statements of prompts.
type Store struct{ *db.DB }

// NewStore returns the statements of prompts on a database or transaction.
func NewStore(d *db.DB) *Store { return &Store{d} }

// inTx runs fn in a transaction, and commits if fn succeeds; see db.DB.InTx.
func (store *Store) inTx(ctx context.Context, fn func(tx *Store) error) error {
	return store.InTx(ctx, func(tx *db.DB) error { return fn(NewStore(tx)) })
}

// Prompts stores prompt templates.
type Prompts struct{ db *Store }

var _ ports.Prompts = (*Prompts)(nil)

// Lists reads lists of prompt templates, and of a template's versions, shares, requests and checks.
type Lists struct{ db *Store }

var _ ports.PromptLists = (*Lists)(nil)
