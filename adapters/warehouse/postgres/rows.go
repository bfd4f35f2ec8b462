package postgres

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Rows implements warehouse.RowSession. The server streams the rows of one statement, which sees one snapshot.
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	have, err := s.columns(q.Table)
	if err != nil {
		return err
	}
	columns := out.Begin(q, have)
	if len(columns) == 0 {
		return nil
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = `pg_catalog.left(` + quote(c.Name) + `::pg_catalog.text, ` + strconv.Itoa(column.MaxValue) + `)`
	}
	return s.stream(list, q, out)
}

// stream sends the rows of a table to out. list has an expression for each of q's columns.
func (s *session) stream(list []string, q connection.RowsQuery, out *warehouse.Batches) error {
	sql, args := `SELECT `+strings.Join(list, `, `)+` FROM `+quote(q.Table.Schema)+`.`+quote(q.Table.Name), [][]byte(nil)
	if q.Key != "" {
		key := quote(q.Key)
		if q.After != nil {
			sql, args = sql+` WHERE `+key+` > $1 OR `+key+` IS NULL`, [][]byte{[]byte(*q.After)}
		}
		sql += ` ORDER BY ` + key // NULL is the greatest
	}
	rows := s.conn.ExecParams(s.ctx, sql+` LIMIT `+strconv.Itoa(q.Limit), args, nil, nil, nil)
	for rows.NextRow() {
		values := rows.Values()
		if len(values) != len(list) {
			return connection.NotThisDatabase
		}
		row := make([]*string, len(values))
		for i, v := range values {
			if v != nil {
				text := string(v)
				row[i] = &text
			}
		}
		if err := out.Add(row); err != nil {
			return err
		}
	}
	_, err := rows.Close()
	return s.classifyRows(err)
}
