package db

import (
	"context"
	"time"
)

// CommitTogetherFor sets how old a group of transactions may be that others join.
func CommitTogetherFor(db *DB, age time.Duration) { db.groups.maxAge = age }

// Waiting returns how many transactions wait for SQLite's writer.
func Waiting(db *DB) int { return int(db.groups.waiting.Load()) }

// AgeCredentials makes cached credentials older.
func AgeCredentials(db *DB, by time.Duration) {
	age(&db.Principals, by)
	age(&db.SignIns, by)
	age(&db.Sessions, by)
}

func age[K comparable, V any](r *ttlCache[K, V], by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, k := range r.known {
		k.read = k.read.Add(-by)
		r.known[key] = k
	}
}

// ShiftLastCheck makes the last look for changes younger, or older if by is negative.
func ShiftLastCheck(db *DB, by time.Duration) { db.observed.looked.Add(int64(by)) }

// AgeChanges makes the rows old that say what transactions have changed, up to the last look.
func AgeChanges(db *DB) {
	db.observed.mu.Lock()
	defer db.observed.mu.Unlock()
	db.observed.old = db.observed.last
	db.observed.old.Clock -= changesKept.Microseconds()
}

// ReplaceWriter makes SQLite's writer use another connection.
func ReplaceWriter(db *DB) {
	db.writer.SetMaxIdleConns(0)
	db.writer.SetMaxIdleConns(1)
}

// Exec runs a statement that no store has.
func Exec(ctx context.Context, db *DB, query string, args ...any) error {
	_, err := db.Exec(ctx, query, args...)
	return err
}

// InTx runs fn in a transaction.
func InTx(ctx context.Context, db *DB, fn func(tx *DB) error) error { return db.InTx(ctx, fn) }
