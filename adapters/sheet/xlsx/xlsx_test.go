package xlsx_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/adapters/sheet/xlsx"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestValuesAreShownAsExcelShowsThem reads what excelize wrote, and compares with what excelize
// itself shows of the whole workbook.
func TestValuesAreShownAsExcelShowsThem(t *testing.T) {
	f := excelize.NewFile()
	defer f.Close()
	check := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	instant := time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)
	custom := `#,##0.00" kg"`
	for i, c := range []struct {
		value  any
		format *excelize.Style
		want   string
	}{
		{1234.5, &excelize.Style{NumFmt: 4}, "1,234.50"},
		{0.125, &excelize.Style{NumFmt: 10}, "12.50%"},
		{instant, &excelize.Style{CustomNumFmt: new("dd.mm.yyyy")}, "31.01.2026"},
		{instant, &excelize.Style{CustomNumFmt: new("yyyy-mm-dd hh:mm")}, "2026-01-31 15:04"},
		{2.5, &excelize.Style{CustomNumFmt: &custom}, "2.50 kg"},
		{true, nil, "TRUE"},
		{1e20, nil, "1E+20"},
		{0.1 + 0.2, nil, "0.3"},
		{"text", nil, "text"},
	} {
		cell, err := excelize.CoordinatesToCellName(i+1, 2)
		check(err)
		head, err := excelize.CoordinatesToCellName(i+1, 1)
		check(err)
		check(f.SetCellStr("Sheet1", head, c.want))
		check(f.SetCellValue("Sheet1", cell, c.value))
		if c.format != nil {
			style, err := f.NewStyle(c.format)
			check(err)
			check(f.SetCellStyle("Sheet1", cell, cell, style))
		}
		page, err := f.GetCellValue("Sheet1", cell)
		check(err)
		assert.Equal(t, "excelize shows", page, c.want)
	}
	check(f.SetCellRichText("Sheet1", "A3",
		[]excelize.RichTextRun{{Text: "two "}, {Text: "runs", Font: &excelize.Font{Bold: true}}}))
	check(f.SetCellFormula("Sheet1", "B3", "1+1"))
	check(f.MergeCell("Sheet1", "C3", "D3"))
	check(f.SetCellStr("Sheet1", "C3", "merged"))
	out, err := f.WriteToBuffer()
	check(err)
	s, err := xlsx.Read(bytes.NewReader(out.Bytes()), int64(out.Len()), source.SheetLocation{HeaderRow: 1})
	check(err)
	for i, h := range s.Preview.Headers {
		want := h.Name
		if got := s.Preview.Rows[0][i]; got == nil || *got != want {
			t.Errorf("column %s: %v, want %q", h.Column, got, want)
		}
	}
	if row := s.Preview.Rows[1]; *row[0] != "two runs" || *row[1] != "#not calculated" ||
		*row[2] != "merged" || row[3] != nil {
		t.Errorf("row 3: %v", row)
	}
}
