package sqlserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// documented are the types of https://learn.microsoft.com/en-us/sql/t-sql/data-types/data-types-transact-sql that a
// column can have. rowversion is called timestamp in the catalogue.
var documented = []string{"tinyint", "smallint", "int", "bigint", "bit", "decimal", "numeric", "money", "smallmoney",
	"float", "real", "date", "time", "datetime2", "datetimeoffset", "datetime", "smalldatetime", "char", "varchar", "text",
	"nchar", "nvarchar", "ntext", "binary", "varbinary", "image", "geography", "geometry", "hierarchyid", "json",
	"vector", "timestamp", "sql_variant", "uniqueidentifier", "xml"}

var (
	most38 = strings.Repeat("9", 38)
	raw    = []byte{0, 0xff}
	coded  = []byte("12")
)

func variant(base string, value any) fixture.SQLVariant {
	return fixture.SQLVariant{Base: base, Value: value}
}

var samples = []warehouses.Kind{
	{Type: "tinyint", Field: column.Integer, Samples: []warehouses.Sample{{int64(0), "0"}, {int64(255), "255"},
		{nil, "null"}}},
	{Type: "smallint", Field: column.Integer, Samples: []warehouses.Sample{{int64(-32768), "-32768"},
		{int64(32767), "32767"}, {nil, "null"}}},
	{Type: "int", Field: column.Integer, Samples: []warehouses.Sample{{int64(-1 << 31), "-2147483648"},
		{int64(1<<31 - 1), "2147483647"}, {nil, "null"}}},
	{Type: "bigint", Field: column.Integer, Samples: []warehouses.Sample{{int64(-1 << 63), "-9223372036854775808"},
		{int64(1<<63 - 1), "9223372036854775807"}, {nil, "null"}}},
	{Type: "bit", Field: column.Boolean, Samples: []warehouses.Sample{{true, "true"}, {false, "false"}, {nil, "null"}}},
	{Type: "decimal(38,0)", Field: column.Number, Samples: []warehouses.Sample{{most38, most38}, {"-" + most38,
		"-" + most38}, {"0", "0"}, {nil, "null"}}},
	{Type: "decimal(38,38)", Field: column.Number, Samples: []warehouses.Sample{{"0." + most38, "0." + most38},
		{"-0." + strings.Repeat("0", 37) + "1", "-0." + strings.Repeat("0", 37) + "1"}}},
	{Type: "decimal(38,0)", Field: column.Integer, Samples: []warehouses.Sample{{most38, "!wrong_type"}, {"7", "7"}}},
	{Type: "numeric(9,4)", Field: column.Number, Samples: []warehouses.Sample{{"99999.9999", "99999.9999"},
		{"-0.0001", "-0.0001"}, {nil, "null"}}},
	{Type: "money", Field: column.Number, Samples: []warehouses.Sample{{"922337203685477.5807", "922337203685477.5807"},
		{"-922337203685477.5808", "-922337203685477.5808"}, {"0.0001", "0.0001"}, {nil, "null"}}},
	{Type: "smallmoney", Field: column.Number, Samples: []warehouses.Sample{{"214748.3647", "214748.3647"},
		{"-214748.3648", "-214748.3648"}, {nil, "null"}}},
	{Type: "float", Field: column.Number, Samples: []warehouses.Sample{{0.1, "0.1"}, {0.30000000000000004,
		"0.30000000000000004"}, {1.7976931348623157e308, "1.7976931348623157e+308"}, {2.2250738585072014e-308,
		"2.2250738585072014e-308"}, {0.0, "0"}, {nil, "null"}}}, // it has neither NaN nor infinities
	{Type: "float", Field: column.Integer, Samples: []warehouses.Sample{{float64(1 << 62), "4611686018427387904"},
		{0.5, "!wrong_type"}, {1e300, "!wrong_type"}}},
	{Type: "real", Field: column.Number, Samples: []warehouses.Sample{{float64(float32(52.520008)), "52.520008"},
		{float64(float32(3.4028235e38)), "3.4028235e+38"}, {float64(float32(1.1754944e-38)), "1.1754944e-38"},
		{nil, "null"}}},
	{Type: "real", Field: column.Integer, Samples: []warehouses.Sample{{float64(float32(123456789)), "123456792"}}},
	{Type: "date", Field: column.Date, Samples: []warehouses.Sample{{at("0001-01-01T00:00:00Z"), `"0001-01-01"`},
		{at("9999-12-31T00:00:00Z"), `"9999-12-31"`}, {nil, "null"}}},
	{Type: "time(7)", Field: column.String, Samples: []warehouses.Sample{{at("2026-01-02T23:59:59.9999999Z"),
		`"23:59:59.9999999"`}, {at("2026-01-02T00:00:00Z"), `"00:00:00"`}, {nil, "null"}}},
	{Type: "datetime2(7)", Field: column.DateTime, Samples: []warehouses.Sample{
		{at("0001-01-01T00:00:00.0000001Z"), `"0001-01-01T00:00:00.0000001"`},
		{at("9999-12-31T23:59:59.9999999Z"), `"9999-12-31T23:59:59.9999999"`}, {nil, "null"}}},
	{Type: "datetimeoffset(7)", Field: column.DateTime, Samples: []warehouses.Sample{
		{at("2026-01-02T03:04:05.1234567+14:00"), `"2026-01-01T13:04:05.1234567Z"`},
		{at("2026-01-02T03:04:05-11:30"), `"2026-01-02T14:34:05Z"`}, {nil, "null"}}},
	{Type: "datetime", Field: column.DateTime, Samples: []warehouses.Sample{
		{at("1753-01-01T00:00:00Z"), `"1753-01-01T00:00:00"`}, {at("9999-12-31T23:59:59.997Z"),
			`"9999-12-31T23:59:59.997"`}, {at("2026-01-02T03:04:05.0034Z"), `"2026-01-02T03:04:05.003"`},
		{nil, "null"}}},
	{Type: "smalldatetime", Field: column.DateTime, Samples: []warehouses.Sample{
		{at("1900-01-01T00:00:00Z"), `"1900-01-01T00:00:00"`}, {at("2079-06-06T23:59:00Z"), `"2079-06-06T23:59:00"`},
		{nil, "null"}}},
	{Type: "char(3)", Field: column.String, Samples: []warehouses.Sample{{"ab ", `"ab "`},
		{"   ", `"   "`}, {nil, "null"}}},
	{Type: "varchar(40)", Field: column.String, Samples: []warehouses.Sample{{"é", `"é"`}, {"", "null"},
		{"n/a", `"n/a"`},
		{nil, "null"}}},
	{Type: "text", Field: column.String, Samples: []warehouses.Sample{{"a", `"a"`}, {"", "null"}, {nil, "null"}}},
	{Type: "nchar(3)", Field: column.String, Samples: []warehouses.Sample{{"é  ", `"é  "`}, {nil, "null"}}},
	{Type: "nvarchar(max)", Field: column.String, Samples: []warehouses.Sample{{"𝄞\x00", `"𝄞\u0000"`}, {"", "null"},
		{"#REF!", `"#REF!"`}, {nil, "null"}}},
	{Type: "ntext", Field: column.String, Samples: []warehouses.Sample{{"𝄞", `"𝄞"`}, {nil, "null"}}},
	{Type: "binary(2)", Field: column.String, Samples: []warehouses.Sample{{raw, `"0x00ff"`}, {nil, "null"}}},
	{Type: "varbinary(200)", Field: column.String, Samples: []warehouses.Sample{{raw, `"0x00ff"`}, {[]byte{}, `"0x"`},
		{nil, "null"}}},
	{Type: "varbinary(200)", Field: column.Integer, Samples: []warehouses.Sample{{coded, "!wrong_type"}}},
	{Type: "image", Field: column.String, Samples: []warehouses.Sample{{raw, `"0x00ff"`}, {nil, "null"}}},
	{Type: "geography", Field: column.String, Samples: []warehouses.Sample{{"POINT (1 2)", `"POINT (1 2)"`},
		{"LINESTRING (1 2 3 4, 5 6 NULL 7)", `"LINESTRING (1 2 3 4, 5 6 NULL 7)"`}, {nil, "null"}}},
	{Type: "geometry", Field: column.String, Samples: []warehouses.Sample{{"POINT (1 2 3)", `"POINT (1 2 3)"`},
		{"POINT EMPTY", `"POINT EMPTY"`}, {nil, "null"}}},
	{Type: "hierarchyid", Field: column.String, Samples: []warehouses.Sample{{"/1/2.1/", `"/1/2.1/"`}, {"/", `"/"`},
		{nil, "null"}}},
	{Type: "json", Field: column.JSON, Samples: []warehouses.Sample{{`{"a":9007199254740993}`, `{"a":9007199254740993}`},
		{"null", "null"}, {nil, "null"}}},
	{Type: "vector(2)", Field: column.JSON, Samples: []warehouses.Sample{{"[1.0000000e+000,-2.5000000e-001]",
		"[1.0000000e+000,-2.5000000e-001]"}, {nil, "null"}}},
	{Type: "timestamp", Field: column.String, Samples: []warehouses.Sample{{[]byte("\x00\x00\x00\x00\x00\x00\x07\xd1"),
		`"0x00000000000007d1"`}}},
	{Type: "sql_variant", Field: column.String, Samples: []warehouses.Sample{{"x", `"x"`}, {nil, "null"},
		{variant("binary", coded), `"0x3132"`}, {variant("varbinary", raw), `"0x00ff"`},
		{variant("varchar", strings.Repeat("é", 5000)), `"` + strings.Repeat("é", 5000) + `"`},
		{variant("date", at("2024-02-29T00:00:00Z")), `"2024-02-29"`},
		{variant("time", at("2026-01-02T03:04:05.1234567Z")), `"03:04:05.1234567"`},
		{variant("datetime", at("2026-01-02T03:04:05.997Z")), `"2026-01-02 03:04:05.997"`},
		{variant("uniqueidentifier", "0191A2B3-C4D5-7E6F-8192-A3B4C5D6E7F8"), `"0191A2B3-C4D5-7E6F-8192-A3B4C5D6E7F8"`}}},
	{Type: "sql_variant", Field: column.Number, Samples: []warehouses.Sample{
		{variant("float", 0.30000000000000004), "3.0000000000000004e-001"}, {variant("real", 0.5), "5.0000000000000000e-001"},
		{variant("money", "922337203685477.5807"), "922337203685477.5807"}, {variant("smallmoney", "0.0001"), "0.0001"},
		{variant("decimal", most38), most38}, {variant("bigint", int64(1<<63-1)), "9223372036854775807"},
		{variant("varbinary", coded), "!wrong_type"}, {nil, "null"}}},
	{Type: "sql_variant", Field: column.DateTime, Samples: []warehouses.Sample{
		{variant("datetime2", at("2026-01-02T03:04:05.1234567Z")), `"2026-01-02T03:04:05.1234567"`},
		{variant("datetimeoffset", at("2026-01-02T03:04:05.1234567-11:30")), `"2026-01-02T03:04:05.1234567-11:30"`},
		{variant("smalldatetime", at("2026-01-02T03:04:00Z")), `"2026-01-02T03:04:00"`}}},
	{Type: "uniqueidentifier", Field: column.String, Samples: []warehouses.Sample{
		{"0191A2B3-C4D5-7E6F-8192-A3B4C5D6E7F8", `"0191A2B3-C4D5-7E6F-8192-A3B4C5D6E7F8"`},
		{"00000000-0000-0000-0000-000000000000", `"00000000-0000-0000-0000-000000000000"`}, {nil, "null"}}},
	{Type: "xml", Field: column.String, Samples: []warehouses.Sample{
		{`<a b="1">é</a>`, `"\u003ca b=\"1\"\u003eé\u003c/a\u003e"`},
		{"", "null"}, {nil, "null"}}},
}

func TestRowsReturnEachValueOfEachType(t *testing.T) {
	s := newServer(t, fixture.SQLServerPlain)
	target := s.target(t, map[string]any{"tls": "disable", "tls_ca": nil})
	warehouses.EveryKind(t, direct(t), target, documented, samples, func(kind warehouses.Kind) connection.TableRef {
		table := fixture.SQLServerTable{Schema: "dbo", Name: fmt.Sprint("t", len(s.Databases["Sales"])), Type: "U",
			Columns: []fixture.SQLServerColumn{{Name: "v", Type: kind.Type, Nullable: slices.ContainsFunc(kind.Samples,
				func(sample warehouses.Sample) bool { return sample[0] == nil })}}}
		for _, sample := range kind.Samples {
			table.Values = append(table.Values, []any{sample[0]})
		}
		s.Databases["Sales"] = append(s.Databases["Sales"], table)
		return ref(table.Name)
	})
}
