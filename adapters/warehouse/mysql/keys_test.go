package mysql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

// keys are columns with values of which each is another one.
var keys = map[string][]string{
	"tinyint":    {"-128", "127", "0", "1", "-1", "NULL"},
	"tinyint(1)": {"-1", "5", "0", "1", "-128", "2"},
	"bigint unsigned": {"18446744073709551615", "9223372036854775808", "9223372036854775807", "0",
		"10", "9"},
	"int(8) zerofill":    {"42", "7", "0", "100", "4294967295", "8"},
	"smallint":           {"-32768", "32767", "0", "10", "9", "NULL"},
	"mediumint unsigned": {"16777215", "0", "1", "10", "9", "NULL"},
	"int":                {"-2147483648", "2147483647", "0", "10", "9", "NULL"},
	"datetime": {"'0000-00-00'", "'9999-12-31 23:59:59'", "'2024-02-29'", "'2024-02-29 00:00:01'",
		"'1000-01-01'", "NULL"},
	"time":       {"'-838:59:59'", "'838:59:59'", "'00:00:00'", "'10:00:00'", "'09:00:00'", "NULL"},
	"tinytext":   {"'a'", "'A'", "'10'", "'9'", "''", "NULL"},
	"mediumtext": {"'a'", "'A'", "'10'", "'9'", "'😀'", "NULL"},
	"longtext":   {"'a'", "'A'", "'10'", "'9'", "'b '", "NULL"},
	"json":       {"'1'", "'{}'", "'[]'", "'\"a\"'", "'null'", "NULL"},
	"tinyblob":   {"x'00'", "x'0000'", "x'6162'", "x'fe'", "x'ff01'", "NULL"},
	"mediumblob": {"x'00'", "x'0000'", "x'6162'", "x'fe'", "x'ff01'", "NULL"},
	"longblob":   {"x'00'", "x'0000'", "x'6162'", "x'fe'", "x'ff01'", "NULL"},
	"inet4":      {"'1.2.3.4'", "'10.0.0.0'", "'9.0.0.0'", "'0.0.0.0'", "'255.255.255.255'", "NULL"},
	"linestring": {"LINESTRING(POINT(0, 0), POINT(1, 1))", "LINESTRING(POINT(0, 0), POINT(1, 2))",
		"NULL", "NULL", "NULL", "NULL"},
	"year":           {"1901", "2155", "2000", "0", "1999", "NULL"},
	"bit(64)":        {"0", "1", "18446744073709551615", "9223372036854775808", "256", "NULL"},
	"bit(4)":         {"0", "1", "15", "8", "2", "9"},
	"decimal(65,30)": {"1e-30", "-1e-30", "99999999999999999999999999999999999", "0", "10", "9"},
	"decimal(65,0)": {"10", "9", "-1", strings.Repeat("9", 65), "1" + strings.Repeat("0", 64),
		"NULL"},
	"float": {"0.1", "0.2", "52.520008", "52.520004", "16777216", "-3.4e38"},
	"double": {"0.1", "0.30000000000000004", "0.3", "1.7976931348623157e308", "5e-324",
		"-1"},
	"date": {"'0000-00-00'", "'1000-01-01'", "'9999-12-31'", "'2024-02-29'",
		"'2024-00-00'", "NULL"},
	"datetime(6)": {"'2024-02-29 12:00:00'", "'2024-02-29 12:00:00.000001'", "'0000-00-00'",
		"'9999-12-31 23:59:59.999999'", "'1000-01-01'", "NULL"},
	"timestamp(6) NULL": {"'2024-10-27 00:30:00'", "'2024-10-27 01:30:00'",
		"'2024-10-27 01:30:00.5'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'", "NULL"},
	"time(6)": {"'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:00.000001'",
		"'100:00:00'", "'20:00:00'"},
	"char(4)":                          {"'a'", "'A'", "'b'", "''", "'é'", "'e'"},
	"varchar(40)":                      {"'a'", "'A'", "'a '", "'ä'", "'10'", "'9'"},
	"varchar(41) UNIQUE":               {"'a'", "'b'", "'ß'", "'10'", "'9'", "NULL"},
	"varchar(42) CHARACTER SET latin1": {"'a'", "'A'", "'é'", "'E'", "'ÿ'", "NULL"},
	"varchar(43) COLLATE utf8mb4_bin":  {"'a'", "'a '", "'A'", "'😀'", "'ｚ'", "''"},
	"varchar(44) CHARACTER SET cp932":  {"'表'", "'ソ'", "'a'", "'A'", "'〜'", "NULL"},
	"text": {"repeat('a', 3000)", "concat(repeat('a', 2999), 'b')", "concat(repeat('a', 2999), 'B')", "'A'", "'?'",
		"NULL"},
	"varchar(767)": {"concat(repeat('é', 766), 'z')", "concat(repeat('é', 766), 'a')",
		"concat(repeat('é', 766), 'b')", "concat(repeat('é', 766), 'A')", "'a'", "'b'"},
	"varchar(768) UNIQUE": {"concat(repeat('é', 767), 'z')", "concat(repeat('é', 767), 'a')",
		"concat(repeat('é', 767), 'b')", "'ß'", "'a'", "NULL"},
	"varbinary(3000)": {"concat(repeat('a', 2999), 'z')", "concat(repeat('a', 2999), 'a')",
		"concat(repeat('a', 2999), 'b')", "repeat('a', 2999)", "x'00'", "NULL"},
	"varchar(8000) UNIQUE": {"'a'", "'b'", "repeat('a', 1200)", "concat(repeat('a', 1199), 'b')", "'ß'", "NULL"},
	"varbinary(3001) UNIQUE": {"concat(repeat('a', 2999), 'z')", "concat(repeat('a', 2999), 'a')",
		"concat(repeat('a', 2999), 'b')", "repeat('a', 2999)", "x'00'", "NULL"},
	"binary(4)": {"x'00'", "x'6162'", "x'fe'", "x'ff01'", "x'616200ff'", "NULL"},
	"binary(16)": {"unhex('0191a2b3c4d57e6f8192a3b4c5d6e7f8')",
		"unhex('00000000000000000000000000000000')", "unhex('ffffffffffffffffffffffffffffffff')",
		"unhex('0191a2b3c4d57e6f8192a3b4c5d6e7f9')", "unhex('27273f5c00000000000000000000000a')", "NULL"},
	"varbinary(40)": {"x'00'", "x'6162'", "x'61'", "x'fe'", "x'ff01'", "''"},
	"blob": {"x'00'", "x'0000'", "repeat('a', 3000)", "concat(repeat('a', 2999), 'b')",
		"concat(repeat('a', 2999), 'a', char(0))", "NULL"},
	"enum('z','b','a','')": {"'z'", "'b'", "'a'", "''", "'none of them'", "NULL"},
	"set('z','b','a')":     {"'z'", "'b'", "'z,b'", "''", "'a'", "'z,b,a'"},
	"inet6":                {"'::1'", "'::'", "'ffff::'", "'::ffff:1.2.3.4'", "'10::'", "'9::'"},
	"uuid": {"'61f0c404-5cb3-11e7-907b-a6006ad3dba0'",
		"'00000000-0000-0000-0000-000000000001'", "'01000000-0000-0000-0000-000000000000'",
		"'61f0c405-5cb3-11e6-907b-a6006ad3dba0'", "'61f0c404-5cb3-11e8-807b-a6006ad3dba0'", "NULL"},
	"point": {"POINT(1, 2)", "POINT(2, 1)", "POINT(0, 0)", "POINT(1, 1)", "POINT(1, 3)",
		"NULL"},
}

func TestPagesByAKeyOfAnyTypeReturnEveryRowOnce(t *testing.T) {
	s := shared(t)
	table := warehouses.NewKeyTable("int", keys, quoted)
	refusedTexts := table.Named("point", "linestring")
	same := table.Named("enum") // the value that is none has the text of an empty one
	for _, sql := range []string{
		"CREATE TABLE shop.`keys` (" + table.Columns + ") DEFAULT CHARACTER SET utf8mb4",
		"INSERT INTO shop.`keys` VALUES " + table.Rows,
		"CREATE VIEW shop.keys_seen AS SELECT * FROM shop.`keys`",
		"GRANT SELECT ON shop.`keys` TO reader", "GRANT SELECT ON shop.keys_seen TO reader",
	} {
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		for _, sql := range []string{"REVOKE SELECT ON shop.`keys` FROM reader", "DROP VIEW shop.keys_seen",
			"REVOKE SELECT ON shop.keys_seen FROM reader", "DROP TABLE shop.`keys`"} {
			if _, err := s.admin.Exec(sql); err != nil {
				t.Error(err)
			}
		}
	})
	for _, name := range []string{"keys", "keys_seen"} {
		t.Run(name, func(t *testing.T) { warehouses.Keys(t, direct(t), s.target(t, nil), ref(name), refusedTexts...) })
	}
	t.Run("and no value is lost", func(t *testing.T) {
		for c, texts := range warehouses.Lossless(t, direct(t), s.target(t, nil), ref("keys"), table.Nulls, same...) {
			if !slices.Contains(same, c.Name) {
				s.storesAgain(t, c, texts)
			}
		}
	})
}

// storesAgain checks that texts of a column of shop.keys, stored in a column of its type, are the values that it has.
func (s *server) storesAgain(t *testing.T, c connection.Column, texts map[int]string) {
	t.Helper()
	exec := func(sql string) {
		t.Helper()
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
	k := quoted(c.Name)
	exec("CREATE TABLE shop.again AS SELECT n, " + k + " FROM shop.`keys` WHERE n < 0")
	defer exec("DROP TABLE shop.again")
	for n, text := range texts {
		literal := "'" + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "'", "''") + "'"
		switch {
		case strings.Contains(c.DatabaseType, "binary"), strings.Contains(c.DatabaseType, "blob"):
			literal = "UNHEX('" + strings.TrimPrefix(text, "0x") + "')"
		case c.DatabaseType == "point", c.DatabaseType == "linestring":
			literal = "ST_GeomFromText(" + literal + ")"
		case strings.HasPrefix(c.DatabaseType, "bit"):
			literal = text
		}
		exec(fmt.Sprintf("INSERT INTO shop.again VALUES (%d, %s)", n, literal))
	}
	var differ int
	if err := s.admin.QueryRow("SELECT COUNT(*) FROM shop.again AS a JOIN shop.`keys` AS b USING (n) WHERE NOT (a." + k +
		" <=> b." + k + " AND CAST(a." + k + " AS BINARY) <=> CAST(b." + k + " AS BINARY))").Scan(&differ); err != nil {
		t.Fatal(err)
	}
	if differ > 0 {
		t.Errorf("%s, a %s: %d texts are not the values: %.300q", c.Name, c.DatabaseType, differ, fmt.Sprint(texts))
	}
}
