package clickhouse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Preview reads the table columns that the catalogue confirms, and some rows.
func (s *session) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	var p connection.Preview
	ref := q.Table
	database := s.to.Credential.Text(connection.FieldDatabase)
	if ref.Schema != database || ref.Name == "" || !isText(ref.Name) {
		return p, connection.TableNotFound
	}
	all, err := s.columns(ref.Name)
	if err != nil {
		return p, err
	}
	if len(all) == 0 {
		return p, connection.TableNotFound
	}
	if p = warehouse.Chosen(q, all); q.Rows <= 0 || len(p.Columns) == 0 {
		return p, nil
	}
	list := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		list[i] = cell(c, connection.MaxCell)
	}
	values, err := s.query(`SELECT ` + strings.Join(list, `, `) + ` FROM ` + quote(database) + `.` + quote(ref.Name) +
		` LIMIT ` + strconv.Itoa(min(q.Rows, connection.MaxSampleRows)))
	if err != nil {
		return p, err
	}
	for _, row := range values {
		exact(row, p.Columns)
	}
	p.Rows, err = warehouse.Cells(values, len(p.Columns))
	return p, err
}

// columns lists the columns that the user may read, in their order; none if there is no such table.
func (s *session) columns(table string) ([]connection.Column, error) {
	rows, err := s.query(`SELECT name, type FROM system.columns
		WHERE database = currentDatabase() AND table = ` + literal(table) + ` AND default_kind != 'EPHEMERAL'
		AND table IN (SELECT name FROM system.tables WHERE ` + ours + ` AND name = ` + literal(table) + `)
		LIMIT ` + strconv.Itoa(connection.MaxListed))
	if err != nil {
		return nil, err
	}
	var columns []connection.Column
	for _, row := range rows {
		if !warehouse.Filled(row, 2) {
			return nil, connection.NotThisDatabase
		}
		c := connection.Column{Name: *row[0], DatabaseType: *row[1]}
		c.Type, c.Nullable = typeOf(c.DatabaseType)
		_, isOrdered := rankOf(c)
		c.Unordered = !isOrdered
		columns = append(columns, c)
	}
	return columns, nil
}

// typeOf returns how values can be used, and whether they may be missing.
func typeOf(name string) (t connection.Type, nullable bool) {
	name = inside(name, "LowCardinality")
	bare := inside(name, "Nullable")
	nullable = bare != name
	word, _, _ := strings.Cut(bare, "(")
	switch {
	case slices.Contains([]string{"Int8", "Int16", "Int32", "Int64", "Int128", "Int256", "UInt8", "UInt16", "UInt32",
		"UInt64", "UInt128", "UInt256"}, word):
		return connection.Integer, nullable
	case strings.HasPrefix(word, "Float"), strings.HasPrefix(word, "Decimal"), word == "BFloat16":
		return connection.Number, nullable
	case word == "Bool":
		return connection.Boolean, nullable
	case word == "Date", word == "Date32":
		return connection.Date, nullable
	case strings.HasPrefix(word, "DateTime"):
		return connection.DateTime, nullable
	case word == "JSON", word == "Object", isNested(word):
		return connection.JSON, nullable
	}
	return connection.Text, nullable
}

// isEnum reports whether a column's values are names, which are selected as they are: toString of version 18 fails for
// NULL.
func isEnum(c connection.Column) bool {
	return strings.HasPrefix(inside(inside(c.DatabaseType, "LowCardinality"), "Nullable"), "Enum")
}

// inside removes a wrapper from a type's name.
func inside(name, wrapper string) string {
	if bare, ok := strings.CutPrefix(name, wrapper+"("); ok {
		return strings.TrimSuffix(bare, ")")
	}
	return name
}

// cell returns the expression for a column's value as text, cut to the length that is shown. States of aggregate
// functions have no text: they are their results.
func cell(c connection.Column, limit int) string {
	value := quote(c.Name)
	switch {
	case isEnum(c):
		return value
	case strings.HasPrefix(c.DatabaseType, "AggregateFunction("):
		value = `finalizeAggregation(` + value + `)`
	}
	return `substringUTF8(toString(` + value + `), 1, ` + strconv.Itoa(limit) + `)`
}
