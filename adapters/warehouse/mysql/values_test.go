package mysql_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestValuesAreExactInTheTypeOfTheirFieldOrReported(t *testing.T) {
	s := shared(t)
	for _, sql := range []string{
		"CREATE TABLE shop.`values` (n int, t1 tinyint(1), f float, d double, big bigint unsigned, " +
			"price decimal(10,2), b bit(1), born date, doc json, tags set('a', 'b'), word varchar(20), " +
			"filled int(8) zerofill, y year)",
		"INSERT INTO shop.`values` VALUES (1, 1, 52.520008, 0.1, 18446744073709551615, 7.50, 1, '2024-02-29', '[1]', " +
			"'a,b', 'n/a', 42, 0), (2, 5, 16777216, 1e300, 9223372036854775807, -0.01, 0, '0000-00-00', 'null', '', '#REF!', 0, 1901), " +
			"(3, 0, -3.4e38, 4611686018427387904, 0, 0, 1, NULL, NULL, 'b', 'NaN', 4294967295, 2155), " +
			"(4, -1, NULL, -1e15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		"GRANT SELECT ON shop.`values` TO reader",
	} {
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, sql := range []string{"REVOKE SELECT ON shop.`values` FROM reader", "DROP TABLE shop.`values`"} {
			if _, err := s.admin.Exec(sql); err != nil {
				t.Error(err)
			}
		}
	})
	warehouses.Exact(t, direct(t), s.target(t, nil), ref("values"), []warehouses.Values{
		{Column: "t1", Field: column.Integer, Want: []string{"1", "5", "0", "-1"}},
		{Column: "t1", Field: column.Number, Want: []string{"1", "5", "0", "-1"}},
		{Column: "t1", Field: column.Boolean, Want: []string{"true", "!wrong_type", "false", "!wrong_type"}},
		{Column: "t1", Field: column.String, Want: []string{`"1"`, `"5"`, `"0"`, `"-1"`}},
		{Column: "f", Field: column.Number, Want: []string{"52.520008", "16777216", "-3.4e+38", "null"}},
		{Column: "f", Field: column.Integer, Want: []string{"!wrong_type", "16777216", "!wrong_type", "null"}},
		{Column: "d", Field: column.Number, Want: []string{"0.1", "1e300", "4611686018427387904",
			"-1000000000000000"}},
		{Column: "d", Field: column.Integer, Want: []string{"!wrong_type", "!wrong_type", "4611686018427387904",
			"-1000000000000000"}},
		{Column: "big", Field: column.Integer, Want: []string{"!wrong_type", "9223372036854775807", "0", "null"}},
		{Column: "big", Field: column.Number, Want: []string{"18446744073709551615", "9223372036854775807", "0",
			"null"}},
		{Column: "price", Field: column.Number, Want: []string{"7.50", "-0.01", "0.00", "null"}},
		{Column: "b", Field: column.Boolean, Want: []string{"true", "false", "true", "null"}},
		{Column: "born", Field: column.Date, Want: []string{`"2024-02-29"`, "!wrong_type", "null", "null"}},
		{Column: "doc", Field: column.JSON, Want: []string{"[1]", "null", "null", "null"}},
		{Column: "tags", Field: column.String, Want: []string{`"a,b"`, "null", `"b"`, "null"}},
		{Column: "filled", Field: column.Integer, Want: []string{"42", "0", "4294967295", "null"}},
		{Column: "filled", Field: column.String, Want: []string{`"00000042"`, `"00000000"`, `"4294967295"`, "null"}},
		{Column: "y", Field: column.Integer, Want: []string{"0", "1901", "2155", "null"}},
		{Column: "word", Field: column.Number, Want: []string{"!wrong_type", "!wrong_type", "!wrong_type", "null"}},
		{Column: "word", Field: column.String, Want: []string{`"n/a"`, `"#REF!"`, `"NaN"`, "null"}},
	})
}
