package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/jmoiron/sqlx"
)

// BoundScans makes every page of a filtered list end after n rows that it examined.
func BoundScans(db *DB, n int) {
	db.scans = scanBounds{templates: n, keys: n, presences: n, events: n}
}

// ChatQuery reads a chat template.
const ChatQuery = `SELECT ` + chatColumns + chatTables + ` WHERE t.id = ? AND t.workspace_id = ?`

// Bound returns what gives queries the placeholders of PostgreSQL. It has no connection.
func Bound() func(query string) string {
	return (&DB{shared: &shared{reader: sqlx.NewDb(new(sql.DB), "postgres")}}).bound
}

// RenewingEvery returns s, which renews the reservations of running requests at another interval.
func RenewingEvery(s *Idempotency, interval time.Duration) *Idempotency {
	return &Idempotency{s.db, interval}
}

// Exec runs a statement that no store has.
func Exec(ctx context.Context, db *DB, query string, args ...any) error {
	_, err := db.exec(ctx, query, args...)
	return err
}

// InTx runs fn in a transaction.
func InTx(ctx context.Context, db *DB, fn func(tx *DB) error) error { return db.inTx(ctx, fn) }

// CommitTogetherFor sets how old a group of transactions may be that others join.
func CommitTogetherFor(db *DB, age time.Duration) { db.groups.age = age }

// Waiting returns how many transactions wait for SQLite's writer.
func Waiting(db *DB) int { return int(db.groups.waiting.Load()) }
