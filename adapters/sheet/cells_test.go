package sheet_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sheet/xlsx"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestCellsOfARowAreReadInAnyOrder is also about formulas whose results were not stored, and one whose result is empty.
func TestCellsOfARowAreReadInAnyOrder(t *testing.T) {
	content := workbook(t, sheetBegin+`<sheetData><row r="1"><c r="B1" t="str"><v>Second</v></c>`+
		`<c r="A1" t="str"><v>First</v></c></row><row r="2"><c r="C2"><f>A2&amp;B2</f><v></v></c>`+
		`<c r="B2"><v>2</v></c><c r="A2"><v>1</v></c><c r="D2" t="str"><f>""</f><v></v></c></row></sheetData></worksheet>`)
	s, err := xlsx.Read(bytes.NewReader(content), int64(len(content)), source.SheetLocation{HeaderRow: 1})
	require.NoError(t, err)
	var got []string
	for _, h := range s.Preview.Headers {
		got = append(got, h.Name)
	}
	for _, cell := range s.Preview.Rows[0] {
		if cell == nil {
			cell = new("nothing")
		}
		got = append(got, *cell)
	}
	want := "[First Second Column C 1 2 #not calculated]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
