package column_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
)

func TestValuesAreReadAsTheirFieldOrNotAtAll(t *testing.T) {
	for _, tt := range []struct {
		field  column.Type
		style  column.Style
		text   string
		want   any
		reason column.Invalid
	}{
		{column.Integer, column.Style{}, "42", "42", ""},
		{column.Integer, column.Style{}, "5.00", "5", ""},
		{column.Integer, column.Style{}, "1,234", "1234", ""},
		{column.Integer, column.Style{}, "007", nil, column.WrongType},
		{column.Integer, column.Style{}, "5.5", nil, column.WrongType},
		{column.Integer, column.Warehouse, "00000042", "42", ""},
		{column.Number, column.Warehouse, "0000", "0", ""},
		{column.Integer, column.Warehouse, "9223372036854775807", "9223372036854775807", ""},
		{column.Integer, column.Warehouse, "9223372036854775808", nil, column.WrongType},
		{column.Number, column.Style{}, "1.234", nil, column.Ambiguous},
		{column.Number, column.Style{Decimal: "."}, "1.234", "1.234", ""},
		{column.Number, column.Style{Decimal: ","}, "1.234", "1234", ""},
		{column.Number, column.Style{}, column.Stored("1.234"), "1.234", ""},
		{column.Number, column.Style{}, "1.234,50 €", "1234.50", ""},
		{column.Number, column.Style{Decimal: "."}, "1.234,50", nil, column.WrongType},
		{column.Number, column.Style{}, "(12.50)", "-12.50", ""},
		{column.Number, column.Style{}, "12.5%", "0.125", ""},
		{column.Number, column.Style{}, ".5", "0.5", ""},
		{column.Number, column.Style{}, "1e3", "1e3", ""},
		{column.Number, column.Style{}, "1e400", nil, column.WrongType},
		{column.Number, column.Style{}, "NaN", nil, column.WrongType},
		{column.Number, column.Warehouse, "nan", nil, column.WrongType},
		{column.Number, column.Warehouse, "Infinity", nil, column.WrongType},
		{column.Integer, column.Warehouse, "1e+06", "1000000", ""},
		{column.Integer, column.Warehouse, "9.007199254740993e15", "9007199254740993", ""},
		{column.Integer, column.Warehouse, "1.5e0", nil, column.WrongType},
		{column.Integer, column.Warehouse, "1e-9000", nil, column.WrongType},
		{column.Integer, column.Warehouse, "1e19", nil, column.WrongType},
		{column.Number, column.Style{}, "n/a", nil, ""},
		{column.Number, column.Warehouse, "n/a", nil, column.WrongType},
		{column.Number, column.Warehouse, " ", nil, ""},
		{column.JSON, column.Warehouse, "null", "null", ""},
		{column.Number, column.Style{}, "#DIV/0!", nil, column.WrongType},
		{column.Date, column.Style{}, "#N/A", nil, column.WrongType},
		{column.Boolean, column.Style{}, " #ref! ", nil, column.WrongType},
		{column.String, column.Style{}, "#NAME?", nil, column.WrongType},
		{column.Text, column.Style{}, "Err:502", nil, column.WrongType},
		{column.Enum, column.Style{}, "#VALUE!", nil, column.WrongType},
		{column.String, column.Style{}, "#1 song!", "#1 song!", ""},
		{column.String, column.Style{}, "NaN", "NaN", ""},
		{column.String, column.Warehouse, "#NUM!", "#NUM!", ""},
		{column.Number, column.Warehouse, "#NULL!", nil, column.WrongType},
		{column.Number, column.Style{}, "+47 22 33 44 55", nil, column.WrongType},
		{column.Number, column.Style{}, "--5", nil, column.WrongType},
		{column.Number, column.Style{}, "-", nil, ""},
		{column.Boolean, column.Style{}, "Yes", true, ""},
		{column.Boolean, column.Style{}, "0", false, ""},
		{column.Boolean, column.Style{}, "maybe", nil, column.WrongType},
		{column.Date, column.Style{}, "2026-03-14", "2026-03-14", ""},
		{column.Date, column.Style{}, "14/03/2026", "2026-03-14", ""},
		{column.Date, column.Style{}, "03/04/2026", nil, column.Ambiguous},
		{column.Date, column.Style{Dates: column.DayFirst}, "03/04/2026", "2026-04-03", ""},
		{column.Date, column.Style{Dates: column.MonthFirst}, "03/04/2026", "2026-03-04", ""},
		{column.Date, column.Style{Dates: column.MonthFirst}, "14/03/2026", nil, column.WrongType},
		{column.Date, column.Style{}, "04/04/2026", "2026-04-04", ""},
		{column.Date, column.Style{}, "14. March 99", "1999-03-14", ""},
		{column.Date, column.Style{}, "2026-02-30", nil, column.WrongType},
		{column.Date, column.Style{}, "20240105", "2024-01-05", ""},
		{column.Date, column.Warehouse, "20240105", "2024-01-05", ""},
		{column.Date, column.Style{}, "20241305", nil, column.WrongType},
		{column.DateTime, column.Style{}, "20240105 10:30", "2024-01-05T10:30:00", ""},
		{column.DateTime, column.Style{}, "1704447000", "2024-01-05T09:30:00Z", ""},
		{column.DateTime, column.Warehouse, "1704447000250", "2024-01-05T09:30:00.25Z", ""},
		{column.Date, column.Style{}, "1704447000", "2024-01-05", ""},
		{column.DateTime, column.Style{}, "170444700", nil, column.WrongType},
		{column.Date, column.Style{}, "5. Januar 2024", "2024-01-05", ""},
		{column.Date, column.Style{}, "1er août 2024", "2024-08-01", ""},
		{column.Date, column.Style{}, "5 de enero de 2024", "2024-01-05", ""},
		{column.Date, column.Style{}, "5 gennaio 2024", "2024-01-05", ""},
		{column.Date, column.Style{}, "5 de março de 2024", "2024-03-05", ""},
		{column.Date, column.Style{}, "5 mei 2024", "2024-05-05", ""},
		{column.Date, column.Style{}, "5 października 2024", "2024-10-05", ""},
		{column.Date, column.Style{}, "5 augusti 2024", "2024-08-05", ""},
		{column.Date, column.Style{}, "5. Brumaire 2024", nil, column.WrongType},
		{column.Date, column.Style{}, "2026-03-14 15:09:26", "2026-03-14", ""},
		{column.DateTime, column.Warehouse, "2026-03-14 15:09:26.5+00", "2026-03-14T15:09:26.5Z", ""},
		{column.DateTime, column.Warehouse, "2026-03-14 15:09:26+0530", "2026-03-14T15:09:26+05:30", ""},
		{column.DateTime, column.Warehouse, "2026-03-14T15:09", "2026-03-14T15:09:00", ""},
		{column.DateTime, column.Style{}, "14/03/2026, 3:09 pm", "2026-03-14T15:09:00", ""},
		{column.DateTime, column.Style{}, "Mar 14, 2026 at 12:00 AM", "2026-03-14T00:00:00", ""},
		{column.DateTime, column.Style{}, "2026-03-14", "2026-03-14T00:00:00", ""},
		{column.DateTime, column.Style{}, "2026-03-14 25:00", nil, column.WrongType},
		{column.Email, column.Style{}, " ada@example.com ", "ada@example.com", ""},
		{column.Email, column.Style{}, "ada", nil, column.WrongType},
		{column.URL, column.Style{}, "https://example.com/a", "https://example.com/a", ""},
		{column.JSON, column.Style{}, `{"a":1}`, `{"a":1}`, ""},
		{column.JSON, column.Style{}, `{"a":`, nil, column.WrongType},
		{column.Enum, column.Style{}, "OPEN", "open", ""},
		{column.Enum, column.Style{}, "lost", nil, column.NotInEnum},
		{column.String, column.Style{}, "02139", "02139", ""},
		{column.String, column.Style{}, "n/a", "n/a", ""},
	} {
		f := column.Field{Type: tt.field, Enum: []string{"open", "closed"}}
		got, reason := f.Value(&tt.text, tt.style)
		view := any(got.Text)
		if got.IsNull() {
			view = nil
		}
		if reason != tt.reason || fmt.Sprint(view) != fmt.Sprint(tt.want) {
			t.Errorf("%s %q in %+v = %v, %q; want %v, %q", tt.field, tt.text, tt.style, view, reason, tt.want,
				tt.reason)
		}
		if got, reason := f.Value(nil, tt.style); !got.IsNull() || reason != "" {
			t.Errorf("nothing is %v, %q", got, reason)
		}
	}
}

func TestTheStyleOfAColumnIsWhatItsFirstValuesHaveInCommon(t *testing.T) {
	for _, tt := range []struct {
		cells string
		want  column.Style
	}{
		{"1.234|1,5|7", column.Style{Decimal: ","}},
		{"1,234.5|1.234", column.Style{Decimal: "."}},
		{"1.5|1,5", column.Style{}},
		{"1.234|2.345", column.Style{}},
		{"1.234.567", column.Style{Decimal: ","}},
		{"03/04/2026|25/12/2025", column.Style{Dates: column.DayFirst}},
		{"03/04/2026|12/25/2025", column.Style{Dates: column.MonthFirst}},
		{"25/12/2025|12/25/2025", column.Style{}},
		{"03/04/2026", column.Style{}},
		{"Ann|", column.Style{}},
	} {
		if got := column.StyleOf(table(tt.cells)[0]); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.cells, got, tt.want)
		}
	}
}
