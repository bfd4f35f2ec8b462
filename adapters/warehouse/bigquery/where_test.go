package bigquery_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestConditionsOnAnyTypeLoseNoRow(t *testing.T) {
	b := newServer(t, hosted.Authority)
	columns := []struct {
		name, form string
		values     []string
	}{
		{"n", `"type": "INTEGER"`, []string{"1", "2", "3", "4"}},
		{"big", `"type": "INTEGER"`, []string{"-9223372036854775808", "9223372036854775807", "7"}},
		{"price", `"type": "NUMERIC", "precision": "10", "scale": "2"`, []string{"7.5", "-0.01", "99999999.99"}},
		{"huge", `"type": "BIGNUMERIC"`, []string{"1" + strings.Repeat("0", 37), "0.00000000000000000001", "0"}},
		{"rate", `"type": "FLOAT"`, []string{"0.1", "7", "1e300"}},
		{"sold", `"type": "BOOLEAN"`, []string{"true", "false", "true"}},
		{"born", `"type": "DATE"`, []string{"2024-02-29", "1969-12-31", "9999-12-31"}},
		{"stamp", `"type": "DATETIME"`, []string{"2024-02-29T12:00:00", "2024-02-29T12:00:00.000001",
			"1969-07-20T20:17:40"}},
		{"moment", `"type": "TIMESTAMP"`, []string{"1709208000000000", "1709208000000001", "-14182940000000"}},
		{"name", `"type": "STRING"`, []string{"a", "A", "ä%_"}},
		{"folded", `"type": "STRING", "collation": "und:ci"`, []string{"a", "b", "B"}},
		{"tags", `"type": "STRING", "mode": "REPEATED"`, nil},
	}
	var schema, rows []string
	names := make([]string, 0, len(columns))
	for _, c := range columns {
		names = append(names, c.name)
		schema = append(schema, `{"name": "`+c.name+`", `+c.form+`}`)
	}
	for n := range 4 {
		var cells []string
		for _, c := range columns {
			value := "null"
			if n < len(c.values) {
				value = strconv.Quote(c.values[n])
			}
			if c.name == "tags" {
				value = `[{"v": "a"}]`
			}
			cells = append(cells, `{"v": `+value+`}`)
		}
		rows = append(rows, `{"f": [`+strings.Join(cells, ", ")+`]}`)
	}
	b.Datasets["shop"]["compared"] = fixture.BigQueryTable{Type: "TABLE",
		Schema: `[` + strings.Join(schema, ", ") + `]`, Rows: `[` + strings.Join(rows, ", ") + `]`}
	names = append(names[:4], names[5:len(names)-1]...) // not of floating-point numbers, and of what has no comparison
	warehouses.Finds(t, hosted.Direct(t), target(t, portOf(b.Server), nil), ref("compared"), names...)
}
