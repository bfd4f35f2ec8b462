// Package source holds sources of data: tables of spreadsheets and warehouses whose columns are mapped to a type's
// fields.
package source

import "github.com/atrium-hq/atrium/domain/column"

// TypeKey names a type of source, such as contacts.
type TypeKey string

// Backend is the kind of system that stores a source's rows.
type Backend string

// The backends.
const (
	SheetBackend     Backend = "sheet"
	WarehouseBackend Backend = "warehouse"
)

// Type is a kind of data that an org accepts: the fields of its rows, and which backends they can come
// from. Types are configuration. CheckTypes returns their errors.
type Type struct {
	Key     TypeKey
	Title   string
	Accepts []Backend
	Fields  []column.Field
}

// Schema returns the fields of t, to suggest columns for them.
func (t Type) Schema() column.Schema {
	return column.Schema{Key: string(t.Key), Title: t.Title, Fields: t.Fields}
}
