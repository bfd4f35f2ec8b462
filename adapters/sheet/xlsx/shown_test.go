package xlsx_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/adapters/sheet/xlsx"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCellsAreReadAsExcelShowsThem(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from1904 bool
		code     string // "": of a format that has only a number
		number   int
		value    any
		want     string
		locale   string
	}{
		{"a zero section", false, `"Yes";"Yes";"No"`, 0, 0, "No", ""},
		{"a zero section that shows nothing", false, `0;-0;;@`, 0, 0, "<nil>", ""},
		{"the zero of accounting", false, `_("$"* #,##0.00_);_("$"* \(#,##0.00\);_("$"* "-"??_);_(@_)`, 0, 0, "$-", ""},
		{"a telephone number", false, `[<=9999999]###\-####;\(###\)\ ###\-####`, 0, 5551234567, "(555) 123-4567", ""},
		{"the short date", false, "", 14, 45355.604, "3/4/2024", ""},
		{"the short date with the time", false, "", 22, 45355.604, "3/4/2024 14:29", ""},
		{"the short date of Germany", false, "", 14, 45355.604, "04.03.2024", "de-DE"},
		{"the short date of Canada with the time", false, "", 22, 45355.3, "2024-03-04 07:12", "fr-CA"},
		{"the short date of Turkey with the time", false, "", 22, 45355.3, "4.03.2024 07:12", "tr-TR"},
		{"a date with a format of its own in Germany", false, "d/m/yy", 0, 45355, "4/3/24", "de-DE"},
		{"a day of January 1904", true, "yyyy-mm-dd", 0, 5, "1904-01-06", ""},
		{"an elapsed time", false, "[h]:mm:ss", 0, 1.5, "36:00:00", ""},
		{"tenths of a second", false, "mm:ss.0", 0, 0.0423726852, "01:01.0", ""},
		{"a fraction", false, "# ?/?", 0, 1.5, "1 1/2", ""},
		{"an escaped character", false, "", 0, "a_x000D_b", "a\nb", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := excelize.NewFile()
			style := &excelize.Style{NumFmt: tt.number}
			if tt.code != "" {
				style.CustomNumFmt = &tt.code
			}
			id, err := f.NewStyle(style)
			require.NoError(t, err)
			for path, v := range map[string]any{"A1": "Head", "B1": "Name", "A2": tt.value, "B2": "x"} {
				require.NoError(t, f.SetCellValue("Sheet1", path, v))
			}
			require.NoError(t, f.SetCellStyle("Sheet1", "A2", "A2", id))
			require.NoError(t, f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &tt.from1904}))
			var out bytes.Buffer
			require.NoError(t, f.Write(&out))
			s, err := xlsx.Read(bytes.NewReader(out.Bytes()), int64(out.Len()), source.SheetLocation{HeaderRow: 1,
				Locale: tt.locale})
			require.NoError(t, err)
			got := "<nil>"
			if cell := s.Preview.Rows[0][0]; cell != nil {
				got = *cell
			}
			if got != tt.want {
				t.Errorf("shown as %q, want %q", fmt.Sprint(got), tt.want)
			}
		})
	}
}
