package source

// DriftLevel says how far the columns of a source are from those that were mapped.
type DriftLevel string

// The levels, each worse than the one before.
const (
	NoDrift  DriftLevel = "none"
	Additive DriftLevel = "additive" // nothing that a field takes: columns came, or unused ones went
	Renamed  DriftLevel = "renamed"  // each mapped column that is gone has one that probably took its place
	Breaking DriftLevel = "breaking" // a mapped column is gone, or holds something else
)

// ColumnChange says what became of a column.
type ColumnChange string

// The changes.
const (
	ColumnAdded   ColumnChange = "added"
	ColumnRemoved ColumnChange = "removed"
	ColumnRenamed ColumnChange = "renamed"
	ColumnRetyped ColumnChange = "retyped" // its values are hardly the field's any more, and were before
)

// DriftedColumn is a column that is not as it was.
type DriftedColumn struct {
	Column string
	Change ColumnChange
	To     string // of a renamed one, its name now; of a retyped one, its FieldType now
}

// Drift is what changed of a source's columns since they were mapped.
type Drift struct {
	Level   DriftLevel
	Columns []DriftedColumn
	Seen    int // how many refreshes in a row found it Breaking
}

// drift compares now with the columns that were mapped. A column that a field takes is taken for
// renamed if its name differs in its spelling alone, or if exactly at its place is one that was not
// there before and whose values fit.
func (s *Source) drift(t *Type, now []Header) Drift {
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
			if f != nil && fitness(f.Type, was.Type) >= MinScore && fitness(f.Type, c.Type) < MinScore {
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

// successor names the column of now that took the place of the one which was at a place; "" if none
// did.
func (s *Source) successor(f *Field, place int, now []Header, taken map[string]bool) string {
	fresh := func(c Header) bool {
		return columnNamed(s.Columns, c.Name) == nil && !taken[c.Name] && (f == nil || fitness(f.Type, c.Type) >= MinScore)
	}
	name := Normalise(s.Columns[place].Name)
	for _, c := range now {
		if name != "" && Normalise(c.Name) == name && fresh(c) {
			return c.Name
		}
	}
	if len(now) == len(s.Columns) && fresh(now[place]) {
		return now[place].Name
	}
	return ""
}

// fieldOf returns the field that a column holds, which is nil if the type has it no more.
func (s *Source) fieldOf(t *Type, column string) (f *Field, mapped bool) {
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

// same reports whether two drifts tell the same to a reader.
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
