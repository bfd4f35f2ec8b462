package snowflake_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// documented are the types of https://docs.snowflake.com/en/sql-reference/intro-summary-data-types without synonyms, by
// the names that INFORMATION_SCHEMA.COLUMNS has for them: VARCHAR is TEXT.
var documented = []string{"NUMBER", "FLOAT", "DECFLOAT", "TEXT", "BINARY", "BOOLEAN", "DATE", "TIME", "TIMESTAMP_LTZ",
	"TIMESTAMP_NTZ", "TIMESTAMP_TZ", "VARIANT", "OBJECT", "ARRAY", "MAP", "FILE", "GEOGRAPHY", "GEOMETRY", "UUID",
	"VECTOR"}

const (
	most38 = "99999999999999999999999999999999999999"
	file   = `{"CONTENT_TYPE":"image/png","ETAG":"8552","LAST_MODIFIED":"Wed, 11 Dec 2024 20:24:00 GMT",` +
		`"RELATIVE_PATH":"image.png","SIZE":105859,"STAGE":"@DB.S.MYSTAGE"}`
)

// samples have the texts of tables of the stand-in, nil for NULL.
var samples = []warehouses.Kind{
	{Type: "NUMBER(38,0)", Field: column.Number, Samples: []warehouses.Sample{{most38, most38},
		{"-" + most38, "-" + most38}, {"0", "0"}, {nil, "null"}}},
	{Type: "NUMBER(38,0)", Field: column.Integer, Samples: []warehouses.Sample{{most38, "!wrong_type"},
		{"9223372036854775807", "9223372036854775807"}, {"-9223372036854775808", "-9223372036854775808"}}},
	{Type: "NUMBER(38,37)", Field: column.Number, Samples: []warehouses.Sample{
		{"9.9999999999999999999999999999999999999", "9.9999999999999999999999999999999999999"},
		{"-0.0000000000000000000000000000000000001", "-0.0000000000000000000000000000000000001"}}},
	{Type: "FLOAT", Field: column.Number, Samples: []warehouses.Sample{{"0.1", "0.1"}, {"0.08072205302271099",
		"0.08072205302271099"}, {"0.30000000000000004", "0.30000000000000004"}, {"5e-324", "5e-324"},
		{"1.7976931348623157e308", "1.7976931348623157e+308"}, {"NaN", "!wrong_type"}, {"inf", "!wrong_type"},
		{"-inf", "!wrong_type"}, {"0", "0"}, {nil, "null"}}},
	{Type: "FLOAT", Field: column.Integer, Samples: []warehouses.Sample{{"9007199254740993", "9007199254740992"},
		{"4611686018427387904", "4611686018427387904"}, {"0.5", "!wrong_type"}, {"1e300", "!wrong_type"}}},
	{Type: "FLOAT", Field: column.String, Samples: []warehouses.Sample{{"NaN", `"NaN"`}, {"inf", `"Infinity"`},
		{"-inf", `"-Infinity"`}}},
	{Type: "DECFLOAT", Field: column.Number, Samples: []warehouses.Sample{
		{"1.2345678901234567890123456789012345678", "1.2345678901234567890123456789012345678"}, {"1e-300", "1e-300"},
		{"1e16384", "!wrong_type"}, {nil, "null"}}},
	{Type: "TEXT", Field: column.String, Samples: []warehouses.Sample{{"n/a", `"n/a"`}, {"", "null"}, {nil, "null"},
		{"a\x00é𝄞", `"a\u0000é𝄞"`}, {" ", `" "`}, {"#REF!", `"#REF!"`}}},
	{Type: "BINARY", Field: column.String, Samples: []warehouses.Sample{{"0x00FF", `"0x00ff"`}, {"0x3132", `"0x3132"`},
		{"0x", `"0x"`}, {nil, "null"}}},
	{Type: "BINARY", Field: column.Integer, Samples: []warehouses.Sample{{"0x3132", "!wrong_type"},
		{"0x", "!wrong_type"}}},
	{Type: "BOOLEAN", Field: column.Boolean, Samples: []warehouses.Sample{{"true", "true"}, {"false", "false"},
		{nil, "null"}}},
	{Type: "DATE", Field: column.Date, Samples: []warehouses.Sample{{"0001-01-01", `"0001-01-01"`},
		{"1582-10-15", `"1582-10-15"`}, {"9999-12-31", `"9999-12-31"`}, {"2024-02-29", `"2024-02-29"`}, {nil, "null"}}},
	{Type: "TIME", Field: column.String, Samples: []warehouses.Sample{{"00:00:00", `"00:00:00"`},
		{"23:59:59.999999999", `"23:59:59.999999999"`}, {"03:04:05.5", `"03:04:05.5"`}, {nil, "null"}}},
	{Type: "TIMESTAMP_NTZ", Field: column.DateTime, Samples: []warehouses.Sample{
		{"2026-01-02 03:04:05.123456789", `"2026-01-02T03:04:05.123456789"`},
		{"9999-12-31 23:59:59.999999999", `"9999-12-31T23:59:59.999999999"`},
		{"1582-10-15 00:00:00", `"1582-10-15T00:00:00"`}, {nil, "null"}}},
	{Type: "TIMESTAMP_LTZ", Field: column.DateTime, Samples: []warehouses.Sample{
		{"2026-01-02 03:04:05.123456789 +00:00", `"2026-01-02T03:04:05.123456789Z"`}, {nil, "null"}}},
	{Type: "TIMESTAMP_TZ", Field: column.DateTime, Samples: []warehouses.Sample{
		{"2026-01-02 03:04:05.123456789 -11:30", `"2026-01-02T03:04:05.123456789-11:30"`},
		{"2026-01-02 03:04:05 +14:00", `"2026-01-02T03:04:05+14:00"`}, {nil, "null"}}},
	{Type: "VARIANT", Field: column.JSON, Samples: []warehouses.Sample{
		{`{"a":9007199254740993}`, `{"a":9007199254740993}`}, {"null", "null"}, {`"a"`, `"a"`}, {"1.5", "1.5"}, {nil, "null"}}},
	{Type: "OBJECT", Field: column.JSON, Samples: []warehouses.Sample{{`{"a":{"b":[]}}`, `{"a":{"b":[]}}`}, {"{}", "{}"},
		{nil, "null"}}},
	{Type: "ARRAY", Field: column.JSON, Samples: []warehouses.Sample{{`[1,"a",null]`, `[1,"a",null]`}, {"[]", "[]"},
		{nil, "null"}}},
	{Type: "MAP", Field: column.JSON, Samples: []warehouses.Sample{{`{"1":"a"}`, `{"1":"a"}`}, {"{}", "{}"},
		{nil, "null"}}},
	{Type: "VECTOR", Field: column.JSON, Samples: []warehouses.Sample{{`[1.100000,2]`, `[1.100000,2]`}, {nil, "null"}}},
	{Type: "FILE", Field: column.JSON, Samples: []warehouses.Sample{{file, file}, {nil, "null"}}},
	{Type: "GEOGRAPHY", Field: column.String, Samples: []warehouses.Sample{{"POINT(1 2)", `"POINT(1 2)"`}, {nil, "null"}}},
	{Type: "GEOMETRY", Field: column.String, Samples: []warehouses.Sample{{"POLYGON((0 0,1 0,1 1,0 0))",
		`"POLYGON((0 0,1 0,1 1,0 0))"`}, {nil, "null"}}},
	{Type: "UUID", Field: column.String, Samples: []warehouses.Sample{{"0191a2b3-c4d5-7e6f-8192-a3b4c5d6e7f8",
		`"0191a2b3-c4d5-7e6f-8192-a3b4c5d6e7f8"`}, {nil, "null"}}},
}

func TestRowsReturnEachValueOfEachType(t *testing.T) {
	s := newServer(t, hosted.Authority)
	database := target(t, portOf(s.Server), nil)
	warehouses.EveryKind(t, hosted.Direct(t), database, documented, samples,
		func(kind warehouses.Kind) connection.TableRef {
			table := fixture.SnowflakeTable{Schema: "PUBLIC", Name: fmt.Sprint("T", len(s.Databases["SHOP"])),
				Type: "BASE TABLE", Columns: [][5]string{{"v", kind.Type, "YES"}}}
			var precision, scale string
			if n, _ := fmt.Sscanf(kind.Type, "NUMBER(%2s,%2s", &precision, &scale); n == 2 {
				table.Columns[0] = [5]string{"v", "NUMBER", "YES", precision, scale}
			}
			for _, sample := range kind.Samples {
				var cell *string
				if sample[0] != nil {
					cell = text(sample[0].(string))
				}
				table.Values = append(table.Values, []*string{cell})
			}
			s.Databases["SHOP"] = append(s.Databases["SHOP"], table)
			return ref(table.Name)
		})
}
