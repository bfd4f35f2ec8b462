package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse/sqlite"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/require"
)

// keys are columns with values of which each is another one.
var keys = map[string][]string{
	"INTEGER":             {"9223372036854775807", "-9223372036854775808", "9007199254740993", "10", "9", "NULL"},
	"REAL":                {"0.1", "0.30000000000000004", "0.3", "9e999", "-9e999", "52.520008"},
	"NUMERIC":             {"1", "1.5", "'abc'", "x'00'", "9007199254740993", "NULL"},
	"TEXT":                {"'a'", "'A'", "'10'", "'9'", "''", "'a' || char(0) || 'b'"},
	"VARCHAR(40)":         {"'a'", "'a '", "CAST(x'ff41' AS TEXT)", "CAST(x'fe41' AS TEXT)", "'é'", "NULL"},
	"TEXT COLLATE NOCASE": {"'a'", "'A'", "'b'", "'B'", "'_'", "NULL"},
	"TEXT COLLATE RTRIM":  {"'a'", "'a '", "'b'", "'b  '", "''", "NULL"},
	"BLOB":                {"x'00'", "x'6162'", "x'fe'", "x'ff01'", "x''", "NULL"},
	" ":                   {"1", "'1'", "x'31'", "1.5", "1.0", "NULL"},
	"DATE":                {"'2024-01-01'", "20240101", "'no date'", "1.5", "x'00'", "NULL"},
	"BOOLEAN":             {"1", "0", "2", "'true'", "-1", "NULL"},
}

func TestPagesByAKeyOfAnyTypeReturnEveryRowOnce(t *testing.T) {
	all := warehouses.NewKeyTable("INTEGER", keys, func(name string) string { return `"` + name + `"` })
	same := all.Named("VARCHAR", " ") // bytes that are no text, and 1 and 1.0, have the texts of others
	statements := "CREATE TABLE keys (" + all.Columns + "); CREATE VIEW seen AS SELECT * FROM keys; " +
		"INSERT INTO keys VALUES " + all.Rows + ";"
	for encoding, file := range map[string]string{"UTF-8": "narrow.db", "UTF-16le": "wide.db"} {
		folder := t.TempDir()
		require.NoError(t, os.MkdirAll(folder, 0o700))
		create(t, filepath.Join(folder, file), `PRAGMA encoding = "`+encoding+`"; `+statements)
		for _, table := range []string{"keys", "seen"} {
			t.Run(table+" in "+encoding, func(t *testing.T) {
				warehouses.Keys(t, sqlite.New(folder), target(file)(t), ref(table))
				warehouses.Lossless(t, sqlite.New(folder), target(file)(t), ref(table), all.Nulls, same...)
			})
		}
	}
}
