package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx/reflectx"
)

// A driver allocates memory for each value of each row, and sqlx and database/sql for each row: some 25 allocations for
// a row of a list. So the database packs rows into one string, and the strings in the rows are parts of it. A number or
// a boolean ends with a space. A string begins with its length in bytes and a colon, so that it can have any content.

// packing is how the database packs rows with some columns.
type packing struct {
	expressions []string // over the columns of a row
	fields      []packedField
}

type packedField struct {
	index []int
	scans bool // it is a sql.Scanner that reads a string
}

// add packs a column as the next one, and reads it into a field.
func (p *packing) add(column string, kind reflect.Type, index []int) {
	field := packedField{index: index, scans: reflect.PointerTo(kind).Implements(reflect.TypeFor[sql.Scanner]())}
	expression := column + ` || ' '`
	if field.isText(kind.Kind()) {
		expression = fmt.Sprintf(`octet_length(%s) || ':' || %[1]s`, column)
	}
	p.expressions, p.fields = append(p.expressions, expression), append(p.fields, field)
}

// text is an expression for a packed row.
func (p *packing) text() string { return `concat(` + strings.Join(p.expressions, `, `) + `)` }

// unpack reads a row from the beginning of text, and returns the rest.
func (p *packing) unpack(row reflect.Value, text string) (rest string, isValid bool) {
	rest = text
	for i := range p.fields {
		if rest, isValid = p.fields[i].unpack(row.FieldByIndex(p.fields[i].index), rest); !isValid {
			return "", false
		}
	}
	return rest, true
}

var errPacked = errors.New("a packed row is not as expected")

// PackedRow reads rows of wide tables that are looked up one at a time.
type PackedRow[Row any] struct {
	packing
	columns string
}

// NewPackedRow returns the packing of columns that are never NULL, and hold strings, integers or booleans.
func NewPackedRow[Row any](columns []Column) *PackedRow[Row] {
	p := &PackedRow[Row]{columns: ColumnList(columns)}
	paths := reflectx.NewMapper("db").TypeMap(reflect.TypeFor[Row]())
	for _, c := range columns {
		field := paths.GetByPath(c.Path)
		p.add(`"`+c.Path+`"`, field.Field.Type, field.Index)
	}
	return p
}

// Columns is what a statement selects to read the columns by sqlx.
func (p *PackedRow[Row]) Columns() string { return p.columns }

// Text is the expression for a packed row, in a statement that selects from a subquery with Columns.
func (p *PackedRow[Row]) Text() string { return p.text() }

// Query packs the row of a statement that begins with its tables: " FROM …".
func (p *PackedRow[Row]) Query(tables string) string {
	return `SELECT ` + p.text() + ` FROM (SELECT ` + p.columns + tables + `) p`
}

// Unpack reads a row that Text has packed.
func (p *PackedRow[Row]) Unpack(text string, row *Row) error {
	if rest, isValid := p.unpack(reflect.ValueOf(row).Elem(), text); !isValid || rest != "" {
		return errPacked
	}
	return nil
}

// PackedList reads all rows of a list from one string, which begins with the number of rows and a space.
type PackedList[Row any] struct{ packing }

// NewPackedList returns the packing of rows with the columns that Row's tags name, except excluded ones. The columns
// must not be NULL, and hold strings, which a Row can have as bytes, integers or booleans. The rows keep the packed
// string in memory, so they must not outlive a request.
func NewPackedList[Row any](excluded ...string) *PackedList[Row] {
	p := &PackedList[Row]{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Row]()) {
		if name := f.Tag.Get("db"); name != "" && !slices.Contains(excluded, name) {
			p.add(name, f.Type, f.Index)
		}
	}
	return p
}

// List runs a query in one row, and returns its rows in an order of their columns.
func (p *PackedList[Row]) List(ctx context.Context, db *DB, order, query string, args ...any) ([]Row, error) {
	var text string
	if _, err := db.Get(ctx, &text, p.Statement(order, query), args...); err != nil {
		return nil, err
	}
	return p.Unpack(text)
}

// Statement returns a statement that packs a query's rows.
func (p *PackedList[Row]) Statement(order, query string) string {
	return `SELECT concat(COUNT(*), ' ', string_agg(` + p.text() + `, '' ORDER BY ` + order + `))
		FROM (` + query + `) p`
}

// Unpack returns the rows of a packed string.
func (p *PackedList[Row]) Unpack(text string) ([]Row, error) {
	count, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > len(text) {
		return nil, errPacked
	}
	rows := make([]Row, n)
	for i := range rows {
		var isValid bool
		if rest, isValid = p.unpack(reflect.ValueOf(&rows[i]).Elem(), rest); !isValid {
			return nil, errPacked
		}
	}
	if rest != "" {
		return nil, errPacked
	}
	return rows, nil
}

// isText reports whether a field of a kind is packed with its length.
func (f packedField) isText(kind reflect.Kind) bool {
	return f.scans || kind == reflect.String || kind == reflect.Slice
}

// unpack reads the value at the beginning of text, and returns the rest.
func (f packedField) unpack(field reflect.Value, text string) (rest string, isValid bool) {
	if !f.isText(field.Kind()) {
		value, rest, hasEnd := strings.Cut(text, " ")
		return rest, hasEnd && setNumber(field, value)
	}
	size, tail, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(size)
	switch {
	case err != nil || n < 0 || n > len(tail):
		return "", false
	case f.scans:
		if field.Addr().Interface().(sql.Scanner).Scan(tail[:n]) != nil { //nolint:errcheck,forcetypeassert // see add
			return "", false
		}
	case field.Kind() == reflect.Slice:
		field.SetBytes([]byte(tail[:n]))
	default:
		field.SetString(tail[:n])
	}
	return tail[n:], true
}

// setNumber sets a boolean, of which PostgreSQL packs the words and SQLite 1 or 0, or an integer.
func setNumber(field reflect.Value, value string) (isValid bool) {
	if field.Kind() == reflect.Bool {
		b, err := strconv.ParseBool(value)
		field.SetBool(b)
		return err == nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	field.SetInt(n)
	return err == nil
}
