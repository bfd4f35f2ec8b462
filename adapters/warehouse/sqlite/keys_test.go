package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse/sqlite"
	"github.com/atrium-hq/atrium/test/contract/warehouses"
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
	"":                    {"1", "'1'", "x'31'", "1.5", "1.0", "NULL"},
	"DATE":                {"'2024-01-01'", "20240101", "'no date'", "1.5", "x'00'", "NULL"},
	"BOOLEAN":             {"1", "0", "2", "'true'", "-1", "NULL"},
}

func TestPagesByAKeyOfAnyTypeReturnEveryRowOnce(t *testing.T) {
	columns, rows, nulls := []string{"n INTEGER"}, make([][]string, 6), map[string][]int{}
	var same []string
	for i := range rows {
		rows[i] = []string{fmt.Sprint(i + 1)}
	}
	for declared, values := range keys {
		name := fmt.Sprintf("k%d?", len(columns))
		if declared == "" || strings.HasPrefix(declared, "VARCHAR") {
			same = append(same, name) // 1 and 1.0, and bytes that are no text, have the texts of others
		}
		columns = append(columns, `"`+name+`" `+declared)
		for i, v := range values {
			if rows[i] = append(rows[i], v); v == "NULL" {
				nulls[name] = append(nulls[name], i+1)
			}
		}
	}
	statements := "CREATE TABLE keys (" + strings.Join(columns, ", ") + "); CREATE VIEW seen AS SELECT * FROM keys;"
	for _, row := range rows {
		statements += "INSERT INTO keys VALUES (" + strings.Join(row, ", ") + ");"
	}
	for encoding, file := range map[string]string{"UTF-8": "narrow.db", "UTF-16le": "wide.db"} {
		folder := t.TempDir()
		must(t, os.MkdirAll(folder, 0o700))
		create(t, filepath.Join(folder, file), `PRAGMA encoding = "`+encoding+`"; `+statements)
		for _, table := range []string{"keys", "seen"} {
			t.Run(table+" in "+encoding, func(t *testing.T) {
				warehouses.Keys(t, sqlite.New(folder), target(file)(t), ref(table))
				warehouses.Lossless(t, sqlite.New(folder), target(file)(t), ref(table), nulls, same...)
			})
		}
	}
}
