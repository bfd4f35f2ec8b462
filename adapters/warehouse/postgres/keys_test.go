package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

// keys are columns with values of which each is another one, as the type distinguishes them or as texts.
var keys = map[string][]string{
	"smallint": {"-32768", "32767", "0", "10", "9", "NULL"},
	"bigint": {"9223372036854775807", "-9223372036854775808", "9007199254740993",
		"9007199254740992", "0", "1"},
	"numeric":          {"1", "1.0", "1.00", "'NaN'", "99999999999999999999999999999999999999", "0.1"},
	"numeric(20,2)":    {"'10.10'", "9", "-1", "0", "100", "NULL"},
	"real":             {"0.1", "'NaN'", "'Infinity'", "'-Infinity'", "16777216", "52.520008"},
	"double precision": {"0.1", "'NaN'", "'0'", "'-0'", "0.30000000000000004", "0.3"},
	"money":            {"1.5", "-1", "1000000", "0", "20", "3"},
	"boolean":          {"true", "false", "NULL"},
	"date": {"'0044-03-15 BC'", "'infinity'", "'-infinity'", "'2024-02-29'", "'9999-12-31'",
		"NULL"},
	"timestamp": {"'2024-10-27 02:30:00.000001'", "'2024-10-27 02:30:00'", "'0044-03-15 BC'",
		"'infinity'", "'2024-01-01'", "NULL"},
	"timestamptz": {"'2024-10-27 00:30:00Z'", "'2024-10-27 01:30:00Z'", "'-infinity'",
		"'0044-03-15 BC'", "'2024-01-01'", "NULL"},
	"time":                        {"'00:00'", "'24:00'", "'12:00:00.000001'", "'12:00'", "'01:00'", "NULL"},
	"timetz":                      {"'12:00+00'", "'12:00+01'", "'13:00+01'", "'11:00-01'", "'00:00+14'", "NULL"},
	"interval":                    {"'1 day'", "'24 hours'", "'1 month'", "'30 days'", "'-1 second'", "NULL"},
	"text":                        {"'a'", "'A'", "'10'", "'9'", "''", "repeat('é', 2000)"},
	"varchar(40)":                 {"'a'", "'a '", "'ä'", "'z'", "'_'", "NULL"},
	"char(4)":                     {"'a'", "'A'", "'ab'", "''", "'é'", "NULL"},
	`text COLLATE "de-x-icu"`:     {"'a'", "'A'", "'ä'", "'Z'", "'ae'", "NULL"},
	`text COLLATE keyed.ignoring`: {"'a'", "'A'", "'b'", "'B'", "'á'", "'Á'"},
	"uuid": {"'61f0c404-5cb3-11e7-907b-a6006ad3dba0'",
		"'00000000-0000-0000-0000-000000000001'", "'01000000-0000-0000-0000-000000000000'",
		"'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'61f0c405-5cb3-11e7-907b-a6006ad3dba0'", "NULL"},
	"bytea": {"'\\x00'", "'\\x6162'", "'\\xfe'", "'\\xff01'", "''", "'\\x0000'"},
	"inet":  {"'10.0.0.1'", "'10.0.0.1/8'", "'9.0.0.1'", "'::1'", "'::ffff:1.2.3.4'", "NULL"},
	"cidr":  {"'10.0.0.0/8'", "'10.0.0.0/16'", "'9.0.0.0/8'", "'::/0'", "'::1/128'", "NULL"},
	"macaddr": {"'08:00:2b:01:02:03'", "'08:00:2b:01:02:04'", "'00:00:00:00:00:00'",
		"'ff:ff:ff:ff:ff:ff'", "'10:00:00:00:00:00'", "NULL"},
	"bit(4)":         {"B'0000'", "B'1111'", "B'0101'", "B'1000'", "B'0001'", "NULL"},
	"varbit":         {"B'0'", "B'00'", "B'1'", "B'0101'", "B''", "NULL"},
	"keyed.size":     {"'z'", "'b'", "'a'", "''", "NULL"},
	"keyed.grade":    {"10", "9", "-1", "0", "100", "NULL"},
	"jsonb":          {`'{"a": 1}'`, `'{"a": 1.0}'`, `'[]'`, `'"a"'`, `'null'`, "NULL"},
	"integer[]":      {"'{}'", "'{1}'", "'{1,2}'", "'{10}'", "'{9}'", "'{NULL}'"},
	"text[]":         {`'{}'`, `'{"a,b"}'`, `'{a,b}'`, `'{"NULL"}'`, `'{NULL}'`, `'{"a\"b"}'`},
	"int4range":      {"'[1,2)'", "'[1,10)'", "'empty'", "'(,)'", "'[9,10)'", "NULL"},
	"keyed.pair":     {"'(1,a)'", "'(1,A)'", "'(10,a)'", "'(9,\"a,b\")'", "'(,)'", "NULL"},
	"pg_lsn":         {"'0/1'", "'0/A'", "'0/10'", "'1/0'", "'A/0'", "NULL"},
	"oid":            {"0", "1", "4294967295", "10", "9", "NULL"},
	"json":           {`'{"a": 1}'`, `'{}'`, `'[]'`, `'1'`, `'2'`, "NULL"},
	"point":          {"'(1,2)'", "'(2,1)'", "'(0,0)'", "'(1,1)'", "'(1,3)'", "NULL"},
	"xml":            {"'<a/>'", "'<b/>'", "'<c/>'", "'<d/>'", "'<e/>'", "NULL"},
	"integer":        {"-2147483648", "2147483647", "0", "10", "9", "NULL"},
	"macaddr8":       {"'08:00:2b:01:02:03:04:05'", "'08:00:2b:01:02:03:04:06'", "'ff:00:2b:01:02:03:04:05'", "NULL"},
	"name":           {"'a'", "'A'", "'10'", "'9'", "''", "NULL"},
	`"char"`:         {"'a'", "'A'", "'1'", "''", "NULL"},
	"tsvector":       {"'a'", "'a b'", "'a:1'", "''", "NULL"},
	"tsquery":        {"'a'", "'a & b'", "'a | b'", "NULL"},
	"regclass":       {"'pg_class'", "'pg_type'", "'pg_proc'", "NULL"},
	"jsonpath":       {"'$'", "'$.a'", "'$[*]'"},
	"tstzrange":      {"'[2024-01-01,)'", "'[2024-01-01 00:00:00.000001Z,)'", "'empty'", "NULL"},
	"numrange":       {"'[1,2)'", "'[1.0,2]'", "'(,)'", "NULL"},
	"int4multirange": {"'{}'", "'{[1,2)}'", "'{[1,2),[5,9)}'", "NULL"},
	"bytea[]":        {`'{}'`, `'{"\\x00"}'`, `'{"\\xff"}'`, "NULL"},
	"numeric[]":      {`'{}'`, `'{1.0}'`, `'{1.00}'`, `'{NULL}'`, "NULL"},
	"keyed.pair[]":   {`'{}'`, `'{"(1,a)"}'`, `'{"(1,A)"}'`, `'{NULL}'`, "NULL"},
	"line":           {"'{1,2,3}'", "'{1,2,4}'", "'{1,2,5}'"},
	"lseg":           {"'[(0,0),(1,1)]'", "'[(0,0),(2,2)]'", "'[(0,0),(1,2)]'"},
	"path":           {"'((0,0),(1,1))'", "'[(0,0),(1,1)]'", "'((0,0),(1,2))'"},
	"polygon":        {"'((0,0),(1,1))'", "'((0,0),(2,2))'", "'((0,0),(1,2))'"},
	"circle":         {"'<(0,0),1>'", "'<(0,0),2>'", "'<(1,0),1>'"},
	"box":            {"'((0,0),(1,1))'", "'((0,0),(2,2))'", "'((0,0),(1,2))'"},
	"json[]":         {`'{}'`, `'{1}'`, `'{2}'`},
	"keyed.spot":     {`'("(1,2)",a)'`, `'("(2,1)",a)'`, `'(,a)'`},
	"keyed.note":     {"'1'", "'{}'", "'[]'"},
	"keyed.grades":   {"'{}'", "'{1}'", "'{10}'", "'{9}'", "'{NULL}'", "NULL"},
}

// Redshift takes different texts for equal: by its collation CASE_INSENSITIVE, and because blanks at the end do not
// count ("Significance of trailing blanks" of its guide). A collation of PostgreSQL imitates both.
func TestTextsThatRedshiftTakesForEqualAreOnPagesOfTheirOwn(t *testing.T) {
	s := sharedRedshift(t)
	for _, sql := range []string{`CREATE COLLATION shop.ignoring (provider = icu, deterministic = false,
			locale = 'und-u-ka-shifted-ks-level1')`,
		`CREATE TABLE shop.equal (n integer, word varchar(20) COLLATE shop.ignoring)`,
		`INSERT INTO shop.equal VALUES (1, 'a'), (2, 'A'), (3, 'a '), (4, 'b'), (5, 'B '), (6, NULL)`,
		`GRANT SELECT ON shop.equal TO reader`} {
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		for _, sql := range []string{`DROP TABLE shop.equal`, `DROP COLLATION shop.ignoring`} {
			if _, err := s.admin.Exec(sql); err != nil {
				t.Error(err)
			}
		}
	})
	warehouses.Keys(t, directRedshift(t), redshiftTarget(t, s, connection.Redshift, nil), ref("equal"))
}

// unordered are those of keys whose types have no order.
var unordered = []string{"json", "point", "xml", "box", "json[]", "keyed.spot", "keyed.note", "line", "lseg", "path",
	"polygon", "circle", "jsonpath"}

func TestPagesByAKeyOfAnyTypeReturnEveryRowOnce(t *testing.T) {
	s := shared(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
	for _, sql := range []string{`CREATE SCHEMA keyed`, `CREATE TYPE keyed.size AS ENUM ('z', 'b', 'a', '')`,
		`CREATE DOMAIN keyed.grade AS integer`, `CREATE DOMAIN keyed.grades AS keyed.grade[]`,
		`CREATE TYPE keyed.spot AS (at point, name text)`, `CREATE DOMAIN keyed.json AS json`,
		`CREATE DOMAIN keyed.note AS keyed.json`,
		`CREATE TYPE keyed.pair AS (n integer, t text)`,
		`CREATE COLLATION keyed.ignoring (provider = icu, locale = 'und-u-ks-level1', deterministic = false)`,
		`GRANT USAGE ON SCHEMA keyed TO with_token`} {
		exec(sql)
	}
	t.Cleanup(func() { exec(`DROP SCHEMA keyed CASCADE`) })
	target := s.target(t, map[string]any{"username": "with_token", "password": nil, "tls": "disable", "tls_ca": nil})
	for declaration, values := range keys {
		table := connection.TableRef{Schema: "keyed", Name: "by " + declaration}
		name := `keyed."` + strings.ReplaceAll(table.Name, `"`, `""`) + `"`
		exec(`CREATE TABLE ` + name + ` (n integer, key ` + declaration + `)`)
		nulls := map[string][]int{}
		for i, v := range values {
			if v == "NULL" {
				nulls["key"] = append(nulls["key"], i+1)
			}
			exec(fmt.Sprintf(`INSERT INTO %s VALUES (%d, %s)`, name, i+1, v))
		}
		exec(`GRANT SELECT ON ` + name + ` TO with_token`)
		var refusals []string
		if slices.Contains(unordered, declaration) {
			refusals = []string{"key"}
		}
		warehouses.Keys(t, direct(t), target, table, refusals...)
		for c, texts := range warehouses.Lossless(t, direct(t), target, table, nulls) {
			isValue := `key::text = $2::text::` + c.DatabaseType + `::text COLLATE "C"`
			if c.Type == connection.JSON {
				isValue = `to_json(key)::jsonb = $2::jsonb`
			}
			for n, text := range texts {
				var ok bool
				if err := s.admin.QueryRow(`SELECT `+isValue+` FROM `+name+` WHERE n = $1`, n, text).Scan(&ok); err != nil {
					t.Fatal(declaration, err)
				}
				if !ok {
					t.Errorf("a %s: %q is not the value of row %d", declaration, text, n)
				}
			}
		}
	}
}
