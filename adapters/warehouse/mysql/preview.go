package mysql

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Preview reads a table that the catalogue confirms, by a SELECT of the columns that the user may
// read, each cut by the server.
func (s *session) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	var p connection.Preview
	ref := q.Table
	columns, err := s.readable(ref)
	if err != nil {
		return p, err
	}
	choice := connection.Choose(q, columns, func(c column) string { return c.Name })
	p.Total, p.Truncated = choice.Total, choice.Truncated
	list := make([]string, len(choice.Columns))
	for i, c := range choice.Columns {
		p.Columns, list[i] = append(p.Columns, c.Column), c.cell(connection.MaxCell)
	}
	if q.Rows <= 0 || len(list) == 0 {
		return p, nil
	}
	values, err := s.query(`SELECT ` + strings.Join(list,
		`, `) + ` FROM ` + quote(s.database) + `.` + quote(ref.Name) +
		` LIMIT ` + strconv.Itoa(min(q.Rows, connection.MaxSampleRows)))
	if err != nil {
		return p, err
	}
	for _, row := range values {
		if err := exact(row, choice.Columns); err != nil {
			return p, err
		}
	}
	p.Rows, err = warehouse.Cells(values, len(p.Columns))
	return p, err
}

// exact changes a row's texts that cell's expressions returned.
func exact(row []*string, columns []column) (err error) {
	for i, c := range columns[:min(len(columns), len(row))] {
		if row[i], err = c.exact(row[i]); err != nil {
			return err
		}
	}
	return nil
}

// readable returns the table columns that the catalogue confirms and the user may read.
func (s *session) readable(ref connection.TableRef) ([]column, error) {
	if ref.Schema != s.database || ref.Name == "" || !isText(ref.Name) {
		return nil, connection.TableNotFound
	}
	found, err := s.query(`SELECT COUNT(*) FROM information_schema.TABLES
		WHERE `+ours+` AND TABLE_NAME = ? AND CAST(TABLE_NAME AS BINARY) = CAST(? AS BINARY)`, ref.Name, ref.Name)
	if err != nil {
		return nil, err
	}
	if !isTrue(found) {
		return nil, connection.TableNotFound
	}
	columns, err := s.columns(ref.Name)
	if err == nil && len(columns) == 0 {
		err = connection.PermissionDenied
	}
	return columns, err
}

// column is a column with DATA_TYPE, which is only the name of its type. Texts have a character set and a collation.
type column struct {
	connection.Column
	dataType, charset, collation string
}

// columns lists the columns that the user may read.
func (s *session) columns(table string) ([]column, error) {
	rows, err := s.query(`SELECT COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, IS_NULLABLE,
		COALESCE(CHARACTER_SET_NAME, ''), COALESCE(COLLATION_NAME, '') FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND CAST(TABLE_NAME AS BINARY) = CAST(? AS BINARY)
		AND FIND_IN_SET('select', PRIVILEGES) > 0
		ORDER BY ORDINAL_POSITION LIMIT `+strconv.Itoa(connection.MaxListed), table, table)
	if err != nil {
		return nil, err
	}
	var columns []column
	for _, row := range rows {
		if !warehouse.Filled(row, 6) {
			return nil, connection.NotThisDatabase
		}
		c := column{dataType: *row[2], charset: *row[4], collation: *row[5], Column: connection.Column{
			Name: *row[0], DatabaseType: *row[1], Type: typeOf(*row[2], *row[1]), Nullable: *row[3] == "YES",
		}}
		_, isOrdered := c.rank()
		c.Unordered = !isOrdered
		columns = append(columns, c)
	}
	return columns, nil
}

// typeOf returns how values can be used. tinyint(1) is MySQL's BOOLEAN, but can have any number of its size.
func typeOf(dataType, columnType string) connection.Type {
	switch dataType {
	case "tinyint":
		if strings.HasPrefix(columnType, "tinyint(1)") {
			return connection.Boolean
		}
		return connection.Integer
	case "smallint", "mediumint", "int", "bigint", "year", "bit":
		return connection.Integer
	case "decimal", "float", "double":
		return connection.Number
	case "date":
		return connection.Date
	case "datetime", "timestamp":
		return connection.DateTime
	case "json":
		return connection.JSON
	}
	return connection.Text
}

// cell returns the expression for a column's value as text, cut to most characters. Bytes are written as hexadecimal
// digits, shapes as WKT.
func (c column) cell(limit int) string {
	name := quote(c.Name)
	asText := func(expression string) string {
		return `LEFT(CAST(` + expression + ` AS CHAR CHARACTER SET utf8mb4), ` + strconv.Itoa(limit) + `)`
	}
	switch c.dataType {
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		size := limit/2 - 1 // bytes
		return `CONCAT('0x', LOWER(HEX(LEFT(` + name + `, ` + strconv.Itoa(size) + `))))`
	case "bit":
		return asText(name + ` + 0`)
	case "float": // as a text of its own it has six digits
		return asText(name + ` + 0E0`)
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
		"geometrycollection", "geomcollection":
		return asText(`ST_AsText(` + name + `)`)
	}
	return asText(name)
}

// exact returns what cell's expression is for a value, as a text that loses nothing of it.
func (c column) exact(text *string) (*string, error) {
	switch {
	case text != nil && c.dataType == "double":
		return new(warehouse.WholeFloat(*text, 64)), nil
	case text == nil || c.dataType != "float":
		return text, nil
	}
	v, err := strconv.ParseFloat(*text, 64)
	if err != nil {
		return nil, connection.NotThisDatabase
	}
	return new(warehouse.FloatText(v, 32)), nil
}
