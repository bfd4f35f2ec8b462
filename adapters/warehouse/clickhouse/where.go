package clickhouse

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
)

// comparison returns how a column is compared with literals. false if its values are not known to be in the order of
// the field's: rows return a DateTime in the column's own zone, and without it.
func comparison(c connection.Column) (warehouse.Comparison, bool) {
	compared := warehouse.Comparison{Name: quote(c.Name), Text: warehouse.AnyText}
	bare := inside(inside(c.DatabaseType, "LowCardinality"), "Nullable")
	typed := func(function string) func(string) string {
		return func(text string) string { return function + `(` + literal(text) + `)` }
	}
	switch word, parameters, _ := strings.Cut(bare, "("); {
	case c.Type == connection.Integer:
		compared.Text, compared.Value = wholeNumber, func(digits string) string { return digits }
	case strings.HasPrefix(word, "Decimal"):
		compared.Text, compared.IsRounded = decimals(word, parameters), true
		compared.Value = func(text string) string { return `CAST(` + literal(text) + ` AS ` + bare + `)` }
	case word == "Float32":
		compared.Text, compared.Value, compared.IsRounded = warehouse.Floats(32), typed(`toFloat32`), true
	case word == "Float64":
		compared.Text, compared.Value, compared.IsRounded = warehouse.Floats(64), typed(`toFloat64`), true
	case word == "Bool":
		compared.Value = func(text string) string { return text }
	case word == "Date":
		compared.Text, compared.Value = datesIn("1970-01-01", "2105-12-31"), typed(`toDate`)
	case word == "String": // bytes, whose order is another one if they are no UTF-8
		compared.Value = literal
		compared.Contains = func(text string) string {
			return `position(` + compared.Name + `, ` + literal(text) + `) > 0`
		}
		compared.Prefix = func(prefix string) string {
			return `startsWith(` + quote(c.Name) + `, ` + literal(prefix) + `)`
		}
	default:
		return compared, false
	}
	return compared, true
}

// wholeNumber is warehouse.Comparison.Text of integers: a server may compare other numbers as floating-point numbers.
func wholeNumber(text string) (string, bool) {
	plain, ok := column.PlainNumber(text)
	_, err := strconv.ParseInt(plain, 10, 64)
	return plain, ok && err == nil
}

// decimals returns warehouse.Comparison.Text for a Decimal type: numbers that have not too many digits before the
// point. Those after it are cut.
func decimals(word, parameters string) func(string) (string, bool) {
	precision, scale, isBoth := strings.Cut(strings.TrimSuffix(parameters, ")"), ",")
	if !isBoth { // Decimal32(S) and the like
		precision, scale = map[string]string{"Decimal32": "9", "Decimal64": "18", "Decimal128": "38",
			"Decimal256": "76"}[word], precision
	}
	all, errAll := strconv.Atoi(precision)
	places, errPlaces := strconv.Atoi(strings.TrimSpace(scale))
	if errAll != nil || errPlaces != nil {
		return func(string) (string, bool) { return "", false }
	}
	return warehouse.Decimals(all, places)
}

// datesIn returns warehouse.Comparison.Text of dates of which a type has only some.
func datesIn(first, last string) func(string) (string, bool) {
	return func(date string) (string, bool) { return date, first <= date && date <= last }
}
