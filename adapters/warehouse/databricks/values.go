package databricks

import (
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
)

// word returns the name of a type without its parameters, in lower case.
func word(databaseType string) string {
	if i := strings.IndexAny(databaseType, "(<"); i >= 0 {
		databaseType = databaseType[:i]
	}
	return strings.ToLower(strings.TrimSpace(databaseType))
}

// typeOf returns how values of a type can be used ("Data types" of Databricks' SQL reference).
func typeOf(databaseType string) connection.Type {
	switch word(databaseType) {
	case "tinyint", "smallint", "int", "bigint":
		return connection.Integer
	case "float", "double", "decimal":
		return connection.Number
	case "boolean":
		return connection.Boolean
	case "date":
		return connection.Date
	case "timestamp", "timestamp_ntz":
		return connection.DateTime
	case "array", "map", "struct", "variant", "object":
		return connection.JSON
	}
	return connection.Text
}

// orders reports whether rows can be in the order of a type, and the text of a value can be cast back to it.
func orders(databaseType string) bool {
	switch word(databaseType) {
	case "tinyint", "smallint", "int", "bigint", "decimal", "boolean", "date", "timestamp", "timestamp_ntz", "string",
		"char", "varchar":
		return true
	}
	return false
}

// cell returns the expression for a column's value as text, cut to a length. Moments are microseconds, since texts of
// them depend on the time zone of the warehouse.
func cell(c connection.Column, most string) string {
	name := quote(c.Name)
	switch word(c.DatabaseType) {
	case "timestamp":
		return `CAST(unix_micros(` + name + `) AS STRING)`
	case "binary":
		return `LEFT(CONCAT('0x', LOWER(HEX(` + name + `))), ` + most + `)`
	case "array", "map", "struct", "variant", "object":
		return `LEFT(to_json(` + name + `), ` + most + `)`
	case "geography", "geometry":
		return `LEFT(st_astext(` + name + `), ` + most + `)`
	}
	return `LEFT(CAST(` + name + ` AS STRING), ` + most + `)`
}

// shown formats moments in a row for people. It returns connection.NotThisDatabase if the row does not have a value for
// each column.
func shown(row []*string, columns []connection.Column) error {
	if len(row) != len(columns) {
		return connection.NotThisDatabase
	}
	for i, c := range columns {
		if row[i] == nil || word(c.DatabaseType) != "timestamp" {
			continue
		}
		micros, err := strconv.ParseInt(*row[i], 10, 64)
		if err != nil {
			return connection.NotThisDatabase
		}
		text := time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.999999") + " UTC"
		row[i] = &text
	}
	return nil
}
