package sqlserver_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// keys are columns with values of which each is another one.
var keys = map[string][]any{
	"tinyint":       {int64(255), int64(0), int64(10), int64(9), nil},
	"bigint":        {int64(1 << 62), int64(-1 << 62), int64(1<<53 + 1), int64(1 << 53), nil},
	"bit":           {true, false, nil},
	"decimal(38,2)": {"10.10", "9.00", "-1.00", "999999999999999999999999999999999999.99", nil},
	"money":         {"922337203685477.5807", "-0.0001", "10.0000", "9.0000", nil},
	"float":         {0.1, 0.30000000000000004, 0.3, -1e300, 1e16},
	"real":          {float64(float32(0.1)), float64(float32(52.520008)), 0.5, -3.25, nil},
	"date":          {at("0001-01-01T00:00:00Z"), at("9999-12-31T00:00:00Z"), at("2024-02-29T00:00:00Z"), nil},
	"datetime": {at("1753-01-01T00:00:00Z"), at("2026-02-28T23:59:59.5Z"),
		at("2026-02-28T23:59:59.5034Z"), nil},
	"datetime2(7)": {at("2026-01-02T03:04:05.1234567Z"), at("2026-01-02T03:04:05.1234568Z"),
		at("0001-01-01T00:00:00Z"), nil},
	"datetimeoffset(3)": {at("2026-01-02T03:04:05.125+02:00"), at("2026-01-02T03:04:05-11:30"),
		at("2026-01-02T02:04:05.125Z"), nil},
	"time(0)": {at("2026-01-02T08:30:00Z"), at("2026-01-02T23:59:59Z"), at("2026-01-02T00:00:00Z"), nil},
	"uniqueidentifier": {"01000000-0000-0000-0000-000000000000", "00000001-0000-0000-0000-000000000000",
		"00000000-0000-0000-0000-000000000001", "00000000-0000-0100-0000-000000000000",
		"0191A2B3-C4D5-7E6F-8192-A3B4C5D6E7F8"},
	"char(3)":        {"ab ", "AB ", "abc", "Abc", nil},
	"varchar(40)":    {"a", "A", "a ", "é", "É"},
	"nvarchar(40)":   {"a", "A", "ä", "Ä", "𝄞"},
	"nvarchar(max)":  {"a", "b", "10", "9", nil},
	"binary(2)":      {[]byte{0, 0}, []byte{0x61, 0x62}, []byte{0xfe, 0}, []byte{0xff, 1}, nil},
	"varbinary(200)": {[]byte{}, []byte{0}, []byte{0, 0}, []byte{0xff, 1}, []byte{0xfe}},
	"timestamp": {[]byte("\x00\x00\x00\x00\x00\x00\x07\xd1"), []byte("\x00\x00\x00\x00\x00\x00\x07\xd2"),
		[]byte("\x00\x00\x00\x00\x00\x00\xff\xfe")},
	"int":            {int64(1<<31 - 1), int64(-1 << 31), int64(10), int64(9), nil},
	"smallint":       {int64(32767), int64(-32768), int64(10), int64(9), nil},
	"smallmoney":     {"214748.3647", "-0.0001", "10.0000", "9.0000", nil},
	"numeric(10,3)":  {"10.100", "9.000", "-1.000", nil},
	"smalldatetime":  {at("1900-01-01T00:00:00Z"), at("2026-02-28T23:59:00Z"), at("2079-06-06T23:59:00Z"), nil},
	"nchar(3)":       {"ab ", "AB ", "abc", "Abc", nil},
	"varchar(max)":   {"a", "b", "10", "9", nil},
	"varbinary(max)": {[]byte{}, []byte{0}, []byte{0, 0}, []byte{0xff, 1}, nil},
	"ntext":          {"a", "b", "c"},
	"image":          {[]byte{0}, []byte{1}, []byte{2}},
	"geometry":       {"POINT (1 2)", "POINT (2 1)", nil},
	"text":           {"a", "b", "c"},
	"xml":            {"<a/>", "<b/>", nil},
	"json":           {"{}", "[]", nil},
	"hierarchyid":    {"/1/", "/2/", nil},
	"sql_variant":    {"1", "x", nil},
	"geography":      {"POINT (1 2)", "POINT (2 1)", nil},
}

// unordered are types by which rows cannot be in order.
var unordered = []string{"text", "xml", "json", "hierarchyid", "sql_variant", "geography", "geometry", "ntext",
	"image"}

func TestPagesByAKeyOfAnyTypeReturnEveryRowOnce(t *testing.T) {
	s := newServer(t, fixture.SQLServerPlain)
	target := s.target(t, map[string]any{"tls": "disable", "tls_ca": nil})
	for declaration, values := range keys {
		table := fixture.SQLServerTable{Schema: "dbo", Name: "by " + declaration, Type: "U",
			Columns: []fixture.SQLServerColumn{{Name: "n", Type: "int"}, {Name: "a ]key]", Type: declaration,
				Nullable: slices.Contains(values, nil)}}}
		for i, v := range values {
			table.Values = append(table.Values, []any{int64(i + 1), v})
		}
		s.Databases["Sales"] = append(s.Databases["Sales"], table)
		var refusals []string
		if slices.Contains(unordered, declaration) {
			refusals = []string{"a ]key]"}
		}
		nulls := map[string][]int{}
		for i, v := range values {
			if v == nil {
				nulls["a ]key]"] = append(nulls["a ]key]"], i+1)
			}
		}
		t.Run(declaration, func(t *testing.T) {
			warehouses.Keys(t, direct(t), target, ref(table.Name), refusals...)
			warehouses.Lossless(t, direct(t), target, ref(table.Name), nulls)
		})
	}
	t.Run("by an index that permits each value once, without anything else", func(t *testing.T) {
		table := fixture.SQLServerTable{Schema: "dbo", Name: "unique", Type: "U",
			Columns: []fixture.SQLServerColumn{{Name: "n", Type: "int", Unique: true},
				{Name: "mail", Type: "varchar(40)", Unique: true}}}
		for i := range 5 {
			table.Values = append(table.Values, []any{int64(i + 1), fmt.Sprintf("%c@example.com", 'a'+i)})
		}
		s.Databases["Sales"] = append(s.Databases["Sales"], table)
		warehouses.Keys(t, direct(t), target, ref("unique"))
	})
}
