package sqlserver_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestValuesAreExactInTheTypeOfTheirFieldOrReported(t *testing.T) {
	s := newServer(t, fixture.SQLServerPlain)
	s.Databases["Sales"] = append(s.Databases["Sales"], fixture.SQLServerTable{Schema: "dbo", Name: "exact",
		Type: "U",
		Columns: []fixture.SQLServerColumn{{Name: "n", Type: "int"}, {Name: "ok", Type: "bit", Nullable: true},
			{Name: "rate", Type: "float", Nullable: true}, {Name: "share", Type: "real", Nullable: true},
			{Name: "price", Type: "decimal(38,2)", Nullable: true}, {Name: "word", Type: "nvarchar(20)",
				Nullable: true},
			{Name: "raw", Type: "varbinary(200)", Nullable: true}, {Name: "at", Type: "datetime2(7)",
				Nullable: true}},
		Values: [][]any{
			{int64(1), true, 1e15, float64(float32(52.520008)), "999999999999999999999999999999999999.99", "n/a",
				[]byte{0, 0xff}, at("2026-01-02T03:04:05.1234567Z")},
			{int64(2), false, 0.30000000000000004, float64(float32(1e-30)), "-0.01", "#REF!", []byte{},
				at("0001-01-01T00:00:00Z")},
			{int64(3), nil, nil, nil, nil, "NaN", nil, nil},
		}})
	target := s.target(t, map[string]any{"tls": "disable", "tls_ca": nil})
	warehouses.Exact(t, direct(t), target, ref("exact"), []warehouses.Values{
		{Column: "ok", Field: column.Boolean, Want: []string{"true", "false", "null"}},
		{Column: "ok", Field: column.Integer, Want: []string{"!wrong_type", "!wrong_type", "null"}},
		{Column: "rate", Field: column.Number, Want: []string{"1000000000000000", "0.30000000000000004", "null"}},
		{Column: "rate", Field: column.Integer, Want: []string{"1000000000000000", "!wrong_type", "null"}},
		{Column: "share", Field: column.Number, Want: []string{"52.520008", "1e-30", "null"}},
		{Column: "price", Field: column.Number, Want: []string{"999999999999999999999999999999999999.99", "-0.01",
			"null"}},
		{Column: "price", Field: column.Integer, Want: []string{"!wrong_type", "!wrong_type", "null"}},
		{Column: "word", Field: column.Number, Want: []string{"!wrong_type", "!wrong_type", "!wrong_type"}},
		{Column: "word", Field: column.String, Want: []string{`"n/a"`, `"#REF!"`, `"NaN"`}},
		{Column: "raw", Field: column.String, Want: []string{`"0x00ff"`, `"0x"`, "null"}},
		{Column: "at", Field: column.DateTime, Want: []string{`"2026-01-02T03:04:05.1234567"`,
			`"0001-01-01T00:00:00"`,
			"null"}},
	})
}
