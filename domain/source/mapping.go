package source

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// ErrMappingInvalid is returned for a mapping that breaks a rule. With names the errors.
var ErrMappingInvalid = &fault.Error{
	Kind:   fault.Invalid,
	Code:   "mapping_invalid",
	Detail: "The mapping is not valid. See errors for each problem.",
}

// Pair maps a column to a field.
type Pair struct {
	Field  string // the field's key
	Column string // a Header's name

	Transform column.Transform // of the column's strings
}

// MayMap returns nil if by may change the mapping of s now. While its connection is revoked no one can,
// because its columns cannot be read.
func (s *Source) MayMap(by identity.Actor, match revision.Match) error {
	if err := s.allow(by, Manage, match); err != nil {
		return err
	}
	switch {
	case s.Paused == ConnectionRevoked:
		return ErrPaused.Because("The data source's connection is revoked. Verify it with a new credential first.")
	case s.Paused == ConnectionChanged && s.Access(by) < Own:
		return ErrPaused.Because(
			"The data source's connection now leads to another target. The source's owner, or an owner of the " +
				"workspace, can resume it by mapping it again.",
		)
	}
	return nil
}

// Map replaces the mapping of s with pairs, and its columns with those that were just read. It ends
// every pause, and becomes the basis for drift. The next refresh is due at once.
func (s *Source) Map(by identity.Actor, match revision.Match, t Type, pairs []Pair, r Reading) error {
	if err := s.MayMap(by, match); err != nil {
		return err
	}
	previousPairs, columns := s.Mapping, s.Columns
	s.Columns = r.Columns
	if err := s.choose(t, pairs); err != nil {
		s.Columns = columns
		return err
	}
	s.Total = r.total()
	data := map[string]any{"fields": len(s.Mapping), "changed": !reflect.DeepEqual(previousPairs, s.Mapping)}
	if s.Paused != "" {
		data["resumed_from"] = s.Paused
	}
	s.Record(by, "source.mapped", string(s.ID), data)
	s.Location, s.RowEstimate = r.Location, known(r.RowEstimate, s.RowEstimate)
	s.Paused, s.Failure, s.Failures, s.Drift = "", nil, 0, Drift{Level: NoDrift}
	s.NextRefreshAt = by.At
	s.touch(by)
	return nil
}

// choose sets the mapping to pairs, and what to learn from it.
func (s *Source) choose(t Type, pairs []Pair) error {
	if err := checkMapping(t, s.Columns, pairs); err != nil {
		return err
	}
	mappedFields := fieldsOf(t, pairs)
	if i, err := s.PageKey(mappedFields); err != nil {
		pair := slices.IndexFunc(pairs, func(p Pair) bool { return p.Field == mappedFields[i].Key })
		return ErrKeyUnsupported.WithFields(fault.Field{Pointer: "/mapping/" + strconv.Itoa(pair) + "/column",
			Code: ErrKeyUnsupported.Code, Detail: "The database cannot order rows exactly by the type of this column."})
	}
	s.Mapping, s.Learnt = slices.Clone(pairs), column.Memory{}
	if !s.mayBeKey(s.ChangeKey) {
		s.ChangeKey = ""
	}
	for _, p := range pairs {
		// A part of a column does not mean that the whole column is the field.
		if name := column.Normalise(p.Column); name != "" && !p.Transform.IsPartial() {
			s.Learnt[name] = p.Field
		}
	}
	return nil
}

// checkMapping returns all errors in pairs, as fields of a body's /mapping.
func checkMapping(t Type, columns []column.Header, pairs []Pair) error {
	var errs fault.Fields
	add := func(pointer, code, detail string) {
		errs.Add("/mapping"+pointer, code, detail)
	}
	fields := map[string]bool{}
	for i, p := range pairs {
		pointer := "/" + strconv.Itoa(i)
		switch {
		case t.field(p.Field) == nil:
			add(pointer+"/field", "unknown_mapping_field", "The type has no such field.")
		case fields[p.Field]:
			add(pointer+"/field", "duplicate_item", "The field is mapped twice.")
		}
		if columnNamed(columns, p.Column) == nil {
			add(pointer+"/column", "unknown_column", "The table has no such column.")
		}
		checkTransform(t.field(p.Field), columns, p,
			func(in, code, detail string) { add(pointer+in, code, detail) })
		fields[p.Field] = true
	}
	for _, f := range t.Fields {
		if f.Required && !fields[f.Key] {
			add("", "required_field_unmapped",
				fmt.Sprintf("The field %s is required, and no column is given for it.", f.Key))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return ErrMappingInvalid.WithFields(errs...)
}

// Warning is a problem in a mapping that a person should look at.
type Warning struct {
	Field  string
	Column string
	Code   WarningCode
}

// WarningCode is a warning's kind.
type WarningCode string

// The warnings.
const (
	TypeDiffers   WarningCode = "type_differs"   // the column's values hardly fit the field
	ColumnMissing WarningCode = "column_missing" // the last refresh did not find the column
	FieldMissing  WarningCode = "field_missing"  // the type no longer has the field
)

// MappingReport is how well a source's columns fill the fields of its type.
type MappingReport struct {
	Matched          int      // fields that have a column
	UnmappedRequired []string // keys of required fields without a column
	UnmappedColumns  []string // names of columns without a field
	Warnings         []Warning
}

// Report returns how well s fills the fields of t. A nil t means that the org no longer has the type.
func (s *Source) Report(t *Type) MappingReport {
	if t == nil {
		t = &Type{}
	}
	removals := map[string]bool{}
	for _, c := range s.Drift.Columns {
		removals[c.Column] = c.Change == ColumnRemoved || c.Change == ColumnRenamed
	}
	var r MappingReport
	fields, columnNames := map[string]bool{}, map[string]bool{}
	for _, p := range s.Mapping {
		f, c := t.field(p.Field), columnNamed(s.Columns, p.Column)
		fields[p.Field] = true
		for _, name := range p.Columns() {
			columnNames[name] = true
		}
		switch {
		case f == nil:
			r.Warnings = append(r.Warnings, Warning{p.Field, p.Column, FieldMissing})
			continue
		case c == nil || slices.ContainsFunc(p.Columns(), func(name string) bool { return removals[name] }):
			r.Warnings = append(r.Warnings, Warning{p.Field, p.Column, ColumnMissing})
		case p.Transform.IsZero() && column.Fitness(f.Type, c.Type) < column.MinScore:
			r.Warnings = append(r.Warnings, Warning{p.Field, p.Column, TypeDiffers})
		}
		r.Matched++
	}
	for _, f := range t.Fields {
		if f.Required && !fields[f.Key] {
			r.UnmappedRequired = append(r.UnmappedRequired, f.Key)
		}
	}
	for _, c := range s.Columns {
		if !columnNames[c.Name] {
			r.UnmappedColumns = append(r.UnmappedColumns, c.Name)
		}
	}
	return r
}

// Mapped returns a reading's rows according to the mapping of s: strings by field key, after their transformation. The
// string is nil if its column was not read.
func (s *Source) Mapped(r Reading) []map[string]*string {
	rows := make([]map[string]*string, 0, column.ShownRows)
	for _, cells := range r.Rows[:min(len(r.Rows), column.ShownRows)] {
		row := map[string]*string{}
		for _, p := range s.Mapping {
			values := p.cells(r.Columns, cells)
			row[p.Field] = p.Transform.Text(values[0], values[1:])
		}
		rows = append(rows, row)
	}
	return rows
}

// field returns the field of t with a key, or nil.
func (t *Type) field(key string) *column.Field {
	for i := range t.Fields {
		if t.Fields[i].Key == key {
			return &t.Fields[i]
		}
	}
	return nil
}

func columnNamed(columns []column.Header, name string) *column.Header {
	for i := range columns {
		if columns[i].Name == name {
			return &columns[i]
		}
	}
	return nil
}

func known(current, previous int64) int64 {
	if current < 0 {
		return previous
	}
	return current
}
