package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// PackedList is how the database packs all rows of a list into one text. A driver allocates memory for each value of
// each row, and sqlx and database/sql for each row: some 25 allocations for a row of a list. Of one text there is one,
// and the texts in the rows are parts of it.
//
// The text begins with the number of rows and a space. A number and a boolean end with a space; a text begins with its
// length in bytes and a colon, so that it can have any content, unlike a column of packed.
type PackedList[Row any] struct {
	columns string // an expression over the columns of a row
	fields  []packedField
}

var errPacked = errors.New("a packed row is not as expected")

// NewPackedList returns the packing of rows with the columns that the tags of Row name, without some. The columns must
// not be null, and hold texts, integers or booleans; a Row has a text as a string or as bytes. The rows keep the packed
// text in memory, so they must not outlive a request.
func NewPackedList[Row any](excluded ...string) *PackedList[Row] {
	p := &PackedList[Row]{}
	var columns []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Row]()) {
		name := f.Tag.Get("db")
		if name == "" || slices.Contains(excluded, name) {
			continue
		}
		switch f.Type.Kind() {
		case reflect.String, reflect.Slice:
			columns = append(columns, fmt.Sprintf(`octet_length(%s) || ':' || %[1]s`, name))
		default:
			columns = append(columns, name+` || ' '`)
		}
		p.fields = append(p.fields, packedField{index: f.Index})
	}
	p.columns = `concat(` + strings.Join(columns, `, `) + `)`
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

// Statement returns one whose result is the text of a query's rows.
func (p *PackedList[Row]) Statement(order, query string) string {
	return `SELECT concat(COUNT(*), ' ', string_agg(` + p.columns + `, '' ORDER BY ` + order + `))
		FROM (` + query + `) p`
}

// Unpack returns the rows of a packed text.
func (p *PackedList[Row]) Unpack(text string) ([]Row, error) {
	count, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > len(text) {
		return nil, errPacked
	}
	rows := make([]Row, n)
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for _, f := range p.fields {
			var isValid bool
			if rest, isValid = f.unpack(row.FieldByIndex(f.index), rest); !isValid {
				return nil, errPacked
			}
		}
	}
	if rest != "" {
		return nil, errPacked
	}
	return rows, nil
}

// unpack reads the value at the beginning of text, and returns what follows it.
func (f packedField) unpack(field reflect.Value, text string) (rest string, isValid bool) {
	if field.Kind() != reflect.String && field.Kind() != reflect.Slice {
		value, rest, _ := strings.Cut(text, " ")
		return rest, f.set(field, value)
	}
	size, tail, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(size)
	switch {
	case err != nil || n < 0 || n > len(tail):
		return "", false
	case field.Kind() == reflect.Slice:
		field.SetBytes([]byte(tail[:n]))
	default:
		field.SetString(tail[:n])
	}
	return tail[n:], true
}

// TextList reads a JSON array of texts, as encoding/json writes it; nil if it is empty. Texts without escapes are parts
// of the array.
func TextList(array string) (list []string, err error) {
	if array == "" || array == "[]" || array == "null" {
		return nil, nil
	}
	tail, isArray := strings.CutPrefix(array, `["`)
	tail, isClosed := strings.CutSuffix(tail, `"]`)
	if !isArray || !isClosed || strings.Contains(tail, `\`) ||
		strings.Count(tail, `"`) != 2*strings.Count(tail, `","`) {
		return list, json.Unmarshal([]byte(array), &list)
	}
	return strings.Split(tail, `","`), nil
}
