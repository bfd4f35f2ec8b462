package databricks

import (
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// word returns a type's name without its parameters, in lower case.
func word(databaseType string) string {
	if i := strings.IndexAny(databaseType, "(<"); i >= 0 {
		databaseType = databaseType[:i]
	}
	return strings.ToLower(strings.TrimSpace(databaseType))
}

// typeOf returns how a type's values can be used ("Data types" of Databricks' SQL reference).
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

// orders reports whether rows can be in a type's order, and a value's text can be cast back to it.
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
func cell(c connection.Column, limit string) string {
	name := quote(c.Name)
	switch word(c.DatabaseType) {
	case "timestamp":
		return `CAST(unix_micros(` + name + `) AS STRING)`
	case "binary":
		return `LEFT(CONCAT('0x', LOWER(HEX(` + name + `))), ` + limit + `)`
	case "array", "map", "struct", "variant", "object":
		return `LEFT(to_json(` + name + `, ` + jsonOptions + `), ` + limit + `)`
	case "geography", "geometry":
		return `LEFT(st_astext(` + name + `), ` + limit + `)`
	}
	return `LEFT(CAST(` + name + ` AS STRING), ` + limit + `)`
}

// jsonOptions are the options of to_json: by default, it leaves out fields without a value, and writes moments with
// milliseconds in the time zone of the warehouse.
const jsonOptions = `map('ignoreNullFields', 'false', 'timeZone', 'UTC', ` +
	`'timestampFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSS')`

// exact makes values of the texts of cells: moments for people, and numbers as other databases write them. It returns
// connection.NotThisDatabase if the row does not have a text for each column.
func exact(row []*string, columns []connection.Column) error {
	if len(row) != len(columns) {
		return connection.NotThisDatabase
	}
	for i, c := range columns {
		if row[i] == nil {
			continue
		}
		var err error
		switch word(c.DatabaseType) {
		case "timestamp":
			row[i], err = moment(*row[i])
		case "float":
			row[i], err = float(*row[i], 32)
		case "double":
			row[i], err = float(*row[i], 64)
		}
		if err != nil {
			return connection.NotThisDatabase
		}
	}
	return nil
}

func moment(text string) (*string, error) {
	micros, err := strconv.ParseInt(text, 10, 64)
	return new(time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.999999") + " UTC"), err
}

func float(text string, bits int) (*string, error) {
	v, err := strconv.ParseFloat(text, bits)
	return new(warehouse.FloatText(v, bits)), err
}
