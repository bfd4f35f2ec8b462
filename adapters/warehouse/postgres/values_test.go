package postgres_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestValuesAreExactInTheTypeOfTheirFieldOrReported(t *testing.T) {
	s := shared(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		`CREATE SCHEMA exact`, `CREATE TYPE exact.pair AS (n integer, t text)`, `CREATE DOMAIN exact.list AS text[]`,
		`CREATE TYPE exact.size AS ENUM ('a', 'b"c')`,
		`CREATE TABLE exact.values (n integer, r real, d double precision, num numeric, ok boolean, born date,
			tags text[], numbers bigint[], grid integer[][], sizes exact.size[], pair exact.pair, list exact.list,
			moments timestamptz[], doc jsonb, span int4range)`,
		`INSERT INTO exact.values VALUES
			(1, 'NaN', 4611686018427387904, '1e-30', true, 'infinity', '{}', '{}', '{}', '{}', '(1,"a,b")', '{}', '{}',
				'{"a": 1.0}', '[1,2)'),
			(2, 'Infinity', 0.1, 9007199254740993, false, '2024-02-29', '{a,"b,c",NULL}', '{9007199254740993,NULL}',
				'{{1,2},{3,4}}', '{a,"b\"c"}', '(,)', '{x}', '{"2024-01-01 00:00Z"}', 'null', 'empty'),
			(3, 52.520008, 'NaN', 'NaN', NULL, '0044-03-15 BC', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		`GRANT USAGE ON SCHEMA exact TO reader`, `GRANT SELECT ON exact.values TO reader`,
	} {
		exec(sql)
	}
	t.Cleanup(func() { exec(`DROP SCHEMA exact CASCADE`) })
	warehouses.Exact(t, direct(t), s.target(t, nil), connection.TableRef{Schema: "exact", Name: "values"},
		[]warehouses.Values{
			{Column: "r", Field: column.Number, Want: []string{"!wrong_type", "!wrong_type", "52.520008"}},
			{Column: "d", Field: column.Number, Want: []string{"4611686018427387904", "0.1",
				"!wrong_type"}},
			{Column: "d", Field: column.Integer, Want: []string{"4611686018427387904", "!wrong_type",
				"!wrong_type"}},
			{Column: "num", Field: column.Number, Want: []string{"0.000000000000000000000000000001", "9007199254740993",
				"!wrong_type"}},
			{Column: "num", Field: column.String, Want: []string{`"0.000000000000000000000000000001"`,
				`"9007199254740993"`, `"NaN"`}},
			{Column: "ok", Field: column.Boolean, Want: []string{"true", "false", "null"}},
			{Column: "ok", Field: column.Integer, Want: []string{"!wrong_type", "!wrong_type", "null"}},
			{Column: "born", Field: column.Date, Want: []string{"!wrong_type", `"2024-02-29"`, "!wrong_type"}},
			{Column: "tags", Field: column.JSON, Want: []string{"[]", `["a","b,c",null]`, "null"}},
			{Column: "tags", Field: column.String, Want: []string{`"[]"`, `"[\"a\",\"b,c\",null]"`, "null"}},
			{Column: "numbers", Field: column.JSON, Want: []string{"[]", "[9007199254740993,null]", "null"}},
			{Column: "grid", Field: column.JSON, Want: []string{"[]", "[[1,2],[3,4]]", "null"}},
			{Column: "sizes", Field: column.JSON, Want: []string{"[]", `["a","b\"c"]`, "null"}},
			{Column: "pair", Field: column.JSON, Want: []string{`{"n":1,"t":"a,b"}`, `{"n":null,"t":null}`, "null"}},
			{Column: "list", Field: column.JSON, Want: []string{"[]", `["x"]`, "null"}},
			{Column: "moments", Field: column.JSON, Want: []string{"[]", `["2024-01-01T00:00:00+00:00"]`, "null"}},
			{Column: "doc", Field: column.JSON, Want: []string{`{"a":1.0}`, "null", "null"}},
			{Column: "span", Field: column.JSON, Want: []string{"!wrong_type", "!wrong_type", "null"}},
			{Column: "span", Field: column.String, Want: []string{`"[1,2)"`, `"empty"`, "null"}},
		})
}

func TestSettingsOfARoleChangeNoValue(t *testing.T) {
	s := shared(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
	exec(`CREATE TABLE shop.set (n integer, r real, d double precision, raw bytea, born date)`)
	exec(`INSERT INTO shop.set VALUES (1, 52.520008, 0.30000000000000004, '12', '2024-02-01')`)
	exec(`GRANT SELECT ON shop.set TO reader`)
	for name, value := range map[string]string{"extra_float_digits": "0", "bytea_output": "escape",
		"datestyle": "'SQL, DMY'"} {
		exec(`ALTER ROLE reader SET ` + name + ` = ` + value)
		t.Cleanup(func() { exec(`ALTER ROLE reader RESET ` + name) })
	}
	t.Cleanup(func() { exec(`DROP TABLE shop.set`) })
	warehouses.Exact(t, direct(t), s.target(t, nil), ref("set"), []warehouses.Values{
		{Column: "r", Field: column.Number, Want: []string{"52.520008"}},
		{Column: "d", Field: column.Number, Want: []string{"0.30000000000000004"}},
		{Column: "raw", Field: column.String, Want: []string{`"\\x3132"`}},
		{Column: "raw", Field: column.Integer, Want: []string{"!wrong_type"}},
		{Column: "born", Field: column.Date, Want: []string{`"2024-02-01"`}},
	})
}
