package snowflake

import (
	"errors"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Preview reads the table columns that the catalogue confirms, and some rows.
func (s *session) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	var p connection.Preview
	all, err := s.existing(q.Table)
	if err != nil {
		return p, err
	}
	if p = warehouse.Chosen(q, all); q.Rows <= 0 || len(p.Columns) == 0 {
		return p, nil
	}
	list := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		list[i] = cell(c, connection.MaxCell, "3")
	}
	values, err := s.query(`SELECT ` + strings.Join(list, `, `) + ` FROM ` + s.quoted(q.Table) + ` LIMIT ` +
		strconv.Itoa(min(q.Rows, connection.MaxSampleRows)))
	if errors.Is(err, connection.TableNotFound) {
		err = connection.PermissionDenied // it exists; Snowflake reports unreadable objects as missing
	}
	if err != nil {
		return p, err
	}
	for _, row := range values {
		if err := exact(row, p.Columns); err != nil {
			return p, err
		}
	}
	p.Rows, err = warehouse.Cells(values, len(p.Columns))
	return p, err
}

// columns lists a table's columns in their order; none if there is no such table.
func (s *session) columns(ref connection.TableRef) ([]connection.Column, error) {
	rows, err := s.query(`SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE, TO_VARCHAR(NUMERIC_PRECISION),
		TO_VARCHAR(NUMERIC_SCALE)
		FROM `+s.catalogue("COLUMNS")+` WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?
		ORDER BY ORDINAL_POSITION LIMIT `+strconv.Itoa(connection.MaxListed), ref.Schema, ref.Name)
	if err != nil {
		return nil, err
	}
	var columns []connection.Column
	for _, row := range rows {
		if len(row) != 5 || !warehouse.Filled(row[:3], 3) {
			return nil, connection.NotThisDatabase
		}
		c := connection.Column{Name: *row[0], DatabaseType: *row[1], Nullable: *row[2] == "YES"}
		c.Type, c.Unordered = typeOf(c.DatabaseType), !orders(c.DatabaseType)
		if c.DatabaseType == "NUMBER" && row[3] != nil && row[4] != nil {
			if *row[4] == "0" {
				c.Type = connection.Integer
			}
			c.DatabaseType += "(" + *row[3] + "," + *row[4] + ")"
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// typeOf returns how values can be used.
func typeOf(name string) connection.Type {
	switch name {
	case "NUMBER", "FLOAT", "DECFLOAT":
		return connection.Number
	case "BOOLEAN":
		return connection.Boolean
	case "DATE":
		return connection.Date
	case "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP_TZ":
		return connection.DateTime
	case "VARIANT", "OBJECT", "ARRAY", "MAP", "VECTOR", "FILE":
		return connection.JSON
	}
	return connection.Text
}

// orders reports whether rows can be in a type's order, and Snowflake converts a value's text to it.
func orders(name string) bool {
	switch name {
	case "NUMBER", "BOOLEAN", "DATE", "TIME", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP_TZ", "TEXT", "VARCHAR":
		return true
	}
	return false
}

// compared returns a key or a place, ?, as it is compared. A place would become a number with only five digits behind
// the point. A column of texts may have a collation in which others are equal, so their bytes are compared.
func compared(c connection.Column, value string) string {
	switch {
	case c.Type == connection.Text && c.DatabaseType != "TIME":
		return `TO_BINARY(` + value + `, 'UTF-8')`
	case value == `?` && strings.HasPrefix(c.DatabaseType, "NUMBER("):
		return `CAST(? AS ` + c.DatabaseType + `)`
	}
	return value
}

// cell returns the expression for a column's value as text, cut to the most characters, which exact makes a value of.
// Bytes are written as hexadecimal digits, shapes as WKT. digits are the digits in a second's fractions.
func cell(c connection.Column, limit int, digits string) string {
	name := quote(c.Name)
	text := `TO_VARCHAR(` + name + `)`
	switch word(c) {
	case "FLOAT": // by default it has ten digits, and here 17; the format for NaN is not documented
		text = `IFF(` + name + ` IN ('NaN'::FLOAT, 'inf'::FLOAT, '-inf'::FLOAT), ` + text + `, TO_VARCHAR(` + name +
			`, 'TME'))`
	case "DATE":
		text = `TO_VARCHAR(` + name + `, 'YYYY-MM-DD')`
	case "TIME": // by default it has no fraction
		text = `TO_VARCHAR(` + name + `, 'HH24:MI:SS.FF` + digits + `')`
	case "TIMESTAMP_NTZ":
		text = `TO_VARCHAR(` + name + `, 'YYYY-MM-DD HH24:MI:SS.FF` + digits + `')`
	case "TIMESTAMP_LTZ", "TIMESTAMP_TZ":
		text = `TO_VARCHAR(` + name + `, 'YYYY-MM-DD HH24:MI:SS.FF` + digits + ` TZH:TZM')`
	case "VARIANT", "OBJECT", "ARRAY", "MAP":
		text = `TO_JSON(TO_VARIANT(` + name + `))`
	case "BINARY":
		text = `'0x' || HEX_ENCODE(` + name + `, 0)`
	case "GEOGRAPHY", "GEOMETRY":
		text = `ST_ASWKT(` + name + `)`
	case "VECTOR":
		text = `TO_JSON(TO_VARIANT(` + name + `::ARRAY))`
	case "FILE": // its description; its content is not in the table
		parts := make([]string, len(fileParts))
		for i, part := range fileParts {
			parts[i] = `'` + part + `', FL_GET_` + part + `(` + name + `)`
		}
		text = `IFF(` + name + ` IS NULL, NULL, TO_JSON(OBJECT_CONSTRUCT(` + strings.Join(parts, `, `) + `)))`
	}
	return `LEFT(` + text + `, ` + strconv.Itoa(limit) + `)`
}

// fileParts are what a FILE consists of ("Unstructured data types" of Snowflake's documentation).
var fileParts = []string{"STAGE", "RELATIVE_PATH", "STAGE_FILE_URL", "SCOPED_FILE_URL", "CONTENT_TYPE", "SIZE", "ETAG",
	"LAST_MODIFIED"}

// word returns a column type's name without its parameters.
func word(c connection.Column) string {
	name, _, _ := strings.Cut(c.DatabaseType, "(")
	return name
}

// exact makes values of the texts of cells. It returns connection.NotThisDatabase if the row does not have a text for
// each column.
func exact(row []*string, columns []connection.Column) error {
	if len(row) != len(columns) {
		return connection.NotThisDatabase
	}
	for i, c := range columns {
		switch kind := word(c); {
		case row[i] == nil:
		case kind == "FLOAT":
			v, err := strconv.ParseFloat(*row[i], 64)
			if err != nil {
				return connection.NotThisDatabase
			}
			row[i] = new(warehouse.FloatText(v, 64))
		case kind == "TIME" && strings.Contains(*row[i], "."):
			row[i] = new(strings.TrimSuffix(strings.TrimRight(*row[i], "0"), "."))
		}
	}
	return nil
}
