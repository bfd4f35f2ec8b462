// Package embeds stores the embed tokens of chat templates in SQLite or PostgreSQL, and their use.
package embeds

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Templates reads the chat templates that tokens belong to. Locked also locks them, to be changed.
type Templates struct {
	Read, Locked func(context.Context, *db.DB, identity.Actor, chat.ID) (*chat.Template, error)
}

// Store is a database, or one transaction on it, with the statements of embed tokens.
type Store struct {
	*db.DB
	templates Templates
}

// inTx runs fn in a transaction, and commits if fn succeeds; see db.DB.InTx.
func (store *Store) inTx(ctx context.Context, fn func(tx *Store) error) error {
	return store.InTx(ctx, func(tx *db.DB) error { return fn(&Store{tx, store.templates}) })
}
