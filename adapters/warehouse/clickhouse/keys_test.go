package clickhouse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

// keys are columns with values of which each is another one.
var keys = map[string][]string{
	"Int8":                      {"-128", "127", "0", "10", "9"},
	"UInt64":                    {"18446744073709551615", "9223372036854775808", "9223372036854775807", "0", "10"},
	"Nullable(Int64)":           {"9007199254740993", "9007199254740992", "-9223372036854775808", "9", "NULL"},
	"Float32":                   {"0.1", "nan", "inf", "-inf", "52.520008"},
	"Nullable(Float64)":         {"0.1", "nan", "0.30000000000000004", "0.3", "NULL"},
	"Decimal(18,2)":             {"'10.10'", "'9'", "'-1'", "'0'", "'100'"},
	"Date":                      {"'2024-02-29'", "'1970-01-02'", "'2100-01-01'", "'2024-03-01'", "'1999-12-31'"},
	"DateTime('Europe/Berlin')": {"1729989000", "1729992600", "1729996200", "1", "1729989001"},
	"Nullable(DateTime)":        {"1729989000", "1729992600", "1729996200", "1", "NULL"},
	"String":                    {"'a'", "'A'", "'10'", "unhex('ff00fe')", "''"},
	"Nullable(String)":          {"unhex('fe')", "unhex('ff')", "'é'", "'9'", "NULL"},
	"FixedString(4)":            {"'a'", "unhex('ff')", "'abcd'", "''", "unhex('61000001')"},
	"UUID": {"'61f0c404-5cb3-11e7-907b-a6006ad3dba0'",
		"'00000000-0000-0000-0000-000000000001'", "'01000000-0000-0000-0000-000000000000'",
		"'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'61f0c405-5cb3-11e7-907b-a6006ad3dba0'"},
	"Nullable(Enum8('a' = -1, 'b' = 2, 'c' = 3, 'd' = 4))":    {"'d'", "'b'", "'c'", "'a'", "NULL"},
	"Enum8('z' = -1, 'b' = 0, 'a' = 1, '' = 2, 'it\\'s' = 3)": {"'z'", "'b'", "'a'", "''", "'it\\'s'"},
	"Int16":                    {"-32768", "32767", "0", "10", "9"},
	"Int32":                    {"-2147483648", "2147483647", "0", "10", "9"},
	"UInt8":                    {"255", "1", "0", "10", "9"},
	"UInt16":                   {"65535", "1", "0", "10", "9"},
	"UInt32":                   {"4294967295", "1", "0", "10", "9"},
	"Decimal(9,4)":             {"'0.0001'", "'-0.0001'", "'99999.9999'", "'0'", "'10'"},
	"Nullable(Decimal(38,10))": {"'0.0000000001'", "'-1'", "'1234567.1'", "'10'", "NULL"},
	"Nullable(Date)":           {"'2024-02-29'", "'1970-01-02'", "'2100-01-01'", "'1999-12-31'", "NULL"},
	"Nullable(UUID)": {"'61f0c404-5cb3-11e7-907b-a6006ad3dba0'",
		"'00000000-0000-0000-0000-000000000001'", "'01000000-0000-0000-0000-000000000000'",
		"'ffffffff-ffff-ffff-ffff-ffffffffffff'", "NULL"},
	"Nullable(FixedString(2))":                                   {"'a'", "unhex('ff')", "'ab'", "''", "NULL"},
	"Enum16('a' = -1000, 'b' = 1000, 'c' = 3, 'd' = 4, 'e' = 5)": {"'e'", "'b'", "'c'", "'a'", "'d'"},
	"Array(String)":       {"['a']", "[]", "['b']", "['a','b']", "['\\'']"},
	"Tuple(Int8, String)": {"(1,'a')", "(2,'a')", "(1,'b')", "(10,'')", "(9,'')"},
}

func TestPagesByAKeyOfAnyTypeReturnEveryRowOnce(t *testing.T) {
	s := shared(t)
	table := warehouses.NewKeyTable("Int32", keys, quoted)
	refusedTexts := table.Named("Array", "Tuple")
	// An hour of a year has the texts of another, and bytes that are no text are replaced.
	same := table.Named("DateTime", "Nullable(DateTime", "String", "Nullable(String", "FixedString",
		"Nullable(FixedString")
	for _, sql := range []string{
		"CREATE TABLE shop.keys (" + table.Columns + ") ENGINE = Log",
		"INSERT INTO shop.keys VALUES " + table.Rows,
	} {
		if _, err := s.ask(sql); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		if _, err := s.ask("DROP TABLE shop.keys"); err != nil {
			t.Error(err)
		}
	})
	warehouses.Keys(t, direct(t), s.target(t, nil), ref("keys"), refusedTexts...)
	for c, texts := range warehouses.Lossless(t, direct(t), s.target(t, nil), ref("keys"), table.Nulls, same...) {
		if slices.Contains(slices.Concat(same, refusedTexts), c.Name) {
			continue
		}
		bare, isNullable := strings.CutPrefix(c.DatabaseType, "Nullable(")
		if isNullable {
			bare = strings.TrimSuffix(bare, ")")
		}
		for n, text := range texts {
			isValue := quoted(c.Name) + " = CAST('" + strings.ReplaceAll(text, "'", "''") + "' AS " + bare + ")"
			if text == "nan" {
				isValue = "isNaN(" + quoted(c.Name) + ")"
			}
			found, err := s.ask(fmt.Sprintf("SELECT count() FROM shop.keys WHERE n = %d AND %s", n, isValue))
			if err != nil || strings.TrimSpace(found) != "1" {
				t.Errorf("a %s: %q is not the value of row %d: %s, %v", c.DatabaseType, text, n, found, err)
			}
		}
	}
}
