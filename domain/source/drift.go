package source

import (
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/column"
)

// DriftLevel is how much a source's columns differ from the mapped columns.
type DriftLevel string

// The levels, from harmless to worst.
const (
	NoDrift  DriftLevel = "none"
	Additive DriftLevel = "additive" // no mapped column changed: columns were added, or unused ones removed
	Renamed  DriftLevel = "renamed"  // for each missing mapped column, another has probably replaced it
	Breaking DriftLevel = "breaking" // a mapped column is missing, or has values of another type
)

// ColumnChange is how a column changed.
type ColumnChange string

// The changes.
const (
	ColumnAdded   ColumnChange = "added"
	ColumnRemoved ColumnChange = "removed"
	ColumnRenamed ColumnChange = "renamed"
	ColumnRetyped ColumnChange = "retyped" // its values fitted the field, and no longer do
)

// DriftedColumn is a column that changed.
type DriftedColumn struct {
	Column string
	Change ColumnChange
	To     string // of a renamed column, its new name; of a retyped one, its new column.Type
}

// Drift describes how a source's columns changed since they were mapped.
type Drift struct {
	Level   DriftLevel
	Columns []DriftedColumn
	Seen    int // consecutive refreshes that found it Breaking
}

// drift compares now with the columns that were mapped. A mapped column counts as renamed if a column's
// name differs only in its spelling, or if a new column with values of the same kind is at its place. Columns that were
// added elsewhere do not prevent that.
func (s *Source) drift(t *Type, columns []column.Header) Drift {
	d := Drift{Level: NoDrift}
	note := func(level DriftLevel, c DriftedColumn) {
		d.Level = worse(d.Level, level)
		d.Columns = append(d.Columns, c)
	}
	names := map[string]bool{}
	for i, previous := range s.Columns {
		f, isMapped := s.fieldOf(t, previous.Name)
		switch c := columnNamed(columns, previous.Name); {
		case c != nil:
			if f != nil && column.Fitness(f.Type, previous.Type) >= column.MinScore &&
				column.Fitness(f.Type, c.Type) < column.MinScore {
				note(Breaking, DriftedColumn{previous.Name, ColumnRetyped, string(c.Type)})
			}
		case !isMapped:
			note(Additive, DriftedColumn{previous.Name, ColumnRemoved, ""})
		default:
			successor := s.successor(f, i, columns, names)
			if successor == "" {
				note(Breaking, DriftedColumn{previous.Name, ColumnRemoved, ""})
				continue
			}
			names[successor] = true
			note(Renamed, DriftedColumn{previous.Name, ColumnRenamed, successor})
		}
	}
	for _, c := range columns {
		if columnNamed(s.Columns, c.Name) == nil && !names[c.Name] {
			note(Additive, DriftedColumn{c.Name, ColumnAdded, ""})
		}
	}
	return d
}

// successor returns the name of the column of now that replaced the one at a place; "" if none did.
func (s *Source) successor(f *column.Field, place int, columns []column.Header, names map[string]bool) string {
	previous := s.Columns[place]
	fresh := func(c column.Header) bool {
		return columnNamed(s.Columns, c.Name) == nil && !names[c.Name] &&
			(f == nil || column.Fitness(f.Type, c.Type) >= column.MinScore)
	}
	name := column.Normalise(previous.Name)
	for _, c := range columns {
		if name != "" && column.Normalise(c.Name) == name && fresh(c) && (c.Type == column.String || sameKind(previous,
			c)) {
			return c.Name // column.String may be a column without values
		}
	}
	neighbourName, candidates := "", 0 // the last candidate that is beside a column which it was beside before
	for i, c := range columns {
		if !fresh(c) || !sameKind(previous, c) {
			continue
		}
		candidates++
		leftName, right := neighbour(columns, i-1), neighbour(columns, i+1)
		hasLeft, hasRight := neighbour(s.Columns, place-1) == leftName, neighbour(s.Columns, place+1) == right
		if (hasLeft && hasRight) || (i == place && (hasLeft || hasRight || len(columns) == len(s.Columns))) {
			return c.Name
		}
		if (hasLeft && leftName != "") || (hasRight && right != "") {
			neighbourName = c.Name
		}
	}
	if candidates == 1 {
		return neighbourName
	}
	return ""
}

// neighbour returns the name of the column at a place; "" if that is beyond an end of the table.
func neighbour(columns []column.Header, place int) string {
	if place < 0 || place >= len(columns) {
		return ""
	}
	return columns[place].Name
}

// alike maps types to the one that stands for all types whose values a column may have at different times.
var alike = map[column.Type]column.Type{column.Integer: column.Number, column.DateTime: column.Date,
	column.Text: column.String}

// sameKind reports whether the values of two columns are of the same kind.
func sameKind(a, b column.Header) bool {
	kind := func(t column.Type) column.Type {
		if other, ok := alike[t]; ok {
			return other
		}
		return t
	}
	return kind(a.Type) == kind(b.Type)
}

// LostHeader reports whether columns, which were read where the header of s was, are probably no header: none of the
// mapped columns is among them. A line that was put above a sheet does this.
func (s *Source) LostHeader(columns []column.Header) bool {
	for _, p := range s.Mapping {
		if columnNamed(columns, p.Column) != nil {
			return false
		}
	}
	return len(s.Mapping) > 0 && s.Location.Backend() == SheetBackend && s.Location.Sheet.HeaderRow != column.NoHeader
}

// FindHeader returns the row of p, counted from 1, that has the names of all mapped columns of s, or 0.
// The row is approximate if it is below the header of p, where p omits empty rows.
func (s *Source) FindHeader(p column.Preview) int {
	for i, row := range p.Leading {
		if s.isHeader(row) {
			return p.HeaderRow - len(p.Leading) + i
		}
	}
	names := make([]*string, len(p.Headers))
	for i := range names {
		names[i] = &p.Headers[i].Name
	}
	if s.isHeader(names) {
		return p.HeaderRow
	}
	for i, row := range p.Rows {
		if s.isHeader(row) {
			return p.HeaderRow + 1 + i
		}
	}
	return 0
}

// isHeader reports whether row has the name of each mapped column.
func (s *Source) isHeader(row []*string) bool {
	for _, p := range s.Mapping {
		if !slices.ContainsFunc(row, func(c *string) bool {
			return c != nil && strings.Join(strings.Fields(*c), " ") == p.Column
		}) {
			return false
		}
	}
	return len(s.Mapping) > 0
}

// fieldOf returns the field that a column is mapped to; nil if the type no longer has it, or if the values of the
// column are transformed, so that their type need not be the one of the field.
func (s *Source) fieldOf(t *Type, column string) (f *column.Field, isMapped bool) {
	for _, p := range s.Mapping {
		if slices.Contains(p.Columns(), column) {
			if isMapped = true; p.Transform.IsZero() {
				return t.field(p.Field), true
			}
		}
	}
	return nil, isMapped
}

var severity = map[DriftLevel]int{NoDrift: 0, Additive: 1, Renamed: 2, Breaking: 3}

func worse(a, b DriftLevel) DriftLevel {
	if severity[a] > severity[b] {
		return a
	}
	return b
}

// same reports whether two drifts look the same to a reader.
func (d Drift) same(o Drift) bool {
	if d.Level != o.Level || len(d.Columns) != len(o.Columns) {
		return false
	}
	for i := range d.Columns {
		if d.Columns[i] != o.Columns[i] {
			return false
		}
	}
	return true
}
