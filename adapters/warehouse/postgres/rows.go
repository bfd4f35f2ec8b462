package postgres

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
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
	list, cut := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		name := `c` + strconv.Itoa(i)
		list[i] = `t.` + quote(c.Name) + `::pg_catalog.text AS ` + name
		cut[i] = name
		if !isShort(c.Type) { // the length in bytes is known without counting characters
			cut[i] = `CASE WHEN pg_catalog.octet_length(` + name + `) > ` + maxValue + ` THEN pg_catalog.left(` + name +
				`, ` + maxValue + `) ELSE ` + name + ` END`
		}
	}
	return s.stream(list, cut, q, out)
}

// stream sends the rows of a table t to out. list has an expression for each of q's columns, and cut one of its result,
// if there is any: so that each value is computed once.
func (s *session) stream(list, cut []string, q connection.RowsQuery, out *warehouse.Batches) error {
	sql, args := `SELECT `+strings.Join(list, `, `)+` FROM `+quote(q.Table.Schema)+`.`+quote(q.Table.Name)+` AS t`,
		[][]byte(nil)
	if q.Key != "" {
		key := `t.` + quote(q.Key)
		if q.After != nil {
			sql, args = sql+` WHERE `+key+` > $1 OR `+key+` IS NULL`, [][]byte{[]byte(*q.After)}
		}
		sql += ` ORDER BY ` + key // NULL is the greatest
	}
	sql += ` LIMIT ` + strconv.Itoa(q.Limit)
	if cut != nil { // the limit keeps the two from becoming one
		sql = `SELECT ` + strings.Join(cut, `, `) + ` FROM (` + sql + `) AS s`
	}
	rows := s.conn.ExecParams(s.ctx, sql, args, nil, nil, nil)
	for rows.NextRow() {
		values := rows.Values()
		if len(values) != len(list) {
			return connection.NotThisDatabase
		}
		if err := out.AddBytes(values); err != nil {
			return err
		}
	}
	_, err := rows.Close()
	return s.classifyRows(err)
}

const maxValue = "65536" // column.MaxValue

// isShort reports whether no value of a type can be longer than column.MaxValue.
func isShort(t connection.Type) bool {
	return t == connection.Integer || t == connection.Boolean || t == connection.Date || t == connection.DateTime
}
