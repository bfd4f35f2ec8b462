package source

import (
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Errors of reading rows.
var (
	ErrRowsUnsupported = &fault.Error{
		Kind:   fault.Invalid,
		Code:   "rows_unsupported",
		Detail: "The rows of this kind of data source cannot be read yet.",
	}
	ErrKeyUnsupported = &fault.Error{
		Kind: fault.Invalid,
		Code: "key_unsupported",
		Detail: "Pages are in the order of a mapped field that is unique, and the columns of these fields have types " +
			"by which the database cannot order rows exactly. Map another column to one of them.",
	}
	ErrSourceChanged = &fault.Error{
		Kind: fault.Conflict,
		Code: "source_changed",
		Detail: "The file, the columns or the mapping of the data source have changed since the first page, or since " +
			"the columns were mapped. Read from the beginning, or map the columns again.",
	}
	ErrUnmapped = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "source_unmapped",
		Detail: "The data source has no mapping. Map its columns to fields first.",
	}
	ErrUnknownField = &fault.Error{
		Kind:   fault.Malformed,
		Code:   "invalid_parameter",
		Detail: "The mapping has no such field.",
	}
)

// RowsQuery asks for a sheet's rows, below its header.
type RowsQuery struct {
	Columns []string // in the order in which their values are returned
	Exact   []bool   // the columns to return as they are stored and not as they are shown: numbers and dates
	After   int      // only rows with a greater number
	Version string   // ErrSourceChanged if the file has another one; empty: any
	Limit   int      // the most rows
}

// RowLimits bound one request for a source's rows.
type RowLimits struct {
	Rows    int           // that are read, including those that a filter leaves out
	Bytes   int           // that a warehouse or a file's host sends
	Seconds time.Duration // that the read may take
}

// Read returns the note that by has read rows of s: one for each reader and hour.
func (s *Source) Read(by identity.Actor) event.Note {
	return event.Note{
		By: by, Type: "source.read", Subject: string(s.ID),
		Data:       map[string]any{"type": s.Type, "backend": s.Location.Backend()},
		Workspaces: []identity.WorkspaceID{by.Workspace},
		Scope:      []string{string(by.Workspace), string(s.ID)}, Until: event.EndOfHour(by.At),
	}
}

// MappedField is a type's field with the column that holds it.
type MappedField struct {
	column.Field
	Pair
}

// MappedFields returns the mapped fields of s, in the order of the type. Those that the type no longer has are left
// out. Returns ErrUnmapped if no field is mapped, and ErrPaused while s is paused.
func (s *Source) MappedFields(t *Type) ([]MappedField, error) {
	if s.Paused != "" {
		return nil, ErrPaused
	}
	var out []MappedField
	if t != nil {
		out = fieldsOf(*t, s.Mapping)
	}
	if len(out) == 0 {
		return nil, ErrUnmapped
	}
	return out, nil
}

// fieldsOf returns a type's fields that pairs map, in the order of the type.
func fieldsOf(t Type, pairs []Pair) (out []MappedField) {
	for _, f := range t.Fields {
		for _, p := range pairs {
			if p.Field == f.Key {
				out = append(out, MappedField{f, p})
			}
		}
	}
	return out
}

// PageKey returns which of a table's mapped fields its pages are in the order of: the first unique one that is a whole
// column with an order. -1 if no whole column is unique. If none of these has an order, it returns the first one and
// ErrKeyUnsupported.
func (s *Source) PageKey(mappedFields []MappedField) (int, error) {
	first := -1
	for i, f := range mappedFields {
		if !f.Unique || f.Transform.IsPartial() {
			continue
		}
		if c := columnNamed(s.Columns, f.Column); c == nil || !c.Unordered {
			return i, nil
		}
		if first < 0 {
			first = i
		}
	}
	if first >= 0 {
		return first, ErrKeyUnsupported
	}
	return -1, nil
}
