package sqlite

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
)

// comparison returns how a column is compared with values, which are arguments of the statement: bind returns the
// parameter of one. A column can have values of all types, in this order: numbers, texts, bytes (SQLite's "Datatypes").
func comparison(c connection.Column, bind func(value any) string) (warehouse.Comparison, bool) {
	compared := warehouse.Comparison{Name: quote(c.Name), Text: column.PlainNumber}
	const texts, numbers, blobs = ` >= ''`, ` < ''`, ` >= x''`
	switch c.Type {
	case connection.Integer, connection.Number:
		compared.IsRounded, compared.Others = true, compared.Name+texts
		compared.Value = func(plain string) string {
			if n, err := strconv.ParseInt(plain, 10, 64); err == nil {
				return bind(n)
			}
			n, _ := strconv.ParseFloat(plain, 64) // of one that is too large, ParseFloat returns infinity
			return bind(n)
		}
	case connection.Text:
		if !strings.Contains(strings.ToUpper(c.DatabaseType), "CHAR") &&
			!strings.Contains(strings.ToUpper(c.DatabaseType), "TEXT") { // its numbers are not stored as texts
			return compared, false
		}
		compared.Name += ` COLLATE BINARY` // another collation has another order
		compared.Others = compared.Name + numbers + ` OR ` + compared.Name + blobs
		compared.Text = warehouse.AnyText
		compared.Value = func(text string) string { return bind(text) }
		compared.Contains = func(text string) string { return `instr(` + compared.Name + `, ` + bind(text) + `) > 0` }
		compared.Prefix = func(prefix string) string {
			return `substr(` + compared.Name + `, 1, length(` + bind(prefix) + `)) = ` + bind(prefix)
		}
	default:
		return compared, false
	}
	return compared, true
}
