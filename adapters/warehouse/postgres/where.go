package postgres

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
)

// comparison returns how a column of table t is compared with values, which are arguments of the statement: bind
// returns the parameter of one. false if the column's values are not known to be in the order of the field's.
func comparison(c connection.Column, bind func(text string) string) (warehouse.Comparison, bool) {
	word, _, _ := strings.Cut(c.DatabaseType, "(")
	typed := func(typeName string) func(string) string {
		return func(text string) string { return bind(text) + `::pg_catalog.` + typeName }
	}
	compared := warehouse.Comparison{Name: `t.` + quote(c.Name), Text: warehouse.AnyText}
	switch word {
	case "smallint", "integer", "bigint":
		compared.Text = column.PlainNumber
		compared.Value = func(text string) string {
			if _, err := strconv.ParseInt(text, 10, 64); err == nil {
				return typed("int8")(text) // the column's index can be used
			}
			return typed("numeric")(text)
		}
	case "numeric":
		compared.Text, compared.Value = column.PlainNumber, typed("numeric")
	case "real":
		compared.Text, compared.Value, compared.IsRounded = warehouse.Floats(32), typed("float4"), true
	case "double precision":
		compared.Text, compared.Value, compared.IsRounded = warehouse.Floats(64), typed("float8"), true
	case "boolean":
		compared.Value = typed("bool")
	case "date":
		compared.Value = typed("date")
	case "timestamp", "timestamp without time zone", "timestamp with time zone":
		compared.Text, compared.Value, compared.IsRounded = warehouse.UTC, typed("timestamp"), true // to microseconds
		if strings.HasSuffix(c.DatabaseType, "with time zone") {
			compared.Value = func(text string) string { return typed("timestamptz")(text + "Z") }
		}
	case "uuid":
		compared.Text = func(text string) (string, bool) { return text, canonicalUUID.MatchString(text) }
		compared.Value = typed("uuid") // in the order of its text
	default:
		if c.Type != connection.Text {
			return compared, false
		}
		if word != "text" && word != "character varying" { // other types have no index of their texts
			compared.Name = named(textOf(c), compared.Name)
		}
		compared.Value = typed("text")
		compared.Ordered = func(expression string) string { return expression + ` COLLATE pg_catalog."C"` }
		compared.Contains = func(text string) string {
			return `pg_catalog.strpos(` + compared.Ordered(compared.Name) + `, ` + compared.Value(text) + `) > 0`
		}
		compared.Prefix = func(prefix string) string {
			return compared.Ordered(compared.Name) + ` LIKE ` + compared.Value(likeSpecial.Replace(prefix)+`%`)
		}
	}
	return compared, true
}

var (
	canonicalUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	likeSpecial   = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
)
