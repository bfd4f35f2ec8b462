package connection

import (
	"strings"
	"unicode/utf8"
)

// Limits of a preview and of a page of tables.
const (
	MaxCell       = 256  // a value's characters; longer ones are cut
	MaxColumns    = 200  // of a preview; further ones are omitted unless they are named or searched
	MaxListed     = 5000 // a table's columns; further ones do not exist for Atrium
	MaxSampleRows = 5
	MaxTables     = 500 // of one page of tables
)

// TableKind is the kind of relation.
type TableKind string

// The kinds of tables.
const (
	BaseTable        TableKind = "table"
	View             TableKind = "view"
	MaterializedView TableKind = "materialized_view"
	ExternalTable    TableKind = "external_table" // its rows are stored elsewhere
)

// TableRef names a table. Schema is PostgreSQL's schema, MySQL's and ClickHouse's database, BigQuery's
// dataset, and "main" for SQLite.
type TableRef struct {
	Schema string
	Name   string
}

// Compare orders names by their bytes, schema first.
func (r TableRef) Compare(o TableRef) int {
	if c := strings.Compare(r.Schema, o.Schema); c != 0 {
		return c
	}
	return strings.Compare(r.Name, o.Name)
}

// Table is a table that a connection's user can read.
type Table struct {
	TableRef
	Kind        TableKind
	RowEstimate int64 // from the catalogue's statistics, which may be old; -1 without statistics
}

// TableQuery asks for a page of tables in the order of TableRef.Compare.
type TableQuery struct {
	After TableRef // the last table of the previous page; zero for the first page
	Limit int      // 1 to MaxTables
	Match string   // only tables whose name contains this text, in upper or lower case; "" for all
}

// PreviewQuery asks for a table's first rows.
type PreviewQuery struct {
	Table    TableRef
	Rows     int      // 0 to MaxSampleRows
	Estimate bool     // also look up Preview.RowEstimate, in the same session
	Match    string   // only columns whose name has this in it, in upper or lower case; empty: all
	Columns  []string // names of columns that the preview must have if the table has them, also beyond MaxColumns
}

// Chosen has the table columns that a preview shows.
type Chosen[C any] struct {
	Columns   []C  // the first MaxColumns that match, then those that must be there
	Total     int  // columns of the table
	Truncated bool // there are more that match
}

// Choose chooses from all table columns, whose names name returns.
func Choose[C any](q PreviewQuery, all []C, name func(C) string) Chosen[C] {
	out := Chosen[C]{Total: len(all)}
	names := map[string]bool{}
	for _, n := range q.Columns {
		names[n] = true
	}
	match, hits := strings.ToLower(q.Match), 0
	for _, c := range all {
		matches := match == "" || strings.Contains(strings.ToLower(name(c)), match)
		if matches {
			hits++
		}
		switch {
		case matches && hits <= MaxColumns, names[name(c)]:
			out.Columns = append(out.Columns, c)
		case matches:
			out.Truncated = true
		}
	}
	return out
}

// Type is how a column's values can be used, whatever the database's own type.
type Type string

// The types. A value of no other type is a Text.
const (
	Text     Type = "text"
	Integer  Type = "integer"
	Number   Type = "number"
	Boolean  Type = "boolean"
	Date     Type = "date"
	DateTime Type = "datetime"
	JSON     Type = "json"
)

// Column is a table column.
type Column struct {
	Name         string
	DatabaseType string // the database's name of the type, such as numeric(10,2)
	Type         Type
	Nullable     bool
	Unordered    bool // it cannot be RowsQuery.Key: its type has no order, or no text that loses nothing
}

// Preview shows a table's first rows. Values are texts as the database writes them, cut to MaxCell characters; nil for
// NULL.
type Preview struct {
	Columns     []Column
	Total       int  // columns of the table, at most MaxListed
	Truncated   bool // the query matches more columns than there are here
	Rows        [][]*string
	SampleError Code  // why there are no rows, and only columns of the catalogue; "" if rows were read
	RowEstimate int64 // from the catalogue's statistics; -1 if unknown, or if the query did not ask for it
}

// Cell returns s as a preview value: valid UTF-8, cut to MaxCell characters.
func Cell(s string) *string {
	if len(s) > MaxCell*utf8.UTFMax { // the part examined below
		s = s[:MaxCell*utf8.UTFMax]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) > MaxCell {
		s = string([]rune(s)[:MaxCell])
	}
	return &s
}
