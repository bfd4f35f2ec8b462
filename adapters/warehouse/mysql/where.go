package mysql

import (
	"encoding/hex"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	domain "github.com/atrium-hq/atrium/domain/column"
)

// comparison returns how the column is compared with literals. false if its values are not known to be in the order of
// the field's.
func (c column) comparison() (warehouse.Comparison, bool) {
	compared := warehouse.Comparison{Name: quote(c.Name), Text: warehouse.AnyText}
	digits := func(plain string) string { return plain }
	double := func(bits int) func(string) string { // a FLOAT is compared as a DOUBLE, and has its value
		return func(plain string) string {
			v, _ := strconv.ParseFloat(plain, bits) // Text has read it
			return strconv.FormatFloat(v, 'E', -1, 64)
		}
	}
	switch c.dataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "bit", "decimal":
		compared.Text, compared.Value = exactNumber, digits
	case "year": // 70 would be 1970 (MySQL's "2-Digit Years in Dates")
		compared.Name += ` + 0`
		compared.Text, compared.Value = exactNumber, digits
	case "float":
		compared.Text, compared.Value, compared.IsRounded = warehouse.Floats(32), double(32), true
	case "double":
		compared.Text, compared.Value, compared.IsRounded = warehouse.Floats(64), double(64), true
	case "date":
		compared.Value = cast(`DATE`)
	case "datetime", "timestamp":
		compared.Text, compared.Value, compared.IsRounded = warehouse.UTC, cast(`DATETIME(6)`), true
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set":
		if !wordForm.MatchString(c.charset) || !wordForm.MatchString(c.collation) {
			return compared, false
		}
		compared.Value = func(text string) string { // so that an index of the column can be used
			return `CONVERT(` + literal(text) + ` USING ` + c.charset + `) COLLATE ` + c.collation
		}
		compared.Ordered = func(text string) string { return `CAST(CONVERT(` + text + ` USING utf8mb4) AS BINARY)` }
		compared.Contains = func(text string) string {
			return `LOCATE(CAST(` + literal(text) + ` AS BINARY), ` + compared.Ordered(compared.Name) + `) > 0`
		}
		compared.Prefix = func(prefix string) string {
			return `LEFT(` + compared.Ordered(compared.Name) + `, ` + strconv.Itoa(len(prefix)) + `) = X'` +
				hex.EncodeToString([]byte(prefix)) + `'`
		}
	default:
		return compared, false
	}
	return compared, true
}

// exactNumber is warehouse.Comparison.Text of exact numbers, and of booleans, which are 0 and 1.
func exactNumber(text string) (string, bool) {
	switch text {
	case "true":
		return "1", true
	case "false":
		return "0", true
	}
	return domain.PlainNumber(text)
}
