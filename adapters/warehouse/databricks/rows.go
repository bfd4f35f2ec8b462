package databricks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Preview reads the table columns that the catalog confirms, and some rows.
func (s *session) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	all, err := s.columns(q.Table)
	if err != nil {
		return connection.Preview{}, err
	}
	if len(all) == 0 {
		return connection.Preview{}, connection.TableNotFound
	}
	p := warehouse.Chosen(q, all)
	if q.Rows <= 0 || len(p.Columns) == 0 {
		return p, nil
	}
	rows, err := s.query(`SELECT ` + list(p.Columns, connection.MaxCell) + ` FROM ` + s.quoted(q.Table) +
		` LIMIT ` + strconv.Itoa(min(q.Rows, connection.MaxSampleRows)))
	if err != nil {
		return p, err
	}
	for _, row := range rows {
		if err := exact(row, p.Columns); err != nil {
			return p, err
		}
	}
	p.Rows, err = warehouse.Cells(rows, len(p.Columns))
	return p, err
}

// Rows implements warehouse.RowSession. The rows come from one statement, whose result Databricks keeps: its chunks
// are of one snapshot. A result above maxResult is connection.ResponseTooLarge.
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	tableColumns, err := s.columns(q.Table)
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
	var parameters []parameter
	var conditions []string
	place, ordered := -1, ``
	if q.Key != "" {
		place = slices.IndexFunc(columns, func(c connection.Column) bool { return c.Name == q.Key })
		key := quote(q.Key)
		if q.After != nil {
			conditions = append(conditions, `(`+key+` > CAST(:after AS `+columns[place].DatabaseType+`) OR `+key+
				` IS NULL)`)
			parameters = append(parameters, textParameter("after", *q.After))
		}
		ordered = ` ORDER BY ` + key + ` ASC NULLS LAST`
	}
	compare := func(c connection.Column) (warehouse.Comparison, bool) {
		return comparison(c, func(text string) string {
			name := "value" + strconv.Itoa(len(parameters))
			parameters = append(parameters, textParameter(name, text))
			return `:` + name
		})
	}
	conditions = append(conditions, warehouse.Where(q, columns, out, compare)...)
	sql := `SELECT ` + list(columns, warehouse.MaxValue) + ` FROM ` + s.quoted(q.Table) + warehouse.Clause(conditions) +
		ordered
	return s.run(sql+` LIMIT `+strconv.Itoa(q.Limit), parameters, func(row []*string) error {
		if err := exact(row, columns); err != nil {
			return err
		}
		if place >= 0 {
			row = append(row, warehouse.Place(row[place]))
		}
		return out.Add(row)
	})
}

// list returns a statement's expressions for columns, each as a text of at most this many characters.
func list(columns []connection.Column, limit int) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = cell(c, strconv.Itoa(limit))
	}
	return strings.Join(all, `, `)
}

func (s *session) quoted(t connection.TableRef) string {
	return quote(s.catalog) + `.` + quote(t.Schema) + `.` + quote(t.Name)
}
