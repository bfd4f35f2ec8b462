package snowflake_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestConditionsOnAnyTypeLoseNoRow(t *testing.T) {
	s := newServer(t, hosted.Authority)
	columns := map[[5]string][]string{
		{"WHOLE", "NUMBER", "YES", "38", "0"}: {"0", "-1", "99999999999999999999", "7"},
		{"PRICE", "NUMBER", "YES", "10", "2"}: {"7.50", "0.00", "-0.01", "99999999.99"},
		{"SHARE", "NUMBER", "YES", "2", "2"}:  {"0.10", "0.99", "-0.50", "0.00"},
		{"RATE", "FLOAT", "YES"}:              {"0.1", "7", "1e300", "-2"},
		{"SOLD", "BOOLEAN", "YES"}:            {"true", "false", "true", "false"},
		{"BORN", "DATE", "YES"}:               {"2024-02-29", "1969-12-31", "9999-12-31", "0001-01-01"},
		{"STAMP", "TIMESTAMP_NTZ", "YES"}: {"2024-02-29 12:00:00", "2024-02-29 12:00:00.000000001",
			"1969-07-20 20:17:40", "2099-01-01 00:00:00"},
		{"MOMENT", "TIMESTAMP_TZ", "YES"}: {"2024-02-29 12:00:00 +02:00", "2024-02-29 10:00:00.5 +00:00",
			"1969-07-20 20:17:40 -05:00", "2099-01-01 00:00:00 +00:00"},
		{"NAME", "TEXT", "YES"}:   {"a", "A", "", "ä%_"},
		{"DOC", "VARIANT", "YES"}: {"{}", "[]", "1", "2"},
	}
	table := fixture.SnowflakeTable{Schema: "PUBLIC", Name: "KINDS OF", Type: "BASE TABLE", Folds: true}
	table.Columns, table.Values = fixture.Numbered([5]string{"n", "NUMBER", "YES", "38", "0"}, columns, 5)
	s.Databases["SHOP"] = append(s.Databases["SHOP"], table)
	warehouses.Finds(t, hosted.Direct(t), target(t, portOf(s.Server), nil), ref("KINDS OF"),
		"n", "WHOLE", "PRICE", "SHARE", "SOLD", "BORN", "STAMP", "MOMENT", "NAME")
}
