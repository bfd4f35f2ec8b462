package postgres

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// redshiftComparison returns how a column is compared. Of texts, no order is known: the column may have the collation
// CASE_INSENSITIVE. Each text is equal to itself in any collation. A CHAR has blanks at its
// end. The guide does not say how texts become
// floating-point numbers, so that neither is compared.
func redshiftComparison(c connection.Column, bind func(text string) string) (warehouse.Comparison, bool) {
	name := `t.` + quote(c.Name)
	typed := func(typeName string) func(string) string {
		return func(text string) string { return `CAST(` + bind(text) + ` AS ` + typeName + `)` }
	}
	compared := warehouse.Comparison{Name: name, Text: warehouse.AnyText, IsRounded: true}
	switch base := redshiftBase(c.DatabaseType); base {
	case "smallint", "integer", "bigint", "int", "tinyint":
		const bits = 64
		compared.Text, compared.Value = warehouse.Integers(bits), typed("bigint")
	case "numeric", "decimal":
		var precision, scale int
		if n, _ := fmt.Sscanf(c.DatabaseType[len(base):], "(%d,%d)", &precision, &scale); n != 2 {
			return compared, false
		}
		compared.Text = warehouse.Decimals(precision, scale)
		compared.Value = typed(fmt.Sprintf("numeric(%d,%d)", precision, scale))
	case "boolean": // no cast from a text is documented
		compared.Value = func(text string) string { return text }
	case "date":
		compared.Value = typed("date")
	case "timestamp without time zone", "timestamp": // to microseconds
		compared.Text, compared.Value = warehouse.Moments("2006-01-02 15:04:05.000000"), typed("timestamp")
	case "timestamp with time zone", "timestamptz":
		compared.Text, compared.Value = warehouse.Moments("2006-01-02 15:04:05.000000+00"), typed("timestamptz")
	case "character varying", "varchar":
		compared.Value = typed("varchar(65535)")
		compared.Contains = func(text string) string { return `strpos(` + name + `, ` + compared.Value(text) + `) > 0` }
		compared.Prefix = func(prefix string) string {
			length := strconv.Itoa(utf8.RuneCountInString(prefix))
			return `left(` + name + `, ` + length + `) = ` + compared.Value(prefix)
		}
	default:
		return compared, false
	}
	return compared, true
}
