package databricks_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestConditionsOnAnyTypeLoseNoRow(t *testing.T) {
	d := newServer(t, hosted.Authority)
	columns := map[[3]string][]string{
		{"tiny", "tinyint", "YES"}:        {"-128", "127", "0"},
		{"big", "bigint", "YES"}:          {"-9223372036854775808", "9223372036854775807", "7"},
		{"price", "decimal(10,2)", "YES"}: {"7.50", "-0.01", "99999999.99"},
		{"rate", "double", "YES"}:         {"0.1", "7", "1e300"},
		{"sold", "boolean", "YES"}:        {"true", "false", "true"},
		{"born", "date", "YES"}:           {"2024-02-29", "1969-12-31", "9999-12-31"},
		{"moment", "timestamp", "YES"}:    {"1709208000000000", "1709208000000001", "-14182940000000"},
		{"stamp", "timestamp_ntz", "YES"}: {"2024-02-29 12:00:00", "2024-02-29 12:00:00.000001", "1969-07-20 20:17:40"},
		{"name :a` b", "string", "YES"}:   {"a", "A", ":value0"},
		{"word", "varchar(5)", "YES"}:     {"a", "ä%_", ""},
		{"padded", "char(5)", "YES"}:      {"a    ", "A    ", "b    "},
		{"tags", "array<string>", "YES"}:  {"[]", `["a"]`, `["b"]`},
	}
	table := fixture.DatabricksTable{Schema: "public", Name: "compared", Type: "MANAGED"}
	table.Columns, table.Values = fixture.Numbered([3]string{"n", "int", "YES"}, columns, 4)
	d.Catalogs["shop-1"] = append(d.Catalogs["shop-1"], table)
	warehouses.Finds(t, hosted.Direct(t), target(t, portOf(d.Server), nil), ref("compared"),
		"n", "tiny", "big", "price", "sold", "born", "moment", "stamp", "name :a` b", "word")
}
