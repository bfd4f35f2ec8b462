package mysql

import (
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Rows implements warehouse.RowSession. The server streams the rows of one statement in a transaction, which sees one
// snapshot of tables of InnoDB.
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	all, err := s.readable(q.Table)
	if err != nil {
		return err
	}
	tableColumns := make([]connection.Column, len(all))
	for i, c := range all {
		tableColumns[i] = c.Column
	}
	columns, err := out.Begin(q, tableColumns)
	if err != nil || len(columns) == 0 {
		return err
	}
	if q.Count {
		rows, err := s.query(`SELECT COUNT(*) FROM ` + quote(s.database) + `.` + quote(q.Table.Name))
		return out.TotalOf(rows, err)
	}
	find := func(name string) column {
		return all[slices.IndexFunc(all, func(c column) bool { return c.Name == name })]
	}
	selection, list := make([]column, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		selection[i] = find(c.Name)
		list[i] = selection[i].cell(warehouse.MaxValue)
	}
	conditions := warehouse.Where(q, columns, out, func(c connection.Column) (warehouse.Comparison, bool) {
		return find(c.Name).comparison()
	})
	ordered, tail := ``, ``
	if q.Key != "" {
		order, err := s.rankOf(q.Table.Name, find(q.Key))
		if err != nil {
			return err
		}
		if list = append(list, order.place); q.After != nil {
			tail = order.beyond(*q.After)
		}
		ordered = order.order()
	}
	sort := warehouse.SortOf(q, columns, out, func(c connection.Column) (warehouse.Order, bool) {
		return find(c.Name).order()
	})
	if sort != nil {
		if err := s.run(sortWhole); err != nil {
			return err
		}
	}
	list = sort.AddPlace(list)
	conditions, err = sort.AddBehind(conditions, q, tail)
	if err != nil {
		return err
	}
	return s.each(`SELECT `+strings.Join(list, `, `)+` FROM `+quote(s.database)+`.`+quote(q.Table.Name)+
		warehouse.Clause(conditions)+sort.ByBoth(q, ordered)+` LIMIT `+strconv.Itoa(sort.MostRows(q)), len(list),
		func(row []*string) error {
			if err := exact(row, selection); err != nil {
				return err
			}
			return out.Add(row)
		})
}

// each runs one statement and gives its rows to do, as text.
func (s *session) each(sql string, width int, handle func([]*string) error) error {
	var handlerErr error
	s.running = sql
	err := recoverPanics(func() error {
		rows, err := s.conn.QueryContext(s.ctx, sql, nil)
		if err != nil {
			return err
		}
		row := make([]driver.Value, len(rows.Columns()))
		if len(row) != width {
			return connection.NotThisDatabase
		}
		for {
			err := rows.Next(row)
			if errors.Is(err, io.EOF) {
				return rows.Close()
			}
			if err != nil {
				return err // closing rows would wait for the rest of them
			}
			texts := make([]*string, len(row))
			for i, v := range row {
				texts[i] = text(v)
			}
			if handlerErr = handle(texts); handlerErr != nil {
				return handlerErr
			}
		}
	})
	if handlerErr != nil {
		return handlerErr
	}
	return s.ended(err)
}
