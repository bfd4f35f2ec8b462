package column_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestATransformChangesATextInOneOrder(t *testing.T) {
	name := func(part column.Part, separator string) column.Transform {
		return column.Transform{Split: &column.Split{Part: part, Separator: separator}}
	}
	for _, c := range []struct {
		name   string
		t      column.Transform
		text   string
		joined []*string
		want   string // empty: none
	}{
		{"nothing is changed without one", column.Transform{}, " Ada ", nil, " Ada "},
		{"spaces at both ends are removed", column.Transform{Trim: true}, "\u00a0 Ada L. \t", nil, "Ada L."},
		{"spaces only are no value", column.Transform{Trim: true}, "  ", nil, ""},
		{"lower case", column.Transform{Case: column.Lower}, "Äda@X", nil, "äda@x"},
		{"upper case", column.Transform{Case: column.Upper}, "äda", nil, "ÄDA"},
		{"words begin in upper case, also after a hyphen", column.Transform{Case: column.TitleWords},
			"ANNE-marie O'NEILL ßen", nil, "Anne-Marie O'neill ßen"},
		{"the first name", name(column.First, ""), " Ada  Byron Lovelace ", nil, "Ada"},
		{"the rest of a name", name(column.Rest, ""), "Ada  Byron Lovelace", nil, "Byron Lovelace"},
		{"the last name", name(column.Last, ""), "Ada Byron\u00a0Lovelace", nil, "Lovelace"},
		{"all before the last name", name(column.BeforeLast, " "), "Ada Byron Lovelace", nil, "Ada Byron"},
		{"a single name is first", name(column.First, ""), "Plato", nil, "Plato"},
		{"a single name is last", name(column.Last, ","), "Plato", nil, "Plato"},
		{"a single name has no rest", name(column.Rest, ""), "Plato", nil, ""},
		{"a single name has nothing before it", name(column.BeforeLast, ""), "Plato", nil, ""},
		{"a comma", name(column.Rest, ","), "Lovelace, Ada", nil, "Ada"},
		{"a separator of several letters", name(column.First, " - "), "A-1 - B - C", nil, "A-1"},
		{"texts are joined without empty ones", column.Transform{Join: &column.Join{Columns: []string{"b", "c", "d"},
			Separator: " "}}, " Ada", []*string{nil, new(" "), new("Lovelace ")}, "Ada Lovelace"},
		{"an empty text takes its separator with it", column.Transform{Join: &column.Join{Columns: []string{"b"},
			Separator: ", "}}, "", []*string{new("Ada")}, "Ada"},
		{"a text stands for a value, whatever its case", column.Transform{Values: map[string]string{"Aktiv": "active"}},
			" AKTIV ", nil, "active"},
		{"a text that equals is preferred", column.Transform{Values: map[string]string{"a": "lower", "A": "upper"}}, "A",
			nil, "upper"},
		{"other texts stay", column.Transform{Values: map[string]string{"Aktiv": "active"}}, "x ", nil, "x "},
		{"join, then split, then case", column.Transform{Join: &column.Join{Columns: []string{"b"}, Separator: " "},
			Split: &column.Split{Part: column.Last}, Case: column.Upper}, "Ada",
			[]*string{new("Lovelace")}, "LOVELACE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.t.Text(&c.text, c.joined)
			if (got == nil) != (c.want == "") || (got != nil && *got != c.want) {
				t.Errorf("%v", got)
				if got != nil {
					t.Errorf("%q, want %q", *got, c.want)
				}
			}
		})
	}
	if column.Transform.Text(column.Transform{Trim: true}, nil, nil) != nil {
		t.Error("no cell becomes a text")
	}
}

func TestATransformSaysHowDatesAndNumbersAreWritten(t *testing.T) {
	view := column.Style{Dates: column.DayFirst, Decimal: "."}
	for name, c := range map[string]struct {
		of   column.Type
		t    column.Transform
		text string
		want string
		code column.Invalid
	}{
		"the day first":                      {column.Date, column.Transform{Dates: column.DayFirst}, "03/04/2026", "2026-04-03", ""},
		"the month first":                    {column.Date, column.Transform{Dates: column.MonthFirst}, "03/04/2026", "2026-03-04", ""},
		"a date of another order is none":    {column.Date, column.Transform{Dates: column.MonthFirst}, "13/04/2026", "", column.WrongType},
		"the year first, as ISO 8601":        {column.Date, column.Transform{Dates: column.DayFirst}, "2026-04-03", "2026-04-03", ""},
		"a comma":                            {column.Number, column.Transform{Decimal: ","}, "1.234,5", "1234.5", ""},
		"a comma makes a point separate":     {column.Number, column.Transform{Decimal: ","}, "1.234", "1234", ""},
		"a stored number keeps its point":    {column.Number, column.Transform{Decimal: ","}, column.Stored("1.234"), "1.234", ""},
		"a number with another sign is none": {column.Number, column.Transform{Decimal: ","}, "1.5", "", column.WrongType},
	} {
		t.Run(name, func(t *testing.T) {
			f := column.Field{Type: c.of}
			got, code := f.Value(&c.text, c.t.Style(column.Style{}, c.of))
			if got.Text != c.want || code != c.code {
				t.Errorf("%q, %q", got.Text, code)
			}
		})
	}
	assert.Equal(t, "without one", (column.Transform{}).Style(view, column.Date), view)
}
