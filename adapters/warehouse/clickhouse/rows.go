package clickhouse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Rows implements warehouse.RowSession. The server streams the rows of one statement.
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	database := s.to.Credential.Text(connection.FieldDatabase)
	if q.Table.Schema != database || q.Table.Name == "" || !isText(q.Table.Name) {
		return connection.TableNotFound
	}
	tableColumns, err := s.columns(q.Table.Name)
	if err != nil {
		return err
	}
	if len(tableColumns) == 0 {
		return connection.TableNotFound
	}
	columns, err := out.Begin(q, tableColumns)
	if err != nil || len(columns) == 0 {
		return err
	}
	if q.Count {
		rows, err := s.query(`SELECT toString(count()) FROM ` + quote(database) + `.` + quote(q.Table.Name))
		return out.TotalOf(rows, err)
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = cell(c, warehouse.MaxValue)
	}
	conditions, ordered, tail := warehouse.Where(q, columns, out, comparison), ``, ``
	if i := slices.IndexFunc(tableColumns, func(c connection.Column) bool { return c.Name == q.Key }); i >= 0 {
		order, _ := rankOf(tableColumns[i])
		if list = append(list, order.place); q.After != nil {
			tail = order.beyond(*q.After)
		}
		ordered = order.sorted()
	}
	sort := warehouse.SortOf(q, columns, out, order)
	list = sort.AddPlace(list)
	conditions, err = sort.AddBehind(conditions, q, tail)
	if err != nil {
		return err
	}
	sql := `SELECT ` + strings.Join(list, `, `) + ` FROM ` + quote(database) + `.` + quote(q.Table.Name) +
		warehouse.Clause(conditions) + sort.ByBoth(q, ordered)
	return s.each(sql+` LIMIT `+strconv.Itoa(sort.MostRows(q)), func(row []*string) error {
		if len(row) != len(list) {
			return connection.NotThisDatabase
		}
		exact(row, columns)
		return out.Add(row)
	})
}
