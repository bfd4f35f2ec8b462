package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse/sqlite"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestValuesAreExactInTheTypeOfTheirFieldOrReported(t *testing.T) {
	folder := t.TempDir()
	create(t, filepath.Join(folder, "exact.db"), `CREATE TABLE exact (n INTEGER, ok BOOLEAN, r REAL, big INTEGER,
		anything, day DATE, doc JSON, word TEXT);
		INSERT INTO exact VALUES (1, 1, 0.30000000000000004, 9223372036854775807, x'00ff', '2024-02-29', '[]', 'n/a'),
		(2, 5, 9e999, 9007199254740993, 1.5, 20240229, '{"a": 1', '#REF!'),
		(3, 0, -1e300, 'a word', 'NaN', 'no date', NULL, 'a' || char(0) || 'b'),
		(4, -1, NULL, NULL, 7, NULL, 'null', '')`)
	warehouses.Exact(t, sqlite.New(folder), target("exact.db")(t), ref("exact"), []warehouses.Values{
		{Column: "ok", Field: column.Boolean, Want: []string{"true", "!wrong_type", "false", "!wrong_type"}},
		{Column: "ok", Field: column.Integer, Want: []string{"1", "5", "0", "-1"}},
		{Column: "ok", Field: column.String, Want: []string{`"1"`, `"5"`, `"0"`, `"-1"`}},
		{Column: "r", Field: column.Number, Want: []string{"0.30000000000000004", "!wrong_type", "-1e+300", "null"}},
		{Column: "big", Field: column.Integer, Want: []string{"9223372036854775807", "9007199254740993", "!wrong_type",
			"null"}},
		{Column: "anything", Field: column.String, Want: []string{`"0x00ff"`, `"1.5"`, `"NaN"`, `"7"`}},
		{Column: "anything", Field: column.Number, Want: []string{"!wrong_type", "1.5", "!wrong_type", "7"}},
		{Column: "day", Field: column.Date, Want: []string{`"2024-02-29"`, `"2024-02-29"`, "!wrong_type", "null"}},
		{Column: "doc", Field: column.JSON, Want: []string{"[]", "!wrong_type", "null", "null"}},
		{Column: "word", Field: column.Number, Want: []string{"!wrong_type", "!wrong_type", "!wrong_type", "null"}},
		{Column: "word", Field: column.String, Want: []string{`"n/a"`, `"#REF!"`, `"a\u0000b"`, "null"}},
	})
}
