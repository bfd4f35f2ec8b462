// Package migrations has the statements that build and change the schema: one file a step and engine, numbered in
// the order of their application. A released file never changes.
package migrations

import "embed"

// Files has the folders sqlite and postgres.
//
//go:embed sqlite postgres
var Files embed.FS
