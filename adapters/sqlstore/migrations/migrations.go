// Package migrations has the statements that build and change the schema: one file a step and engine, numbered in
// the order of their application. A released file never changes.
package migrations

import "embed"

// Files has the folders sqlite and postgres.
//
//go:embed sqlite postgres
var Files embed.FS

// SQLiteSchema is the schema after most of the migrations of SQLite, which it notes as applied. It is for an empty
// database; the migrations after these are applied as usual.
//
//go:embed schema/sqlite.sql
var SQLiteSchema string
