package google

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/contract/sheets"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// TestRowsHaveEachKindOfCellOfAGoogleSheet has cells as ValueRenderOption's FORMATTED_VALUE has them, of the formats of
// https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets/cells#NumberFormatType and of the
// errors beside it, and what they are in fields.
func TestRowsHaveEachKindOfCellOfAGoogleSheet(t *testing.T) {
	for name, kind := range map[string]struct {
		field column.Type
		cells [][2]string
	}{
		"numbers": {column.Number, [][2]string{{"0.1", "0.1"}, {"1,234.50", "1234.50"}, {"1.23E+10", "1.23E+10"},
			{"-5", "-5"}, {"word", "!wrong_type"}, {"NaN", "!wrong_type"}, {"", "null"}}},
		"percentages and currencies": {column.Number, [][2]string{{"12.50%", "0.125"}, {"$1,234.50", "1234.50"},
			{"($5.25)", "-5.25"}}},
		"whole numbers": {column.Integer, [][2]string{{"9223372036854775807", "9223372036854775807"},
			{"9223372036854775808", "!wrong_type"}, {"1.5", "!wrong_type"}}},
		"dates": {column.Date, [][2]string{{"2024-02-29", `"2024-02-29"`}, {"2/29/2024", `"2024-02-29"`},
			{"2023-02-29", "!wrong_type"}, {"12:30:00", "!wrong_type"}}},
		"moments": {column.DateTime, [][2]string{{"2024-02-29 23:59:59", `"2024-02-29T23:59:59"`},
			{"2/29/2024 1:02:03 PM", `"2024-02-29T13:02:03"`}}},
		"times and durations": {column.String, [][2]string{{"12:30:00 PM", `"12:30:00 PM"`}, {"36:00:00", `"36:00:00"`}}},
		"booleans":            {column.Boolean, [][2]string{{"TRUE", "true"}, {"FALSE", "false"}, {"2", "!wrong_type"}}},
		"texts": {column.String, [][2]string{{"007", `"007"`}, {"n/a", `"n/a"`}, {"a\nb", `"a\nb"`}, {"", "null"},
			{"#ERROR!", "!wrong_type"}, {"#NULL!", "!wrong_type"}, {"#DIV/0!", "!wrong_type"},
			{"#VALUE!", "!wrong_type"}, {"#REF!", "!wrong_type"}, {"#NAME?", "!wrong_type"}, {"#NUM!", "!wrong_type"},
			{"#N/A", "!wrong_type"}}},
	} {
		t.Run(name, func(t *testing.T) {
			rows := [][]string{{"Head", "Other"}}
			var want []string
			for _, cell := range kind.cells {
				rows, want = append(rows, []string{cell[0], "x"}), append(want, cell[1])
			}
			g, c := fixture.NewGoogle(t), newClock()
			sheet := target(t, g, g.Put(fixture.Workbook{Name: "Kinds", Tabs: []fixture.Tab{{Title: "T", Rows: rows}}}))
			sheets.Values(t, newSheets(config(g), c.now), sheet, kind.field, want)
		})
	}
}
