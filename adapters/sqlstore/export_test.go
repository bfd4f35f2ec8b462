package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/accounts"
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/adapters/sqlstore/prompts"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// BoundScans makes every page of a filtered list end after n rows that it examined.
func BoundScans(store *Store, n int) {
	store.Scans = db.ScanBounds{Templates: n, Keys: n, Presences: n, Events: n}
}

// Exec runs a statement that no store has.
func Exec(ctx context.Context, store *Store, query string, args ...any) error {
	_, err := store.Exec(ctx, query, args...)
	return err
}

// InTx runs fn in a transaction.
func InTx(ctx context.Context, store *Store, fn func(tx *Store) error) error {
	return store.inTx(ctx, fn)
}

// NoteLost notes that the holder of a reference lost its prompt, as a node does that has read so.
func NoteLost(ctx context.Context, store *Store, by identity.Actor, r prompt.Reference, owner identity.UserID) error {
	return prompts.NewStore(store.DB).NoteReference(ctx, by, r, owner, true)
}

// SweepBatch is the most rows that one transaction of the sweep removes.
const SweepBatch = db.SweepBatch

// RemovedFirst returns the tables whose rows the sweep removes before those of a table that they refer to.
func RemovedFirst() map[string][]string {
	found := map[string][]string{}
	for table, children := range tablesOf {
		for _, child := range children {
			found[table] = append(found[table], child.Name)
		}
	}
	for _, t := range accounts.PeopleTables {
		found["workspaces"] = append(found["workspaces"], t.Name)
	}
	return found
}
