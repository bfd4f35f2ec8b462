package clickhouse

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Rows implements warehouse.RowSession. The answer is read as a whole before its first row, since an error can come at
// its end.
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	database := s.to.Credential.Text(connection.FieldDatabase)
	if q.Table.Schema != database || q.Table.Name == "" || !isText(q.Table.Name) {
		return connection.TableNotFound
	}
	have, err := s.columns(q.Table.Name)
	if err != nil {
		return err
	}
	if len(have) == 0 {
		return connection.TableNotFound
	}
	columns := out.Begin(q, have)
	if len(columns) == 0 {
		return nil
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = cell(c, warehouse.MaxValue)
	}
	sql := `SELECT ` + strings.Join(list, `, `) + ` FROM ` + quote(database) + `.` + quote(q.Table.Name)
	if q.Key != "" {
		key := quote(q.Key)
		if q.After != nil {
			sql += ` WHERE ` + key + ` > CAST(` + literal(*q.After) + ` AS ` + typeOfKey(q.Key, have) + `) OR ` + key + ` IS NULL`
		}
		sql += ` ORDER BY ` + key + ` ASC NULLS LAST`
	}
	rows, err := s.query(sql + ` LIMIT ` + strconv.Itoa(q.Limit))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if len(row) != len(columns) {
			return connection.NotThisDatabase
		}
		if err := out.Add(row); err != nil {
			return err
		}
	}
	return nil
}

// typeOfKey returns the database's type of a column, without what may be missing from it.
func typeOfKey(name string, have []connection.Column) string {
	for _, c := range have {
		if c.Name == name {
			return inside(inside(c.DatabaseType, "LowCardinality"), "Nullable")
		}
	}
	return "String"
}
