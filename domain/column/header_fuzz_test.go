package column_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// FuzzExamine guesses the header of tables, which are given as lines of cells with bars between.
func FuzzExamine(f *testing.F) {
	for _, table := range []string{
		"Name|Age\nAnn|7\nBob|8", "\n\nTitle\nName|Name|\nx|y|z", "1|2|3\n4|5|6", "||||\n|||", "a|a|a (2)|a\n1",
		"Column B||x", strings.Repeat(" ", 300) + "x|y\n1|2", strings.Repeat("a|", 300), "\u00a0|\u200b|\u0085\n1|2|3",
		"2026-01-01|yes\nno|1e400", "\xff|\x00\n1|2",
	} {
		f.Add(table, 0)
		f.Add(table, 1)
	}
	f.Fuzz(func(t *testing.T, table string, headerRow int) {
		if headerRow < 0 || headerRow > source.MaxHeaderRow {
			return // the contract refuses it
		}
		var rows [][]*string
		for line := range strings.SplitSeq(table, "\n") {
			var row []*string
			for cell := range strings.SplitSeq(line, "|") {
				row = append(row, column.Cell(cell))
			}
			rows = append(rows, row)
		}
		if _, maximum := column.Window(headerRow); len(rows) > maximum {
			rows = rows[:maximum]
		}
		p := column.Examine(rows, headerRow)
		if p.Confidence < 0 || p.Confidence > 1 || p.HeaderRow < 0 || len(p.Headers) > column.MaxColumns ||
			len(p.Rows) > column.MaxShownRows || len(p.Leading) > column.LeadingRows {
			t.Errorf("%q: row %d, confidence %v, %d headers, %d rows", table, p.HeaderRow, p.Confidence, len(p.Headers),
				len(p.Rows))
		}
		names := map[string]bool{}
		for _, h := range p.Headers {
			if strings.TrimSpace(h.Name) == "" || names[h.Name] {
				t.Errorf("%q: the header %q is blank or there twice", table, h.Name)
			}
			names[h.Name] = true
		}
		for _, row := range p.Rows {
			if len(row) != len(p.Headers) {
				t.Errorf("%q: %d cells below %d headers", table, len(row), len(p.Headers))
			}
		}
	})
}
