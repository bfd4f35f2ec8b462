package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse/sqlite"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

// affinities are the declared types of https://www.sqlite.org/datatype3.html, section 3.1.1, by their affinity, and ANY
// of https://www.sqlite.org/stricttables.html. A column of any type can have values of each storage class.
var affinities = map[string][]string{
	"INTEGER": {"INT", "INTEGER", "TINYINT", "SMALLINT", "MEDIUMINT", "BIGINT", "UNSIGNED BIG INT", "INT2", "INT8"},
	"TEXT": {"CHARACTER(20)", "VARCHAR(255)", "VARYING CHARACTER(255)", "NCHAR(55)", "NATIVE CHARACTER(70)",
		"NVARCHAR(100)", "TEXT", "CLOB"},
	"BLOB":    {"BLOB", ""},
	"REAL":    {"REAL", "DOUBLE", "DOUBLE PRECISION", "FLOAT"},
	"NUMERIC": {"NUMERIC", "DECIMAL(10,5)", "BOOLEAN", "DATE", "DATETIME", "ANY"},
}

// classes are values of each storage class, what they are as numbers and texts where the affinity of the column leaves
// them as they are, and where another affinity makes them something else.
var classes = []struct {
	source, number, text string
	others               map[string][2]string
}{
	{source: `NULL`, number: `null`, text: `null`},
	{source: `9223372036854775807`, number: `9223372036854775807`, text: `"9223372036854775807"`,
		others: map[string][2]string{"REAL": {`9223372036854775808`, `"9223372036854775808"`}}},
	{source: `-9223372036854775808`, number: `-9223372036854775808`, text: `"-9223372036854775808"`},
	{source: `9007199254740993`, number: `9007199254740993`, text: `"9007199254740993"`,
		others: map[string][2]string{"REAL": {`9007199254740992`, `"9007199254740992"`}}},
	{source: `0.1`, number: `0.1`, text: `"0.1"`},
	{source: `0.30000000000000004`, number: `0.30000000000000004`, text: `"0.30000000000000004"`},
	{source: `2.5e-300`, number: `2.5e-300`, text: `"2.5e-300"`},
	{source: `1.7976931348623157e308`, number: `1.7976931348623157e+308`, text: `"1.7976931348623157e+308"`},
	{source: `9e999`, number: `!wrong_type`, text: `"Infinity"`,
		others: map[string][2]string{"TEXT": {`!wrong_type`, `"Inf"`}}}, // the text that SQLite stores
	{source: `-9e999`, number: `!wrong_type`, text: `"-Infinity"`,
		others: map[string][2]string{"TEXT": {`!wrong_type`, `"-Inf"`}}},
	{source: `''`, number: `null`, text: `null`},
	{source: `'n/a'`, number: `!wrong_type`, text: `"n/a"`},
	{source: `'é' || char(0) || 'b'`, number: `!wrong_type`, text: `"é\u0000b"`},
	{source: `'2024-02-29'`, number: `!wrong_type`, text: `"2024-02-29"`},
	{source: `x'3132'`, number: `!wrong_type`, text: `"0x3132"`},
	{source: `x'00ff'`, number: `!wrong_type`, text: `"0x00ff"`},
	{source: `x''`, number: `!wrong_type`, text: `"0x"`},
}

func TestRowsReturnEachValueOfEachType(t *testing.T) {
	var kinds []warehouses.Kind
	for affinity, declarations := range affinities {
		for _, name := range declarations {
			number := warehouses.Kind{Type: name, Field: column.Number}
			text := warehouses.Kind{Type: name, Field: column.String}
			for _, class := range classes {
				want := [2]string{class.number, class.text}
				if other, found := class.others[affinity]; found {
					want = other
				}
				number.Samples = append(number.Samples, warehouses.Sample{class.source, want[0]})
				text.Samples = append(text.Samples, warehouses.Sample{class.source, want[1]})
			}
			kinds = append(kinds, number, text)
		}
	}
	folder := t.TempDir()
	var statements []string
	for i, kind := range kinds {
		statements = append(statements, fmt.Sprintf("CREATE TABLE t%d (v %s)", i, kind.Type))
		for _, sample := range kind.Samples {
			statements = append(statements, fmt.Sprintf("INSERT INTO t%d VALUES (%s)", i, sample[0]))
		}
	}
	create(t, filepath.Join(folder, "kinds.db"), strings.Join(statements, ";"))
	var documentedTexts []string
	for _, declarations := range affinities {
		documentedTexts = append(documentedTexts, declarations...)
	}
	warehouses.EveryKind(t, sqlite.New(folder), target("kinds.db")(t), documentedTexts, kinds,
		func(kind warehouses.Kind) connection.TableRef {
			i := slices.IndexFunc(kinds, func(k warehouses.Kind) bool {
				return k.Type == kind.Type && k.Field == kind.Field
			})
			return ref(fmt.Sprintf("t%d", i))
		})
}
