package databricks_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// documented are the types of https://docs.databricks.com/aws/en/sql/language-manual/sql-ref-datatypes.
var documented = []string{"bigint", "binary", "boolean", "date", "decimal", "double", "float", "geography", "geometry",
	"int", "interval", "void", "smallint", "string", "timestamp", "timestamp_ntz", "tinyint", "array", "map", "struct",
	"variant", "object"}

const (
	most38 = "99999999999999999999999999999999999999"
	line   = `{"n":null,"at":"2026-01-02T03:04:05.123456Z","inner":{"a":null,"b":[null,"NaN"]}}`
)

// samples have the texts of tables of the stand-in, nil for NULL.
var samples = []warehouses.Kind{
	{Type: "tinyint", Field: column.Integer, Samples: []warehouses.Sample{{"-128", "-128"}, {"127", "127"},
		{nil, "null"}}},
	{Type: "smallint", Field: column.Integer, Samples: []warehouses.Sample{{"-32768", "-32768"}, {"32767", "32767"}}},
	{Type: "int", Field: column.Integer, Samples: []warehouses.Sample{{"-2147483648", "-2147483648"},
		{"2147483647", "2147483647"}}},
	{Type: "bigint", Field: column.Integer, Samples: []warehouses.Sample{{"-9223372036854775808", "-9223372036854775808"},
		{"9223372036854775807", "9223372036854775807"}}},
	{Type: "decimal(38,0)", Field: column.Number, Samples: []warehouses.Sample{{most38, most38}, {"-" + most38,
		"-" + most38}, {nil, "null"}}},
	{Type: "decimal(38,38)", Field: column.Number, Samples: []warehouses.Sample{{"0." + most38, "0." + most38},
		{"0E-38", "0E-38"}}},
	{Type: "decimal(38,0)", Field: column.Integer, Samples: []warehouses.Sample{{most38, "!wrong_type"}, {"7", "7"}}},
	{Type: "float", Field: column.Number, Samples: []warehouses.Sample{{"52.520008", "52.520008"},
		{"16777216", "16777216"},
		{"3.4028235e38", "3.4028235e+38"}, {"1e-45", "1e-45"}, {"NaN", "!wrong_type"}, {"Infinity", "!wrong_type"},
		{"-Infinity", "!wrong_type"}, {nil, "null"}}},
	{Type: "float", Field: column.Integer, Samples: []warehouses.Sample{{"1e10", "10000000000"},
		{"123456792", "123456792"},
		{"0.5", "!wrong_type"}}},
	{Type: "double", Field: column.Number, Samples: []warehouses.Sample{{"0.1", "0.1"}, {"0.30000000000000004",
		"0.30000000000000004"}, {"5e-324", "5e-324"}, {"1.7976931348623157e308", "1.7976931348623157e+308"},
		{"NaN", "!wrong_type"}, {"Infinity", "!wrong_type"}, {"-Infinity", "!wrong_type"}, {"0", "0"}, {nil, "null"}}},
	{Type: "double", Field: column.Integer, Samples: []warehouses.Sample{{"4611686018427387904", "4611686018427387904"},
		{"1e300", "!wrong_type"}}},
	{Type: "double", Field: column.String, Samples: []warehouses.Sample{{"NaN", `"NaN"`}, {"Infinity", `"Infinity"`},
		{"-Infinity", `"-Infinity"`}}},
	{Type: "boolean", Field: column.Boolean, Samples: []warehouses.Sample{{"true", "true"}, {"false", "false"},
		{nil, "null"}}},
	{Type: "string", Field: column.String, Samples: []warehouses.Sample{{"", "null"}, {"n/a", `"n/a"`}, {" ", `" "`},
		{"a\x00é𝄞", `"a\u0000é𝄞"`}, {nil, "null"}}},
	{Type: "binary", Field: column.String, Samples: []warehouses.Sample{{"0x00ff", `"0x00ff"`}, {"0x", `"0x"`},
		{nil, "null"}}},
	{Type: "binary", Field: column.Integer, Samples: []warehouses.Sample{{"0x3132", "!wrong_type"}}},
	{Type: "date", Field: column.Date, Samples: []warehouses.Sample{{"0001-01-01", `"0001-01-01"`},
		{"9999-12-31", `"9999-12-31"`}, {"+10000-01-01", "!wrong_type"}, {"-0044-03-15", "!wrong_type"}, {nil, "null"}}},
	{Type: "timestamp", Field: column.DateTime, Samples: []warehouses.Sample{
		{"1767323045123456", `"2026-01-02T03:04:05.123456Z"`}, {"-62135596800000000", `"0001-01-01T00:00:00Z"`},
		{"-1", `"1969-12-31T23:59:59.999999Z"`}, {"9223372036854775807", "!wrong_type"}, {nil, "null"}}},
	{Type: "timestamp_ntz", Field: column.DateTime, Samples: []warehouses.Sample{
		{"2026-01-02 03:04:05.123456", `"2026-01-02T03:04:05.123456"`}, {"9999-12-31 23:59:59.999999",
			`"9999-12-31T23:59:59.999999"`}, {"+10000-01-01 00:00:00", "!wrong_type"}, {nil, "null"}}},
	{Type: "interval day to second", Field: column.String, Samples: []warehouses.Sample{
		{"INTERVAL '-1 00:00:00.000001' DAY TO SECOND", `"INTERVAL '-1 00:00:00.000001' DAY TO SECOND"`}, {nil, "null"}}},
	{Type: "interval year to month", Field: column.String, Samples: []warehouses.Sample{
		{"INTERVAL '178956970-7' YEAR TO MONTH", `"INTERVAL '178956970-7' YEAR TO MONTH"`}}},
	{Type: "void", Field: column.String, Samples: []warehouses.Sample{{nil, "null"}}},
	{Type: "array<int>", Field: column.JSON, Samples: []warehouses.Sample{{"[1,null]", "[1,null]"}, {"[]", "[]"},
		{nil, "null"}}},
	{Type: "map<string,int>", Field: column.JSON, Samples: []warehouses.Sample{{`{"s":null}`, `{"s":null}`}, {"{}", "{}"},
		{nil, "null"}}},
	{Type: "struct<n:int,at:timestamp,inner:struct<a:int,b:array<double>>>", Field: column.JSON,
		Samples: []warehouses.Sample{{line, line}, {nil, "null"}}},
	{Type: "variant", Field: column.JSON, Samples: []warehouses.Sample{{`{"a":null}`, `{"a":null}`}, {"null", "null"},
		{"9007199254740993", "9007199254740993"}, {nil, "null"}}},
	{Type: "object<a bigint>", Field: column.JSON, Samples: []warehouses.Sample{{`{"a":1}`, `{"a":1}`}}},
	{Type: "geography(4326)", Field: column.String, Samples: []warehouses.Sample{{"POINT(1 2)", `"POINT(1 2)"`},
		{nil, "null"}}},
	{Type: "geometry(any)", Field: column.String, Samples: []warehouses.Sample{{"POINT ZM (1 2 3 4)",
		`"POINT ZM (1 2 3 4)"`}, {nil, "null"}}},
}

func TestRowsReturnEachValueOfEachType(t *testing.T) {
	s := newServer(t, hosted.Authority)
	database := target(t, portOf(s.Server), nil)
	warehouses.EveryKind(t, hosted.Direct(t), database, documented, samples,
		func(kind warehouses.Kind) connection.TableRef {
			table := fixture.DatabricksTable{Schema: "public", Name: fmt.Sprint("t", len(s.Catalogs["shop-1"])),
				Type: "MANAGED", Columns: [][3]string{{"v", kind.Type, "YES"}}}
			for _, sample := range kind.Samples {
				var cell *string
				if sample[0] != nil {
					cell = text(sample[0].(string))
				}
				table.Values = append(table.Values, []*string{cell})
			}
			s.Catalogs["shop-1"] = append(s.Catalogs["shop-1"], table)
			return ref(table.Name)
		})
}
