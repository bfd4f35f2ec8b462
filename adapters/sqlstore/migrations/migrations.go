// Package migrations has the statements that build and change the schema: one file a step and engine, numbered in
// the order of their application. A released file never changes.
package migrations

import "embed"

// Files has the folders sqlite and postgres.
//
//go:embed sqlite postgres
var Files embed.FS

// SQLiteSchema and PostgresSchema are the schema after most of the migrations, which they note as applied. They are for
// an empty database; the migrations after these are applied as usual.
var (
	//go:embed schema/sqlite.sql
	SQLiteSchema string
	//go:embed schema/postgres.sql
	PostgresSchema string
)
