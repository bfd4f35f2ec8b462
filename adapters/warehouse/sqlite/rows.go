package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Rows implements ports.Warehouse.
func (w *Warehouse) Rows(
	ctx context.Context, target ports.Target, q connection.RowsQuery, handle func(column.Batch) error,
) error {
	return w.withFile(ctx, target, func(ctx context.Context, db *sql.Conn) error {
		tableColumns, err := readable(ctx, db, q.Table)
		if err != nil {
			return err
		}
		out := warehouse.NewBatches(handle)
		columns, err := out.Begin(q, tableColumns)
		if err != nil {
			return err
		}
		if len(columns) > 0 && q.Count {
			var total string
			if err := db.QueryRowContext(ctx, `SELECT count(*) FROM `+quote(q.Table.Name)).Scan(&total); err != nil {
				return err
			}
			return out.Total(total)
		}
		if len(columns) > 0 {
			if err := rows(ctx, db, q, columns, out); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

// rows reads the rows that a query wants, in the order of its key if it has one.
func rows(
	ctx context.Context, db *sql.Conn, q connection.RowsQuery, columns []connection.Column, out *warehouse.Batches,
) error {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = cell(c, column.MaxValue)
	}
	var args []any
	bind := func(value any) string {
		args = append(args, value)
		return `?` + strconv.Itoa(len(args))
	}
	var conditions []string
	ordered, tail := ``, ``
	if q.Key != "" {
		// Values of all types are in one order, by their bytes. A number may be equal to one of another type.
		key := quote(q.Key) + ` COLLATE BINARY`
		if list = append(list, place(quote(q.Key))); q.After != nil {
			value, err := valueOf(*q.After, bind)
			if err != nil {
				return connection.KeyUnsupported
			}
			tail = key + ` >= ` + value + ` AND (` + key + ` > ` + value + ` OR typeof(` + key + `) > typeof(` + value +
				`)) OR ` + key + ` IS NULL`
		}
		ordered = key + ` IS NULL, ` + key + `, typeof(` + key + `)`
	}
	sort := warehouse.SortOf(q, columns, out, func(c connection.Column) (warehouse.Order, bool) {
		return order(c, bind)
	})
	list = sort.AddPlace(list)
	conditions, err := sort.AddBehind(conditions, q, tail)
	if err != nil {
		return err
	}
	conditions = append(conditions, warehouse.Where(q, columns, out,
		func(c connection.Column) (warehouse.Comparison, bool) { return comparison(c, bind) })...)
	return read(ctx, db, `SELECT `+strings.Join(list, `, `)+` FROM main.`+quote(q.Table.Name)+
		warehouse.Clause(conditions)+sort.ByBoth(q, ordered)+` LIMIT `+
		strconv.Itoa(sort.MostRows(q)), args, len(list), out.Add)
}

// order returns how rows are ordered by a column: numbers before texts, and these before bytes.
func order(c connection.Column, bind func(any) string) (warehouse.Order, bool) {
	if _, ok := comparison(c, bind); !ok {
		return warehouse.Order{}, false
	}
	return warehouse.Order{Key: quote(c.Name) + ` COLLATE BINARY`, Place: `'v' || (` + place(quote(c.Name)) + `)`,
		Nullable: true, Value: func(place string) string {
			value, err := valueOf(place, bind)
			if err != nil {
				return `NULL` // no place
			}
			return value
		}}, true
}

// place returns the expression for a value as a text that loses nothing of it: the letter of its type, and a number or
// its bytes in hexadecimal digits. NULL stands for one that takes too much of a request.
func place(name string) string {
	return `CASE typeof(` + name + `) WHEN 'integer' THEN 'i' || CAST(` + name + ` AS TEXT)
		WHEN 'real' THEN 'r' || printf('%!.17g', ` + name + `)
		WHEN 'text' THEN CASE WHEN length(CAST(` + name + ` AS BLOB)) < 16384 THEN 't' || hex(` + name + `) END
		WHEN 'blob' THEN CASE WHEN length(` + name + `) < 16384 THEN 'b' || hex(` + name + `) END END`
}

// valueOf is the inverse of place: an expression.
func valueOf(place string, bind func(any) string) (value string, err error) {
	if place == "" {
		return "", errors.New("no place")
	}
	var arg any
	switch kind, text := place[0], place[1:]; kind {
	case 'i':
		arg, err = strconv.ParseInt(text, 10, 64)
	case 'r':
		arg, err = strconv.ParseFloat(text, 64)
	case 't', 'b':
		arg, err = hex.DecodeString(text)
	default:
		err = errors.New("a place of another kind")
	}
	if value = bind(arg); place[0] == 't' {
		// Bytes in the file's encoding; the plus keeps other values from being compared as texts.
		value = `+CAST(` + value + ` AS TEXT)`
	}
	return value, err
}
