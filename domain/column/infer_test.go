package column_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
)

func cells(values ...string) []*string {
	var out []*string
	for _, v := range values {
		out = append(out, column.Cell(v))
	}
	return out
}

func TestTypesAreInferredFromSamples(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   column.Type
	}{
		{"nothing is a string", nil, column.String},
		{"words for nothing are a string", []string{"n/a", "NULL", "-", ""}, column.String},
		{"integers", []string{"1", "-2", "+3", "0"}, column.Integer},
		{"integers beside words for nothing", []string{"1", "n/a", "NaN", "", "3"}, column.Integer},
		{"thousands with commas", []string{"1,234", "12,345,678", "7"}, column.Integer},
		{"millions with points", []string{"1.234.567", "2"}, column.Integer},
		{"thousands with spaces", []string{"1 234", "12 345 678"}, column.Integer},
		{"thousands with narrow spaces", []string{"1\u202f234", "2\u00a0345"}, column.Integer},
		{"thousands with apostrophes", []string{"1'234", "12’345"}, column.Integer},
		{"one point is a fraction", []string{"1.234"}, column.Number},
		{"an American number", []string{"1,234.5"}, column.Number},
		{"a German number", []string{"1.234,5"}, column.Number},
		{"a French number", []string{"1 234,5"}, column.Number},
		{"a decimal comma", []string{"0,5", "12,75"}, column.Number},
		{"integers and fractions", []string{"1", "2.5"}, column.Number},
		{"money before", []string{"$1,234.50", "$3", "-$2.00"}, column.Number},
		{"money after", []string{"1.234,50 €", "3,00 €"}, column.Number},
		{"money with a code", []string{"USD 12.00", "12.50 EUR"}, column.Number},
		{"percents", []string{"12%", "3.5 %"}, column.Number},
		{"losses in brackets", []string{"(1,234.00)", "20.00"}, column.Number},
		{"exponents", []string{"1e10", "1.5E-3"}, column.Number},
		{"10^400", []string{"1e400"}, column.Number},
		{"infinity", []string{"Infinity", "-inf", "1"}, column.Number},
		{"a word", []string{"1", "two"}, column.String},
		{"leading zeros", []string{"00123", "04567"}, column.String},
		{"a code of many digits", []string{"12345678901234567890"}, column.String},
		{"telephone numbers", []string{"+49 170 123 456", "+47 220 123 456"}, column.String},
		{"groups of other sizes", []string{"1,23,456"}, column.String},
		{"article numbers", []string{"SKU123", "ABC456"}, column.String},
		{"versions", []string{"1.2.3"}, column.String},
		{"addresses of machines", []string{"10.0.0.1"}, column.String},
		{"booleans", []string{"true", "FALSE"}, column.Boolean},
		{"yes and no", []string{"Yes", "no", "Y"}, column.Boolean},
		{"German booleans", []string{"WAHR", "FALSCH"}, column.Boolean},
		{"zero and one are numbers", []string{"0", "1"}, column.Integer},
		{"addresses", []string{"a@example.com", "b.c+d@mail.example.co.uk"}, column.Email},
		{"an address with umlauts", []string{"jörg@exämple.de"}, column.Email},
		{"an address of 64 characters before its @", []string{strings.Repeat("ä", 64) + "@example.com"}, column.Email},
		{"one of 65", []string{strings.Repeat("a", 65) + "@example.com"}, column.String},
		{"no address", []string{"a@example.com", "a@b"}, column.String},
		{"two addresses in a cell", []string{"a@example.com, b@example.com"}, column.String},
		{"URLs", []string{"https://example.com/a?b=c", "http://example.org", "www.example.com"}, column.URL},
		{"no URL", []string{"https://"}, column.String},
		{"ISO dates", []string{"2026-01-31", "2025-12-01"}, column.Date},
		{"slashed dates", []string{"2026/1/31"}, column.Date},
		{"German dates", []string{"31.01.2026", "1.2.26"}, column.Date},
		{"day first", []string{"31/01/2026", "02/03/2026"}, column.Date},
		{"month first", []string{"01/31/2026", "2/3/26"}, column.Date},
		{"two orders in one column", []string{"31/01/2026", "01/31/2026"}, column.String},
		{"months by name", []string{"2 Jan 2026", "31 December 2025"}, column.Date},
		{"American names", []string{"Jan 2, 2026", "Sept. 30, 2025"}, column.Date},
		{"weekdays", []string{"Mon, 2 Jan 2026"}, column.Date},
		{"no such day", []string{"2026-02-30"}, column.String},
		{"no such month", []string{"2 Foo 2026"}, column.String},
		{"the year 0", []string{"0000-01-01"}, column.String},
		{"the year 10000", []string{"10000-01-01"}, column.String},
		{"the year 9999", []string{"9999-12-31"}, column.Date},
		{"times", []string{"2026-01-31T10:00:00Z", "2026-01-31 10:00:00.123+02:00"}, column.DateTime},
		{"times of 12 hours", []string{"1/31/2026 3:04 PM", "1/31/2026, 3:04:05 am"}, column.DateTime},
		{"dates and times", []string{"2026-01-31", "2026-01-31 10:00"}, column.DateTime},
		{"a time alone", []string{"10:00"}, column.String},
		{"objects", []string{`{"a":1}`, `[1,2]`}, column.JSON},
		{"braces", []string{`{a}`}, column.String},
		{"paragraphs", []string{"one\ntwo"}, column.Text},
		{"long lines", []string{strings.Repeat("word ", 30)}, column.Text},
		{"not UTF-8", []string{"\xff\xfe\x00"}, column.String},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := column.Infer(cells(tt.values...)); got != tt.want {
				t.Errorf("Infer(%q) = %s, want %s", tt.values, got, tt.want)
			}
		})
	}
}

func TestCellsCanBeShown(t *testing.T) {
	if c := column.Cell(" \t\n"); c != nil {
		t.Errorf("a blank cell is %q", *c)
	}
	for in, want := range map[string]string{
		" a ":                             " a ",
		"a\r\nb\tc":                       "a\nb\tc",
		"a\x00b\x1b":                      "a\uFFFDb\uFFFD",
		"\xffa":                           "\uFFFDa",
		strings.Repeat("ü", 300):          strings.Repeat("ü", column.MaxCell),
		strings.Repeat("\U0001F600", 300): strings.Repeat("\U0001F600", column.MaxCell),
	} {
		if got := column.Cell(in); got == nil || *got != want {
			t.Errorf("Cell(%q) = %v", in, got)
		}
	}
}

func TestColumnsHaveTheLettersOfSpreadsheets(t *testing.T) {
	for index, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 199: "GR", 701: "ZZ",
		702: "AAA", 16383: "XFD"} {
		if got := column.Letters(index); got != want {
			t.Errorf("column %d is %s, want %s", index, got, want)
		}
	}
}
