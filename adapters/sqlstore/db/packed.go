package db

import (
	"context"
	"database/sql"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx/reflectx"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
)

// PackedColumn is a column of a result: an expression that is never NULL, and the field of the row that it is read
// into.
type PackedColumn struct{ Expression, Path string }

// ColumnsOf returns columns whose expressions follow a pattern. Their paths begin with a prefix.
func ColumnsOf(pattern, prefix string, names []string) []PackedColumn {
	out := make([]PackedColumn, len(names))
	for i, n := range names {
		out[i] = PackedColumn{strings.ReplaceAll(pattern, "%", n), prefix + n}
	}
	return out
}

// ColumnList is what a statement selects to read columns by sqlx.
func ColumnList(columns []PackedColumn) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Expression + ` AS "` + c.Path + `"`
	}
	return strings.Join(out, ", ")
}

// separator is between the columns of a packed row. Names and addresses cannot have it.
const separator = "\x1f"

// packed selects rows R as one text each. A result of SQLite costs three allocations for each of its columns, and
// database/sql and sqlx cost as many again, so that reading the columns of a caller took longer than finding them.
type packed[R any] struct {
	Columns string // as columns
	Joins   string // the tables of joins, for the columns
	Text    string // an expression for all of them, which needs no joins
	joined  string // an expression for all of them, which needs sqliteJoins
	fields  []packedField

	sqliteJoins string // joins, with the indexes that SQLite is told to use
}

type packedField struct {
	index []int
	scans bool // it is a sql.Scanner
	isIn  bool // it belongs to the same struct as the field before it
}

// PackedJoin is a row of other tables that is a part of a packed row. In a text for PostgreSQL it is a subselect: in a
// join, PostgreSQL prepares each column again for each table that is joined after it, at each execution. SQLite does
// not, and makes one text in less time than one for each table.
type PackedJoin struct {
	Table, On string
	Columns   []PackedColumn
	IsLeft    bool   // without such a row, the columns have zero values; otherwise there is no packed row either
	Index     string // of table, if SQLite should not choose another one
}

// Pack returns a row of columns and of those of joins as one text, which is read into R.
func Pack[R any](columns []PackedColumn, joins ...PackedJoin) packed[R] {
	p := packed[R]{Columns: ColumnList(columns)}
	paths := reflectx.NewMapper("db").TypeMap(reflect.TypeFor[R]())
	expressions := p.add(paths, columns)
	flat := slices.Clone(expressions)
	for _, j := range joins {
		columns, kind, hint := j.Columns, ` JOIN `, ``
		missing := strings.Repeat(separator, len(paths.Index)) // more than any row has
		if j.IsLeft {
			columns, missing = zeroed(paths, columns)
			kind = ` LEFT JOIN `
		}
		p.Columns += `, ` + ColumnList(columns)
		if j.Index != "" {
			hint = ` INDEXED BY ` + j.Index
		}
		p.Joins += kind + j.Table + ` ON ` + j.On
		p.sqliteJoins += kind + j.Table + hint + ` ON ` + j.On
		for _, c := range columns {
			flat = append(flat, c.Expression)
		}
		expressions = append(expressions, `COALESCE((SELECT `+joinedText(p.add(paths, j.Columns))+
			` FROM `+j.Table+` WHERE `+j.On+`), '`+missing+`')`)
	}
	p.Text, p.joined = joinedText(expressions), joinedText(flat)
	return p
}

// add adds columns to the parts of a text, and returns their expressions.
func (p *packed[R]) add(paths *reflectx.StructMap, columns []PackedColumn) []string {
	expressions := make([]string, len(columns))
	for i, c := range columns {
		field := paths.GetByPath(c.Path)
		packing := packedField{index: field.Index}
		packing.scans = reflect.PointerTo(field.Field.Type).Implements(reflect.TypeFor[sql.Scanner]())
		if n := len(p.fields); n > 0 {
			packing.isIn = slices.Equal(p.fields[n-1].parent(), packing.parent())
		}
		p.fields = append(p.fields, packing)
		expressions[i] = c.Expression
	}
	return expressions
}

// zeroed returns columns that are zero if a join finds no row, and their text then.
func zeroed(paths *reflectx.StructMap, columns []PackedColumn) (out []PackedColumn, text string) {
	zeros := make([]string, len(columns))
	for i, c := range columns {
		zero := `0`
		switch paths.GetByPath(c.Path).Field.Type.Kind() {
		case reflect.String:
			zero = `''`
		case reflect.Bool:
			zero = `FALSE`
		}
		zeros[i] = strings.Trim(zero, `'`)
		out = append(out, PackedColumn{`COALESCE(` + c.Expression + `, ` + zero + `)`, c.Path})
	}
	return out, strings.Join(zeros, separator)
}

func joinedText(expressions []string) string {
	return `concat_ws('` + separator + `', ` + strings.Join(expressions, ", ") + `)`
}

// engineText is a statement for each engine.
type engineText struct{ postgres, sqlite string }

func (t engineText) statement(d engine.Dialect) string {
	if d.Name == engine.SQLite.Name {
		return t.sqlite
	}
	return t.postgres
}

// selected returns the statement that selects the text of the rows which a condition finds.
func (p *packed[R]) selected(from, condition string) engineText {
	return engineText{
		postgres: `SELECT ` + p.Text + from + condition, sqlite: `SELECT ` + p.joined + from + p.sqliteJoins + condition,
	}
}

// Unpack reads a row from its text. It reports whether it could: if a column contains the separator, it cannot.
func (p *packed[R]) Unpack(text string, target *R) bool {
	if strings.Count(text, separator) != len(p.fields)-1 {
		return false
	}
	row := reflect.ValueOf(target).Elem()
	var parent reflect.Value
	for i := range p.fields {
		f := &p.fields[i]
		if !f.isIn {
			parent = row.FieldByIndex(f.parent())
		}
		var value string
		value, text, _ = strings.Cut(text, separator)
		if !f.set(parent.Field(f.index[len(f.index)-1]), value) {
			return false
		}
	}
	return true
}

// parent is the index of the struct of a field.
func (f *packedField) parent() []int { return f.index[:len(f.index)-1] }

func (f *packedField) set(field reflect.Value, value string) bool {
	if f.scans {
		return field.Addr().Interface().(sql.Scanner).Scan(value) == nil //nolint:errcheck,forcetypeassert // see pack
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(value)
	case reflect.Bool: // t or f on PostgreSQL, 1 or 0 on SQLite
		b, err := strconv.ParseBool(value)
		if err != nil {
			return false
		}
		field.SetBool(b)
	default:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return false
		}
		field.SetInt(n)
	}
	return true
}

// PackedQuery is a statement that reads at most one packed row.
type PackedQuery[R any] struct {
	packed[R]
	asText    engineText
	asColumns string
}

// NewPackedQuery returns a statement for the row that a condition finds. Only the condition can have arguments.
func NewPackedQuery[R any](columns []PackedColumn, from, condition string, joins ...PackedJoin) PackedQuery[R] {
	p := Pack[R](columns, joins...)
	return PackedQuery[R]{p, p.selected(from, condition), `SELECT ` + p.Columns + from + p.Joins + condition}
}

// Statement returns the statement that reads the row as a text.
func (q *PackedQuery[R]) Statement(d engine.Dialect) string { return q.asText.statement(d) }

// Get reads the row into dst, if there is one.
func (q *PackedQuery[R]) Get(ctx context.Context, db *DB, dst *R, args ...any) (found bool, err error) {
	var text string
	found, err = db.Get(ctx, &text, q.Statement(db.Dialect), args...)
	if err != nil || !found || q.Unpack(text, dst) {
		return found, err
	}
	var row R
	found, err = db.Get(ctx, &row, q.asColumns, args...)
	*dst = row
	return found, err
}
