package sqlstore

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

// packedColumn is a column of a result: an expression that is never NULL, and the field of the row that it is read
// into.
type packedColumn struct{ expression, path string }

// columnsOf returns columns whose expressions follow a pattern. Their paths begin with a prefix.
func columnsOf(pattern, prefix string, names []string) []packedColumn {
	out := make([]packedColumn, len(names))
	for i, n := range names {
		out[i] = packedColumn{strings.ReplaceAll(pattern, "%", n), prefix + n}
	}
	return out
}

// columnList is what a statement selects to read columns by sqlx.
func columnList(columns []packedColumn) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.expression + ` AS "` + c.path + `"`
	}
	return strings.Join(out, ", ")
}

// separator is between the columns of a packed row. Names and addresses cannot have it.
const separator = "\x1f"

// packed selects rows R as one text each. A result of SQLite costs three allocations for each of its columns, and
// database/sql and sqlx cost as many again, so that reading the columns of a caller took longer than finding them.
type packed[R any] struct {
	columns string // as columns
	joins   string // the tables of joins, for the columns
	text    string // an expression for all of them, which needs no joins
	joined  string // an expression for all of them, which needs sqliteJoins
	fields  []packedField

	sqliteJoins string // joins, with the indexes that SQLite is told to use
}

type packedField struct {
	index []int
	scans bool // it is a sql.Scanner
	isIn  bool // it belongs to the same struct as the field before it
}

// packedJoin is a row of other tables that is a part of a packed row. In a text for PostgreSQL it is a subselect: in a
// join, PostgreSQL prepares each column again for each table that is joined after it, at each execution. SQLite does
// not, and makes one text in less time than one for each table.
type packedJoin struct {
	table, on string
	columns   []packedColumn
	isLeft    bool   // without such a row, the columns have zero values; otherwise there is no packed row either
	index     string // of table, if SQLite should not choose another one
}

func pack[R any](columns []packedColumn, joins ...packedJoin) packed[R] {
	p := packed[R]{columns: columnList(columns)}
	paths := reflectx.NewMapper("db").TypeMap(reflect.TypeFor[R]())
	expressions := p.add(paths, columns)
	flat := slices.Clone(expressions)
	for _, j := range joins {
		joined, kind, indexed := j.columns, ` JOIN `, ``
		missing := strings.Repeat(separator, len(paths.Index)) // more than any row has
		if j.isLeft {
			joined, missing = zeroed(paths, joined)
			kind = ` LEFT JOIN `
		}
		p.columns += `, ` + columnList(joined)
		if j.index != "" {
			indexed = ` INDEXED BY ` + j.index
		}
		p.joins += kind + j.table + ` ON ` + j.on
		p.sqliteJoins += kind + j.table + indexed + ` ON ` + j.on
		for _, c := range joined {
			flat = append(flat, c.expression)
		}
		expressions = append(expressions, `COALESCE((SELECT `+joinedText(p.add(paths, j.columns))+
			` FROM `+j.table+` WHERE `+j.on+`), '`+missing+`')`)
	}
	p.text, p.joined = joinedText(expressions), joinedText(flat)
	return p
}

// add adds columns to the parts of a text, and returns their expressions.
func (p *packed[R]) add(paths *reflectx.StructMap, columns []packedColumn) []string {
	expressions := make([]string, len(columns))
	for i, c := range columns {
		field := paths.GetByPath(c.path)
		added := packedField{index: field.Index}
		added.scans = reflect.PointerTo(field.Field.Type).Implements(reflect.TypeFor[sql.Scanner]())
		if n := len(p.fields); n > 0 {
			added.isIn = slices.Equal(p.fields[n-1].parent(), added.parent())
		}
		p.fields = append(p.fields, added)
		expressions[i] = c.expression
	}
	return expressions
}

// zeroed returns columns that are zero if a join finds no row, and their text then.
func zeroed(paths *reflectx.StructMap, columns []packedColumn) (out []packedColumn, text string) {
	zeros := make([]string, len(columns))
	for i, c := range columns {
		zero := `0`
		switch paths.GetByPath(c.path).Field.Type.Kind() {
		case reflect.String:
			zero = `''`
		case reflect.Bool:
			zero = `FALSE`
		}
		zeros[i] = strings.Trim(zero, `'`)
		out = append(out, packedColumn{`COALESCE(` + c.expression + `, ` + zero + `)`, c.path})
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
func (p *packed[R]) selected(from, where string) engineText {
	return engineText{
		postgres: `SELECT ` + p.text + from + where, sqlite: `SELECT ` + p.joined + from + p.sqliteJoins + where,
	}
}

// unpack reads a row from its text. It reports whether it could: if a column contains the separator, it cannot.
func (p *packed[R]) unpack(text string, into *R) bool {
	if strings.Count(text, separator) != len(p.fields)-1 {
		return false
	}
	row := reflect.ValueOf(into).Elem()
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

// packedQuery is a statement that reads at most one packed row.
type packedQuery[R any] struct {
	packed[R]
	asText    engineText
	asColumns string
}

// packQuery returns a statement for the row that a condition finds. Only the condition can have arguments.
func packQuery[R any](columns []packedColumn, from, where string, joins ...packedJoin) packedQuery[R] {
	p := pack[R](columns, joins...)
	return packedQuery[R]{p, p.selected(from, where), `SELECT ` + p.columns + from + p.joins + where}
}

// statement returns the statement that reads the row as a text.
func (q *packedQuery[R]) statement(d engine.Dialect) string { return q.asText.statement(d) }

// get reads the row into dst, if there is one.
func (q *packedQuery[R]) get(ctx context.Context, db *DB, dst *R, args ...any) (found bool, err error) {
	var text string
	found, err = db.get(ctx, &text, q.statement(db.dialect), args...)
	if err != nil || !found || q.unpack(text, dst) {
		return found, err
	}
	var row R
	found, err = db.get(ctx, &row, q.asColumns, args...)
	*dst = row
	return found, err
}
