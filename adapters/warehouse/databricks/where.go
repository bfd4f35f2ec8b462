package databricks

import (
	"fmt"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// bitsOf are the bits of integers ("Data types" of Databricks' SQL reference). A cast of a greater one fails.
var bitsOf = map[string]int{"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}

// comparison returns how a column is compared with markers. A CHAR has blanks at its end, and texts with a collation
// have another order; how texts become floating-point numbers is not documented. These are not compared.
func comparison(c connection.Column, bind func(text string) string) (warehouse.Comparison, bool) {
	typed := func(typeName string) func(string) string {
		return func(text string) string { return `CAST(` + bind(text) + ` AS ` + typeName + `)` }
	}
	compared := warehouse.Comparison{Name: quote(c.Name), Text: warehouse.AnyText, IsRounded: true,
		Value: typed(c.DatabaseType)}
	switch kind := word(c.DatabaseType); kind {
	case "tinyint", "smallint", "int", "bigint":
		compared.Text = warehouse.Integers(bitsOf[kind])
	case "decimal":
		var precision, scale int
		if n, _ := fmt.Sscanf(c.DatabaseType, "decimal(%d,%d)", &precision, &scale); n != 2 {
			return compared, false
		}
		compared.Text = warehouse.Decimals(precision, scale)
	case "boolean", "date":
	case "timestamp": // to microseconds, in any time zone of the warehouse
		compared.Text = warehouse.Moments("2006-01-02T15:04:05.000000Z")
	case "timestamp_ntz":
		compared.Text = warehouse.Moments("2006-01-02T15:04:05.000000")
	case "string", "varchar":
		compared.Value = typed("string")
		compared.Ordered = func(expression string) string { return expression }
		compared.Contains = func(text string) string {
			return `contains(` + compared.Name + `, ` + compared.Value(text) + `)`
		}
		compared.Prefix = func(text string) string {
			return `startswith(` + compared.Name + `, ` + compared.Value(text) + `)`
		}
	default:
		return compared, false
	}
	return compared, true
}
