package clickhouse_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestValuesAreExactInTheTypeOfTheirFieldOrReported(t *testing.T) {
	s := shared(t)
	for _, sql := range []string{
		`CREATE TABLE shop.exact (n Int32, r Nullable(Float32), d Float64, big UInt64, tags Array(String),
			numbers Array(Nullable(UInt64)), pair Tuple(Int8, String), deep Array(Array(Float64)),
			day Date, word String) ENGINE = Log`,
		`INSERT INTO shop.exact VALUES
			(1, nan, 1e15, 18446744073709551615, [], [], (1, 'a'), [], '2024-02-29', 'n/a'),
			(2, 52.520008, inf, 9223372036854775807, ['it\'s', '', '\\"'], [NULL, 18446744073709551615], (-1, ''),
			[[0.5, nan], []], '1970-01-01', '#REF!'), (3, 123456789, 4611686018427387904, 0, ['é'], [0], (0, '()'), [], 0, '')`,
	} {
		if _, err := s.ask(sql); err != nil {
			t.Fatalf("%.60s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		if _, err := s.ask(`DROP TABLE shop.exact`); err != nil {
			t.Error(err)
		}
	})
	warehouses.Exact(t, direct(t), s.target(t, nil), ref("exact"), []warehouses.Values{
		{Column: "r", Field: column.Number, Want: []string{"!wrong_type", "52.520008", "123456792"}},
		{Column: "d", Field: column.Number, Want: []string{"1000000000000000", "!wrong_type", "4611686018427387904"}},
		{Column: "d", Field: column.Integer, Want: []string{"1000000000000000", "!wrong_type", "4611686018427387904"}},
		{Column: "big", Field: column.Integer, Want: []string{"!wrong_type", "9223372036854775807", "0"}},
		{Column: "big", Field: column.Number, Want: []string{"18446744073709551615", "9223372036854775807", "0"}},
		{Column: "tags", Field: column.JSON, Want: []string{"[]", `["it's","","\\\""]`, `["é"]`}},
		{Column: "numbers", Field: column.JSON, Want: []string{"[]", "[null,18446744073709551615]", "[0]"}},
		{Column: "pair", Field: column.JSON, Want: []string{`[1,"a"]`, `[-1,""]`, `[0,"()"]`}},
		{Column: "deep", Field: column.JSON, Want: []string{"[]", `[[0.5,"nan"],[]]`, "[]"}},
		{Column: "word", Field: column.Number, Want: []string{"!wrong_type", "!wrong_type", "null"}},
		{Column: "word", Field: column.String, Want: []string{`"n/a"`, `"#REF!"`, "null"}},
	})
}

func TestStatesOfAggregateFunctionsAreTheirResults(t *testing.T) {
	s := shared(t)
	for _, sql := range []string{
		`CREATE TABLE shop.states (n Int32, total AggregateFunction(sum, UInt64),
			words AggregateFunction(groupArray, String)) ENGINE = Memory`,
		`INSERT INTO shop.states SELECT 1, sumState(toUInt64(18446744073709551615)), groupArrayState('it\'s')`,
		`INSERT INTO shop.states SELECT 2, sumState(toUInt64(0)), groupArrayState('')`,
	} {
		if _, err := s.ask(sql); err != nil {
			t.Fatalf("%.60s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		if _, err := s.ask(`DROP TABLE shop.states`); err != nil {
			t.Error(err)
		}
	})
	warehouses.Exact(t, direct(t), s.target(t, nil), ref("states"), []warehouses.Values{
		{Column: "total", Field: column.Number, Want: []string{"18446744073709551615", "0"}},
		{Column: "words", Field: column.String, Want: []string{`"['it\\'s']"`, `"['']"`}},
	})
}
