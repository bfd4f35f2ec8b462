package bigquery

import "github.com/atrium-hq/atrium/adapters/warehouse"

// comparison returns how a field is compared with parameters in its type ("Running parameterized queries" of BigQuery's
// documentation). Texts with a collation have another order, but each text is equal to itself. How texts become
// floating-point numbers is not documented, and moments with more digits than a parameter has are not compared.
func (f field) comparison(bind func(typeName, text string) string) (warehouse.Comparison, bool) {
	typeName := f.sqlType()
	compared := warehouse.Comparison{Name: quote(f.Name), Text: warehouse.AnyText, IsRounded: true,
		Value: func(text string) string { return bind(typeName, text) }}
	if f.Mode == "REPEATED" || f.isPrecise() {
		return compared, false
	}
	// "Numeric types" of the SQL reference
	const bits, digits, decimals, bigDigits, bigDecimals = 64, 38, 9, 76, 38
	switch typeName {
	case "INT64":
		compared.Text = warehouse.Integers(bits)
	case "NUMERIC":
		compared.Text = warehouse.Decimals(digits, decimals)
	case "BIGNUMERIC":
		compared.Text = warehouse.Decimals(bigDigits, bigDecimals)
	case "BOOL", "DATE":
	case "DATETIME": // to microseconds
		compared.Text = warehouse.Moments("2006-01-02 15:04:05.000000")
	case "TIMESTAMP":
		compared.Text = warehouse.Moments("2006-01-02 15:04:05.000000+00:00")
	case "STRING":
		if f.Collation == "" { // code points
			compared.Ordered = func(expression string) string { return expression }
		}
		compared.Contains = func(text string) string {
			return `STRPOS(` + compared.Name + `, ` + compared.Value(text) + `) > 0`
		}
		compared.Prefix = func(text string) string {
			return `STARTS_WITH(` + compared.Name + `, ` + compared.Value(text) + `)`
		}
	default:
		return compared, false
	}
	return compared, true
}
