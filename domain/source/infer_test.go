package source_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/source"
)

func cells(values ...string) []*string {
	var out []*string
	for _, v := range values {
		out = append(out, source.Cell(v))
	}
	return out
}

func TestTypesAreInferredFromSamples(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   source.FieldType
	}{
		{"nothing is a string", nil, source.String},
		{"words for nothing are a string", []string{"n/a", "NULL", "-", ""}, source.String},
		{"integers", []string{"1", "-2", "+3", "0"}, source.Integer},
		{"integers beside words for nothing", []string{"1", "n/a", "NaN", "", "3"}, source.Integer},
		{"thousands with commas", []string{"1,234", "12,345,678", "7"}, source.Integer},
		{"millions with points", []string{"1.234.567", "2"}, source.Integer},
		{"thousands with spaces", []string{"1 234", "12 345 678"}, source.Integer},
		{"thousands with narrow spaces", []string{"1\u202f234", "2\u00a0345"}, source.Integer},
		{"thousands with apostrophes", []string{"1'234", "12’345"}, source.Integer},
		{"one point is a fraction", []string{"1.234"}, source.Number},
		{"an American number", []string{"1,234.5"}, source.Number},
		{"a German number", []string{"1.234,5"}, source.Number},
		{"a French number", []string{"1 234,5"}, source.Number},
		{"a decimal comma", []string{"0,5", "12,75"}, source.Number},
		{"integers and fractions", []string{"1", "2.5"}, source.Number},
		{"money before", []string{"$1,234.50", "$3", "-$2.00"}, source.Number},
		{"money after", []string{"1.234,50 €", "3,00 €"}, source.Number},
		{"money with a code", []string{"USD 12.00", "12.50 EUR"}, source.Number},
		{"percents", []string{"12%", "3.5 %"}, source.Number},
		{"losses in brackets", []string{"(1,234.00)", "20.00"}, source.Number},
		{"exponents", []string{"1e10", "1.5E-3"}, source.Number},
		{"10^400", []string{"1e400"}, source.Number},
		{"infinity", []string{"Infinity", "-inf", "1"}, source.Number},
		{"a word", []string{"1", "two"}, source.String},
		{"leading zeros", []string{"00123", "04567"}, source.String},
		{"a code of many digits", []string{"12345678901234567890"}, source.String},
		{"telephone numbers", []string{"+49 170 123 456", "+47 220 123 456"}, source.String},
		{"groups of other sizes", []string{"1,23,456"}, source.String},
		{"article numbers", []string{"SKU123", "ABC456"}, source.String},
		{"versions", []string{"1.2.3"}, source.String},
		{"addresses of machines", []string{"10.0.0.1"}, source.String},
		{"booleans", []string{"true", "FALSE"}, source.Boolean},
		{"yes and no", []string{"Yes", "no", "Y"}, source.Boolean},
		{"German booleans", []string{"WAHR", "FALSCH"}, source.Boolean},
		{"zero and one are numbers", []string{"0", "1"}, source.Integer},
		{"addresses", []string{"a@example.com", "b.c+d@mail.example.co.uk"}, source.Email},
		{"an address with umlauts", []string{"jörg@exämple.de"}, source.Email},
		{"an address of 64 characters before its @", []string{strings.Repeat("ä", 64) + "@example.com"}, source.Email},
		{"one of 65", []string{strings.Repeat("a", 65) + "@example.com"}, source.String},
		{"no address", []string{"a@example.com", "a@b"}, source.String},
		{"two addresses in a cell", []string{"a@example.com, b@example.com"}, source.String},
		{"URLs", []string{"https://example.com/a?b=c", "http://example.org", "www.example.com"}, source.URL},
		{"no URL", []string{"https://"}, source.String},
		{"ISO dates", []string{"2026-01-31", "2025-12-01"}, source.Date},
		{"slashed dates", []string{"2026/1/31"}, source.Date},
		{"German dates", []string{"31.01.2026", "1.2.26"}, source.Date},
		{"day first", []string{"31/01/2026", "02/03/2026"}, source.Date},
		{"month first", []string{"01/31/2026", "2/3/26"}, source.Date},
		{"two orders in one column", []string{"31/01/2026", "01/31/2026"}, source.String},
		{"months by name", []string{"2 Jan 2026", "31 December 2025"}, source.Date},
		{"American names", []string{"Jan 2, 2026", "Sept. 30, 2025"}, source.Date},
		{"weekdays", []string{"Mon, 2 Jan 2026"}, source.Date},
		{"no such day", []string{"2026-02-30"}, source.String},
		{"no such month", []string{"2 Foo 2026"}, source.String},
		{"the year 0", []string{"0000-01-01"}, source.String},
		{"the year 10000", []string{"10000-01-01"}, source.String},
		{"the year 9999", []string{"9999-12-31"}, source.Date},
		{"times", []string{"2026-01-31T10:00:00Z", "2026-01-31 10:00:00.123+02:00"}, source.DateTime},
		{"times of 12 hours", []string{"1/31/2026 3:04 PM", "1/31/2026, 3:04:05 am"}, source.DateTime},
		{"dates and times", []string{"2026-01-31", "2026-01-31 10:00"}, source.DateTime},
		{"a time alone", []string{"10:00"}, source.String},
		{"objects", []string{`{"a":1}`, `[1,2]`}, source.JSON},
		{"braces", []string{`{a}`}, source.String},
		{"paragraphs", []string{"one\ntwo"}, source.Text},
		{"long lines", []string{strings.Repeat("word ", 30)}, source.Text},
		{"not UTF-8", []string{"\xff\xfe\x00"}, source.String},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := source.Infer(cells(tt.values...)); got != tt.want {
				t.Errorf("Infer(%q) = %s, want %s", tt.values, got, tt.want)
			}
		})
	}
}

func TestCellsCanBeShown(t *testing.T) {
	if c := source.Cell(" \t\n"); c != nil {
		t.Errorf("a blank cell is %q", *c)
	}
	for in, want := range map[string]string{
		" a ":                             " a ",
		"a\r\nb\tc":                       "a\nb\tc",
		"a\x00b\x1b":                      "a\uFFFDb\uFFFD",
		"\xffa":                           "\uFFFDa",
		strings.Repeat("ü", 300):          strings.Repeat("ü", source.MaxCell),
		strings.Repeat("\U0001F600", 300): strings.Repeat("\U0001F600", source.MaxCell),
	} {
		if got := source.Cell(in); got == nil || *got != want {
			t.Errorf("Cell(%q) = %v", in, got)
		}
	}
}

func TestColumnsHaveTheLettersOfSpreadsheets(t *testing.T) {
	for column, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 199: "GR", 701: "ZZ", 702: "AAA", 16383: "XFD"} {
		if got := source.ColumnLetters(column); got != want {
			t.Errorf("column %d is %s, want %s", column, got, want)
		}
	}
}
