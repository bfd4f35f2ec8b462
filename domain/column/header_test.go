package column_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// table reads rows whose cells are separated by |. A blank cell is empty.
func table(lines ...string) [][]*string {
	var rows [][]*string
	for _, line := range lines {
		var row []*string
		for _, c := range strings.Split(line, "|") {
			row = append(row, column.Cell(strings.TrimSpace(c)))
		}
		rows = append(rows, row)
	}
	return rows
}

func names(p column.Preview) []string {
	var out []string
	for _, h := range p.Headers {
		out = append(out, h.Name)
	}
	return out
}

func TestTheHeaderRowIsFound(t *testing.T) {
	for _, tt := range []struct {
		name string
		rows [][]*string
		want int
	}{
		{"in the first row", table("Name|E-mail|Age", "Ann|a@example.com|7", "Bob|b@example.com|8"), 1},
		{"where all are words", table("Name|City", "Ann|Oslo", "Bob|Rome"), 1},
		{"below a title", table("Contacts of 2026||", "Name|E-mail|Age", "Ann|a@example.com|7"), 2},
		{"below a title and an empty row", table("Report||", "||", "Name|E-mail|Age", "Ann|a@example.com|7"), 3},
		{"below a merged row", table("Person||Address||", "First|Last|Street|City|Since",
			"Ann|Lee|Elm 1|Oslo|2026-01-01", "Bo|Ray|Oak 2|Rome|2026-01-02"), 2},
		{"below what a program wrote", table("Generated:|2026-01-01||", "Rows:|2||", "Id|Name|Price|Stock",
			"1|Pen|1.50|3", "2|Ink|2.50|0"), 3},
		{"with an empty cell in it", table("Id||Price", "1|Pen|1.5", "2|Ink|2.5"), 1},
		{"with repeated and empty cells above full rows", table("Name|E-mail|Name|", "Ann|a@example.com|Lee|x",
			"Bob|b@example.com||y"), 1},
		{"of a single column", table("E-mail", "a@example.com", "b@example.com"), 1},
		{"without anything below", table("Name|E-mail"), 1},
		{"beside years", table("Region|2024|2025", "North|1|2", "South|3|4"), 1},
		{"after empty rows", table("|", "|", "Name|Age", "Ann|7"), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := column.Examine(tt.rows, 0)
			if p.HeaderRow != tt.want || p.Confidence <= 0 || p.Confidence > 1 {
				t.Errorf("row %d with confidence %v, want row %d", p.HeaderRow, p.Confidence, tt.want)
			}
		})
	}
}

func TestAnEmptyTabHasNoHeader(t *testing.T) {
	for name, rows := range map[string][][]*string{"without rows": nil, "of empty rows": table("|", "|")} {
		if p := column.Examine(rows, 0); p.HeaderRow != 0 || p.Headers != nil || p.Confidence != 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := column.Examine(nil, 7); p.HeaderRow != 7 || p.Headers != nil {
		t.Errorf("beyond its end: %+v", p)
	}
}

func TestAHeaderBelowTheFirstRowsIsNotLookedFor(t *testing.T) {
	lines := slices.Repeat([]string{"|"}, column.HeaderWindow)
	if p := column.Examine(table(append(lines, "Name|Age", "Ann|7")...), 0); p.Headers != nil {
		t.Errorf("found in row %d", p.HeaderRow)
	}
}

func TestAGivenHeaderRowIsTakenAsItIs(t *testing.T) {
	for headerRow, want := range map[int][2]int{
		3:    {0, 2 + 1 + column.SampleWindow},
		1000: {1000 - 1 - column.LeadingRows, column.LeadingRows + 1 + column.SampleWindow},
	} {
		if skip, n := column.Window(headerRow); skip != want[0] || n != want[1] {
			t.Fatalf("Window(%d) = %d, %d", headerRow, skip, n)
		}
	}
	p := column.Examine(table("1|2", "3|4", "5|6", "7|8", "9|0"), 3)
	if p.HeaderRow != 3 || p.Confidence != 1 || !slices.Equal(names(p), []string{"5", "6"}) || len(p.Rows) != 2 ||
		*p.Rows[0][0] != "7" {
		t.Errorf("%+v", p)
	}
}

func TestATableWithoutAHeaderHasColumnsNamedByTheirLetters(t *testing.T) {
	if skip, n := column.Window(column.NoHeader); skip != 0 || n != column.SampleWindow {
		t.Errorf("Window = %d, %d", skip, n)
	}
	p := column.Examine(table("a@example.com|A|1", "b@example.com|B|2|x"), column.NoHeader)
	if diff := cmp.Diff([]string{"A", "B", "C", "D"}, names(p)); diff != "" {
		t.Error(diff)
	}
	if p.HeaderRow != column.NoHeader || p.Confidence != 1 || len(p.Rows) != 2 || *p.Rows[0][0] != "a@example.com" ||
		p.Headers[0].Type != column.Email || p.Headers[2].Type != column.Integer || p.Leading != nil {
		t.Errorf("%+v", p)
	}
	if p := column.Examine(nil, column.NoHeader); p.Headers != nil {
		t.Errorf("empty: %+v", p)
	}
}

func TestUnitsBelowTheHeaderDoNotChangeTypes(t *testing.T) {
	p := column.Examine(table("Time|Weight", "s|kg", "0|20.5", "1|21.5"), 0)
	if p.HeaderRow != 1 || p.Headers[0].Type != column.Integer || p.Headers[1].Type != column.Number ||
		*p.Rows[0][1] != "kg" {
		t.Errorf("%+v", p)
	}
}

func TestAnUncertainHeaderHasCandidates(t *testing.T) {
	p := column.Examine(table("foo|bar", "alpha|beta", "gamma|delta"), 0)
	if p.Confidence >= column.SureHeader || !slices.Equal(p.Candidates, []int{1, 2, 3}) {
		t.Errorf("%+v", p)
	}
	if p := column.Examine(table("Name|E-mail", "Ann|a@example.com"), 0); p.Candidates != nil {
		t.Errorf("%+v", p)
	}
}

func TestColumnsNeverVanishAndNeverShareAName(t *testing.T) {
	for _, tt := range []struct {
		header, row string
		want        []string
	}{
		{"Name||Name|Name", "a|b|c|d", []string{"Name", "Column B", "Name (2)", "Name (3)"}},
		{"Name|Name (2)|Name", "a|b|c", []string{"Name", "Name (2)", "Name (3)"}},
		{"Name|Name|Name (2)", "a|b|c", []string{"Name", "Name (3)", "Name (2)"}},
		{"Column B|", "a|b", []string{"Column B", "Column B (2)"}},
		{"First\n name|first name", "a|b", []string{"First name", "first name"}},
		{"Name", "a|b|c", []string{"Name", "Column B", "Column C"}},
		{"Name|Age||", "a|1||", []string{"Name", "Age"}},
	} {
		p := column.Examine(table(tt.header, tt.row), 1)
		if diff := cmp.Diff(tt.want, names(p)); diff != "" {
			t.Errorf("%q: %s", tt.header, diff)
		}
		for _, row := range p.Rows {
			if len(row) != len(p.Headers) {
				t.Errorf("%q: a row of %d cells below %d headers", tt.header, len(row), len(p.Headers))
			}
		}
	}
}

func TestTheRowsAboveAHeaderAreShownAsTheyAre(t *testing.T) {
	lines := []string{"too far up", "Our people||", "|", "|as of|March"}
	for n := len(lines); n < column.LeadingRows+1; n++ {
		lines = append(lines, "note")
	}
	lines = append(lines, "Name|Age", "Ann|7", "Bob|8")
	headerRow := len(lines) - 2
	skip, n := column.Window(headerRow)
	p := column.Examine(table(lines[skip:min(skip+n, len(lines))]...), headerRow)
	if len(p.Leading) != column.LeadingRows || len(p.Leading[0]) != 1 || *p.Leading[0][0] != "Our people" ||
		len(p.Leading[1]) != 0 || len(p.Leading[2]) != 3 || p.Leading[2][0] != nil || *p.Leading[2][2] != "March" {
		t.Errorf("leading = %v", p.Leading)
	}
	if !slices.Equal(names(p), []string{"Name", "Age"}) || len(p.Rows) != 2 {
		t.Errorf("%+v", p)
	}
	if p := column.Examine(table("Our people", "Name|Age", "Ann|7"), 0); p.HeaderRow != 2 || len(p.Leading) != 1 {
		t.Errorf("found in row %d, below %v", p.HeaderRow, p.Leading)
	}
	if p := column.Examine(table("Name|Age", "Ann|7"), 1); len(p.Leading) != 0 {
		t.Errorf("leading = %v", p.Leading)
	}
}

func TestRowsWithMoreThanTheirCharactersAreNotShown(t *testing.T) {
	long := strings.Repeat(strings.Repeat("é", column.MaxCell)+"|", column.MaxColumns-1)
	upper, children := []string{long, long}, []string{long, long, long, long}
	p := column.Examine(table(append(append(upper, "Name|Age"), children...)...), 3)
	if len(p.Leading) != 2 || len(p.Rows) != column.ShownRows {
		t.Errorf("%d rows above, %d below", len(p.Leading), len(p.Rows))
	}
	p = column.Examine(table(append([]string{"Name|Age"}, children...)...), 1)
	assert.Equal(t, "rows below", len(p.Rows), column.ShownRows+2)
	p = column.Examine(table(long, long, long, "a|b", "1|2", "3|4", "5|6"), 4)
	if len(p.Leading) != 2 || len(p.Rows) != column.ShownRows {
		t.Errorf("%d rows above, %d below", len(p.Leading), len(p.Rows))
	}
}

func TestTwentyRowsAreShownAndMoreLookedAt(t *testing.T) {
	var lines []string
	for n := range column.MaxShownRows + 1 {
		lines = append(lines, fmt.Sprint(n, "|", n), "|")
	}
	if p := column.Examine(table(append([]string{"Code|Price"}, lines...)...), 1); len(p.Rows) != column.MaxShownRows {
		t.Errorf("%d rows are shown", len(p.Rows))
	}
	p := column.Examine(table("Code|Price", "|", "1|2", "|", "2|", "x|2.5"), 1)
	if len(p.Rows) != 3 || *p.Rows[0][0] != "1" || *p.Rows[1][0] != "2" || p.Rows[1][1] != nil {
		t.Errorf("rows = %v", p.Rows)
	}
	if p.Headers[0].Type != column.String || p.Headers[1].Type != column.Number || p.Headers[1].Column != "B" {
		t.Errorf("headers = %+v", p.Headers)
	}
}

func TestColumnsBeyondTheLimitAreLeftOut(t *testing.T) {
	wide := make([]*string, 16384)
	for i := range wide {
		wide[i] = column.Cell(fmt.Sprint("c", i))
	}
	p := column.Examine([][]*string{wide, wide}, 0)
	if len(p.Headers) != column.MaxColumns || p.Headers[199].Column != "GR" || len(p.Rows[0]) != column.MaxColumns {
		t.Errorf("%d headers, rows of %d", len(p.Headers), len(p.Rows[0]))
	}
}
