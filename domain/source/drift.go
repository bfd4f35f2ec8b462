package source

import "github.com/atrium-hq/atrium/domain/column"

// DriftLevel says how much the columns of a source differ from those that were mapped.
type DriftLevel string

// The levels, each worse than the one before.
const (
	NoDrift  DriftLevel = "none"
	Additive DriftLevel = "additive" // no mapped column changed: columns were added, or unused ones removed
	Renamed  DriftLevel = "renamed"  // for each missing mapped column, another has probably replaced it
	Breaking DriftLevel = "breaking" // a mapped column is missing, or has values of another type
)

// ColumnChange says how a column changed.
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
// name differs only in its spelling, or if a new column with fitting values is at exactly its place.
func (s *Source) drift(t *Type, now []column.Header) Drift {
	d := Drift{Level: NoDrift}
	note := func(level DriftLevel, c DriftedColumn) {
		d.Level = worse(d.Level, level)
		d.Columns = append(d.Columns, c)
	}
	taken := map[string]bool{}
	for i, was := range s.Columns {
		f, mapped := s.fieldOf(t, was.Name)
		switch c := columnNamed(now, was.Name); {
		case c != nil:
			if f != nil && column.Fitness(f.Type, was.Type) >= column.MinScore &&
				column.Fitness(f.Type, c.Type) < column.MinScore {
				note(Breaking, DriftedColumn{was.Name, ColumnRetyped, string(c.Type)})
			}
		case !mapped:
			note(Additive, DriftedColumn{was.Name, ColumnRemoved, ""})
		default:
			to := s.successor(f, i, now, taken)
			if to == "" {
				note(Breaking, DriftedColumn{was.Name, ColumnRemoved, ""})
				continue
			}
			taken[to] = true
			note(Renamed, DriftedColumn{was.Name, ColumnRenamed, to})
		}
	}
	for _, c := range now {
		if columnNamed(s.Columns, c.Name) == nil && !taken[c.Name] {
			note(Additive, DriftedColumn{c.Name, ColumnAdded, ""})
		}
	}
	return d
}

// successor returns the name of the column of now that replaced the one at a place; "" if none did.
func (s *Source) successor(f *column.Field, place int, now []column.Header, taken map[string]bool) string {
	fresh := func(c column.Header) bool {
		return columnNamed(s.Columns, c.Name) == nil && !taken[c.Name] &&
			(f == nil || column.Fitness(f.Type, c.Type) >= column.MinScore)
	}
	name := column.Normalise(s.Columns[place].Name)
	for _, c := range now {
		if name != "" && column.Normalise(c.Name) == name && fresh(c) {
			return c.Name
		}
	}
	if len(now) == len(s.Columns) && fresh(now[place]) {
		return now[place].Name
	}
	return ""
}

// fieldOf returns the field that a column is mapped to; nil if the type no longer has it.
func (s *Source) fieldOf(t *Type, column string) (f *column.Field, mapped bool) {
	for _, p := range s.Mapping {
		if p.Column == column {
			return t.field(p.Field), true
		}
	}
	return nil, false
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
