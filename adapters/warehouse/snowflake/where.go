package snowflake

import (
	"fmt"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// comparison returns how a column is compared with arguments, ?. Texts are compared by their bytes, since the column
// may have a collation; CONTAINS and STARTSWITH take bytes, too (their pages in Snowflake's SQL reference). A text
// becomes a number with five digits behind the point unless a type is given. How texts become floating-point numbers is
// not documented, so that these are not compared.
func comparison(c connection.Column, bind func(text string)) (warehouse.Comparison, bool) {
	argument := func(form string) func(string) string {
		return func(text string) string {
			bind(text)
			return form
		}
	}
	compared := warehouse.Comparison{Name: quote(c.Name), Text: warehouse.AnyText, IsRounded: true}
	switch word(c) {
	case "NUMBER":
		var precision, scale int
		if n, _ := fmt.Sscanf(c.DatabaseType, "NUMBER(%d,%d)", &precision, &scale); n != 2 {
			return compared, false
		}
		compared.Text, compared.Value = warehouse.Decimals(precision, scale), argument(`CAST(? AS `+c.DatabaseType+`)`)
	case "BOOLEAN":
		compared.Value = argument(`CAST(? AS BOOLEAN)`)
	case "DATE":
		compared.Value = argument(`TO_DATE(?, 'YYYY-MM-DD')`)
	case "TIMESTAMP_NTZ":
		compared.Text = warehouse.Moments("2006-01-02 15:04:05.000000000")
		compared.Value = argument(`TO_TIMESTAMP_NTZ(?, 'YYYY-MM-DD HH24:MI:SS.FF9')`)
	case "TIMESTAMP_LTZ", "TIMESTAMP_TZ":
		compared.Text = warehouse.Moments("2006-01-02 15:04:05.000000000 -07:00")
		compared.Value = argument(`TO_TIMESTAMP_TZ(?, 'YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM')`)
	case "TEXT", "VARCHAR":
		const bytes = `TO_BINARY(?, 'UTF-8')`
		compared.Name = `TO_BINARY(` + compared.Name + `, 'UTF-8')`
		compared.Value = argument(bytes)
		compared.Ordered = func(expression string) string { return expression }
		compared.Contains = argument(`CONTAINS(` + compared.Name + `, ` + bytes + `)`)
		compared.Prefix = argument(`STARTSWITH(` + compared.Name + `, ` + bytes + `)`)
	default:
		return compared, false
	}
	return compared, true
}
