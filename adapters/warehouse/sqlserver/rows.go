package sqlserver

import (
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Preview reads a table that the catalogue confirms, by a SELECT of the columns that the user may read, each cut by the
// server.
func (s *session) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	var p connection.Preview
	all, err := s.readable(q.Table)
	if err != nil {
		return p, err
	}
	choice := connection.Choose(q, all, func(c column) string { return c.Name })
	p.Total, p.Truncated = choice.Total, choice.Truncated
	for _, c := range choice.Columns {
		p.Columns = append(p.Columns, c.Column)
	}
	if q.Rows <= 0 || len(p.Columns) == 0 {
		return p, nil
	}
	var rows [][]*string
	sql := selected(q.Table, cells(choice.Columns, connection.MaxCell), min(q.Rows, connection.MaxSampleRows))
	err = s.each(sql, nil, choice.Columns, func(row []*string) error {
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return p, err
	}
	p.Rows, err = warehouse.Cells(rows, len(p.Columns))
	return p, err
}

// readable returns the table columns that the user may read.
func (s *session) readable(ref connection.TableRef) ([]column, error) {
	columns, err := s.columns(ref)
	if err == nil && len(columns) == 0 {
		err = connection.TableNotFound
	}
	return columns, err
}

// cells returns the expressions that read columns, each cut to at least size characters.
func cells(columns []column, size int) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.cell(size)
	}
	return list
}

// selected returns a statement's beginning that reads expressions.
func selected(ref connection.TableRef, list []string, limit int) string {
	return `SELECT TOP (` + strconv.Itoa(limit) + `) ` + strings.Join(list, `, `) + ` FROM ` + quote(ref.Schema) + `.` +
		quote(ref.Name)
}

// Rows implements warehouse.RowSession. The server streams the rows of one statement.
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	all, err := s.readable(q.Table)
	if err != nil {
		return err
	}
	tableColumns := make([]connection.Column, len(all))
	for i, c := range all {
		tableColumns[i] = c.Column
	}
	if found, err := out.Begin(q, tableColumns); err != nil || len(found) == 0 {
		return err
	}
	find := func(name string) column {
		return all[slices.IndexFunc(all, func(c column) bool { return c.Name == name })]
	}
	columns := make([]column, len(q.Columns))
	for i, name := range q.Columns {
		columns[i] = find(name)
	}
	width, list := len(columns), cells(columns, warehouse.MaxValue)
	var args arguments
	key, tail, ordered := rank{}, ``, ``
	if q.Key != "" {
		if key, _ = find(q.Key).rank(); q.After != nil {
			args, tail = arguments{key.argument(*q.After)}, key.beyond()
		}
		list, columns, ordered = append(list, key.place()), append(columns, key.column), key.order()
	}
	sort := warehouse.SortOf(q, tableColumns, out, func(c connection.Column) (warehouse.Order, bool) {
		return find(c.Name).order(&args)
	})
	if sort != nil {
		sortColumn := find(q.Sort.Column)
		list, columns = append(list, sortColumn.cell(maxKey)), append(columns, sortColumn)
		if q.Sort.Column == q.Key { // the server refuses an order with a column twice
			ordered = ``
		}
	}
	conditions, err := sort.AddBehind(nil, q, tail)
	if err != nil {
		return err
	}
	conditions = append(conditions, where(q, tableColumns, out, &args, find)...)
	sql := selected(q.Table, list, sort.MostRows(q)) + warehouse.Clause(conditions) + sort.ByBoth(q, ordered)
	return s.each(sql, args, columns, func(row []*string) error {
		if q.Key != "" && row[width] != nil && !key.isWhole(*row[width]) {
			row[width] = nil
		}
		if sort != nil {
			row[len(row)-1] = warehouse.PlaceOf(row[len(row)-1])
		}
		return out.Add(row)
	})
}
