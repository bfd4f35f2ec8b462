package sqlite

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Rows implements ports.Warehouse.
func (w *Warehouse) Rows(
	ctx context.Context, to ports.Target, q connection.RowsQuery, each func(column.Batch) error,
) error {
	return w.withFile(ctx, to, func(ctx context.Context, db *sql.Conn) error {
		have, err := readable(ctx, db, q.Table)
		if err != nil {
			return err
		}
		out := warehouse.NewBatches(each)
		if columns := out.Begin(q, have); len(columns) > 0 {
			if err := rows(ctx, db, q, columns, out); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

func rows(
	ctx context.Context, db *sql.Conn, q connection.RowsQuery, columns []connection.Column, out *warehouse.Batches,
) error {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = cell(c, column.MaxValue)
	}
	query, args := `SELECT `+strings.Join(list, `, `)+` FROM main.`+quote(q.Table.Name), []any(nil)
	if q.Key != "" {
		key := quote(q.Key)
		if q.After != nil { // the column's affinity converts it to a number
			query, args = query+` WHERE `+key+` > ? OR `+key+` IS NULL`, []any{*q.After}
		}
		query += ` ORDER BY ` + key + ` IS NULL, ` + key
	}
	return read(ctx, db, query+` LIMIT `+strconv.Itoa(q.Limit), args, len(columns), out.Add)
}
