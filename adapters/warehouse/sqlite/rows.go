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
	ordered, args := ``, []any(nil)
	var conditions []string
	if q.Key != "" {
		// Values of all types are in one order, by their bytes. A number may be equal to one of another type.
		key := quote(q.Key) + ` COLLATE BINARY`
		if list = append(list, place(quote(q.Key))); q.After != nil {
			value, arg, err := valueOf(*q.After)
			if err != nil {
				return connection.KeyUnsupported
			}
			conditions = append(conditions, `(`+key+` >= `+value+` AND (`+key+` > `+value+` OR typeof(`+key+
				`) > typeof(`+value+`)) OR `+key+` IS NULL)`)
			args = []any{arg}
		}
		ordered = ` ORDER BY ` + key + ` IS NULL, ` + key + `, typeof(` + key + `)`
	}
	bind := func(value any) string {
		args = append(args, value)
		return `?` + strconv.Itoa(len(args))
	}
	conditions = append(conditions, warehouse.Where(q, columns, out,
		func(c connection.Column) (warehouse.Comparison, bool) { return comparison(c, bind) })...)
	return read(ctx, db, `SELECT `+strings.Join(list, `, `)+` FROM main.`+quote(q.Table.Name)+
		warehouse.Clause(conditions)+ordered+` LIMIT `+
		strconv.Itoa(q.Limit), args, len(list), out.Add)
}

// place returns the expression for a value as a text that loses nothing of it: the letter of its type, and a number or
// its bytes in hexadecimal digits. NULL stands for one that takes too much of a request.
func place(name string) string {
	return `CASE typeof(` + name + `) WHEN 'integer' THEN 'i' || CAST(` + name + ` AS TEXT)
		WHEN 'real' THEN 'r' || printf('%!.17g', ` + name + `)
		WHEN 'text' THEN CASE WHEN length(CAST(` + name + ` AS BLOB)) < 16384 THEN 't' || hex(` + name + `) END
		WHEN 'blob' THEN CASE WHEN length(` + name + `) < 16384 THEN 'b' || hex(` + name + `) END END`
}

// valueOf is the inverse of place: an expression of ?1, and what that is.
func valueOf(place string) (value string, arg any, err error) {
	if place == "" {
		return "", nil, errors.New("no place")
	}
	value = `?1`
	switch kind, text := place[0], place[1:]; kind {
	case 'i':
		arg, err = strconv.ParseInt(text, 10, 64)
	case 'r':
		arg, err = strconv.ParseFloat(text, 64)
	case 't': // bytes in the file's encoding; the plus keeps other values from being compared as texts
		value = `+CAST(?1 AS TEXT)`
		arg, err = hex.DecodeString(text)
	case 'b':
		arg, err = hex.DecodeString(text)
	default:
		err = errors.New("a place of another kind")
	}
	return value, arg, err
}
