package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

// redshiftTypes are those of https://docs.aws.amazon.com/redshift/latest/dg/c_Supported_data_types.html.
var redshiftTypes = []string{"smallint", "integer", "bigint", "decimal", "real", "double precision", "char", "varchar",
	"date", "time", "timetz", "timestamp", "timestamptz", "interval year to month", "interval day to second", "boolean",
	"hllsketch", "super", "varbyte", "geometry", "geography"}

// redshiftSamples have the literals of values.
var redshiftSamples = []warehouses.Kind{
	{Type: "smallint", Field: column.Integer, Samples: []warehouses.Sample{{`-32768`, "-32768"}, {`32767`, "32767"},
		{`NULL`, "null"}}},
	{Type: "integer", Field: column.Integer, Samples: []warehouses.Sample{{`-2147483648`, "-2147483648"},
		{`2147483647`, "2147483647"}, {`NULL`, "null"}}},
	{Type: "bigint", Field: column.Integer, Samples: []warehouses.Sample{
		{`-9223372036854775808`, "-9223372036854775808"}, {`9223372036854775807`, "9223372036854775807"}}},
	{Type: "decimal(38,37)", Field: column.Number, Samples: []warehouses.Sample{
		{`9.9999999999999999999999999999999999999`, "9.9999999999999999999999999999999999999"},
		{`-0.0000000000000000000000000000000000001`, "-0.0000000000000000000000000000000000001"}, {`NULL`, "null"}}},
	{Type: "decimal(38,0)", Field: column.Integer, Samples: []warehouses.Sample{
		{`99999999999999999999999999999999999999`, "!wrong_type"}, {`7`, "7"}}},
	{Type: "real", Field: column.Number, Samples: []warehouses.Sample{{`52.520008`, "52.520008"}, {`16777216`, "16777216"},
		{`3.4028235e38`, "3.4028235e+38"}, {`'NaN'`, "!wrong_type"}, {`'Infinity'`, "!wrong_type"}, {`NULL`, "null"}}},
	{Type: "double precision", Field: column.Number, Samples: []warehouses.Sample{{`0.1`, "0.1"},
		{`0.30000000000000004`, "0.30000000000000004"}, {`1.7976931348623157e308`, "1.7976931348623157e+308"},
		{`'NaN'`, "!wrong_type"}, {`'-Infinity'`, "!wrong_type"}, {`NULL`, "null"}}},
	{Type: "double precision", Field: column.Integer, Samples: []warehouses.Sample{
		{`4611686018427387904`, "4611686018427387904"}, {`0.5`, "!wrong_type"}}},
	{Type: "double precision", Field: column.String, Samples: []warehouses.Sample{{`'NaN'`, `"NaN"`},
		{`'-Infinity'`, `"-Infinity"`}}},
	{Type: "char(5)", Field: column.String, Samples: []warehouses.Sample{{`'ab'`, `"ab"`}, {`''`, "null"},
		{`NULL`, "null"}}}, // blanks at the end do not count
	{Type: "varchar(40)", Field: column.String, Samples: []warehouses.Sample{{`'ab '`, `"ab "`}, {`''`, "null"},
		{`'n/a'`, `"n/a"`}, {`'é𝄞'`, `"é𝄞"`}, {`NULL`, "null"}}},
	{Type: "date", Field: column.Date, Samples: []warehouses.Sample{{`'2024-02-29'`, `"2024-02-29"`},
		{`'9999-12-31'`, `"9999-12-31"`}, {`'4713-01-01 BC'`, "!wrong_type"}, {`NULL`, "null"}}},
	{Type: "time", Field: column.String, Samples: []warehouses.Sample{{`'23:59:59.999999'`, `"23:59:59.999999"`},
		{`'00:00'`, `"00:00:00"`}, {`NULL`, "null"}}},
	{Type: "timetz", Field: column.String, Samples: []warehouses.Sample{{`'03:04:05.5-11:30'`, `"03:04:05.5-11:30"`},
		{`NULL`, "null"}}},
	{Type: "timestamp", Field: column.DateTime, Samples: []warehouses.Sample{
		{`'2026-01-02 03:04:05.123456'`, `"2026-01-02T03:04:05.123456"`}, {`'4713-01-01 00:00 BC'`, "!wrong_type"},
		{`NULL`, "null"}}},
	{Type: "timestamptz", Field: column.DateTime, Samples: []warehouses.Sample{
		{`'2026-01-02 03:04:05.123456-11:30'`, `"2026-01-02T14:34:05.123456Z"`}, {`NULL`, "null"}}},
	{Type: "interval year to month", Field: column.String, Samples: []warehouses.Sample{{`'1-2'`, `"1 year 2 mons"`},
		{`NULL`, "null"}}},
	{Type: "interval day to second", Field: column.String, Samples: []warehouses.Sample{
		{`'-1 00:00:00.000001'`, `"-1 days +00:00:00.000001"`}}},
	{Type: "boolean", Field: column.Boolean, Samples: []warehouses.Sample{{`true`, "true"}, {`false`, "false"},
		{`NULL`, "null"}}},
	{Type: "hllsketch", Field: column.Integer, Samples: []warehouses.Sample{{`'{4,5}'`, "2"}, {`NULL`, "null"}}},
	{Type: "super", Field: column.JSON, Samples: []warehouses.Sample{{`'{"a": [9007199254740993, null]}'`,
		`{"a":[9007199254740993,null]}`}, {`'null'`, "null"}, {`'"x"'`, `"x"`}, {`NULL`, "null"}}},
	{Type: "varbyte", Field: column.String, Samples: []warehouses.Sample{{`'\x00ff'`, `"0x00ff"`}, {`'\x'`, `"0x"`},
		{`NULL`, "null"}}},
	{Type: "varbyte", Field: column.Integer, Samples: []warehouses.Sample{{`'\x3132'`, "!wrong_type"}}},
	{Type: "geometry", Field: column.String, Samples: []warehouses.Sample{
		{`'(0.30000000000000004,2)'`, `"POINT(0.30000000000000004 2)"`}, {`NULL`, "null"}}},
	{Type: "geography", Field: column.String, Samples: []warehouses.Sample{{`'POINT(110 40)'`, `"POINT(110 40)"`},
		{`NULL`, "null"}}},
}

func TestRowsOfRedshiftHaveEachValueOfEachType(t *testing.T) {
	s := sharedRedshift(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
	exec(`CREATE SCHEMA typed`)
	exec(`GRANT USAGE ON SCHEMA typed TO reader`)
	t.Cleanup(func() { exec(`DROP SCHEMA typed CASCADE`) })
	tables := 0
	warehouses.EveryKind(t, directRedshift(t), redshiftTarget(t, s, connection.Redshift, nil), redshiftTypes,
		redshiftSamples, func(kind warehouses.Kind) connection.TableRef {
			tables++
			table := connection.TableRef{Schema: "typed", Name: fmt.Sprint("t", tables)}
			var rows []string
			for _, sample := range kind.Samples {
				rows = append(rows, `(`+sample[0].(string)+`)`)
			}
			exec(`CREATE TABLE typed.` + table.Name + ` (v ` + kind.Type + `)`)
			exec(`INSERT INTO typed.` + table.Name + ` VALUES ` + strings.Join(rows, ", "))
			exec(`GRANT SELECT ON typed.` + table.Name + ` TO reader`)
			return table
		})
}
