package sheet_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sheet/ods"
	"github.com/atrium-hq/atrium/adapters/sheet/xlsx"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
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

// TestACellThatIsMergedDownwardsIsInEachRow has a region over three rows, one of which has nothing else, a header with
// two rows, and cells that are merged sideways.
func TestACellThatIsMergedDownwardsIsInEachRow(t *testing.T) {
	const text = `<c r="%s" t="str"><v>%s</v></c>`
	row := func(number int, cells ...string) string {
		out := fmt.Sprintf(`<row r="%d">`, number)
		for i := 0; i < len(cells); i += 2 {
			out += fmt.Sprintf(text, cells[i], cells[i+1])
		}
		return out + `</row>`
	}
	book := workbook(t, sheetBegin+`<sheetData>`+row(1, "A1", "Region", "B1", "Sales", "C1", "Note")+
		row(2, "B2", "Shop", "C2", "Sum")+row(3, "A3", "North", "B3", "a")+`<row r="4"><c r="A4" s="0"/></row>`+
		row(5, "B5", "b", "C5", "wide")+row(6, "A6", "South", "B6", "c")+row(7, "B7", "d")+
		`</sheetData><mergeCells count="4"><mergeCell ref="A3:A5"/><mergeCell ref="A1:A2"/><mergeCell ref="C5:D5"/>`+
		`<mergeCell ref="A6:B6"/></mergeCells></worksheet>`)
	cell := func(attributes, text string) string {
		return `<table:table-cell ` + attributes + `><text:p>` + text + `</text:p></table:table-cell>`
	}
	const covered, begin, end = `<table:covered-table-cell/>`, `<table:table-row>`, `</table:table-row>`
	document := fixture.ODSOf(t, odsBegin+begin+cell(`table:number-rows-spanned="2"`, "Region")+cell("", "Sales")+
		cell("", "Note")+end+begin+covered+cell("", "Shop")+cell("", "Sum")+end+
		begin+cell(`table:number-rows-spanned="3"`, "North")+cell("", "a")+end+begin+covered+end+
		begin+covered+cell("", "b")+cell(`table:number-columns-spanned="2"`, "wide")+covered+end+
		begin+cell(`table:number-columns-spanned="2"`, "South")+covered+end+
		begin+`<table:table-cell/>`+cell("", "d")+end+odsEnd)
	for name, tt := range map[string]struct {
		rows    func(io.ReaderAt, int64, source.SheetLocation, func(int, []*string, []*string) error) error
		content []byte
		south   string
	}{"xlsx": {xlsx.Rows, book, "6 South c;"}, "ods": {ods.Rows, document, "6 South;"}} {
		got := ""
		file, location := bytes.NewReader(tt.content), source.SheetLocation{HeaderRow: 2}
		require.NoError(t, tt.rows(file, int64(len(tt.content)), location,
			func(number int, shownCells, _ []*string) error {
				got += fmt.Sprint(number)
				for _, c := range shownCells {
					if c == nil {
						c = new("-")
					}
					got += " " + *c
				}
				got += ";"
				return nil
			}))
		assert.Equal(t, name, got, "2 Region Shop Sum;3 North a;5 North b wide;"+tt.south+"7 - d;")
	}
}

// TestTheTotalsRowOfATableIsNoRow has a table with one, beside a table without, whose data is in the same row.
func TestTheTotalsRowOfATableIsNoRow(t *testing.T) {
	const relation = `<Relationship Id="r%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships` +
		`/table" Target="../tables/table%d.xml"/>`
	row := func(number int, texts ...string) string {
		out := fmt.Sprintf(`<row r="%d">`, number)
		for i, text := range texts {
			out += fmt.Sprintf(`<c r="%c%d" t="str"><v>%s</v></c>`, 'A'+i, number, text)
		}
		return out + `</row>`
	}
	content := workbook(t, sheetBegin+`<sheetData>`+row(1, "Name", "Sum", "Place")+row(2, "a", "1", "x")+
		row(3, "Total", "1", "y")+row(4, "Total")+`</sheetData></worksheet>`,
		[2]string{"xl/worksheets/_rels/sheet1.xml.rels", `<Relationships>` + fmt.Sprintf(relation, 1, 1) +
			fmt.Sprintf(relation, 2, 2) + fmt.Sprintf(relation, 3, 3) + `</Relationships>`},
		[2]string{"xl/tables/table1.xml", `<table ref="A1:B3" totalsRowCount="1"/>`},
		[2]string{"xl/tables/table2.xml", `<table ref="C1:C3" totalsRowShown="0"/>`})
	s, err := xlsx.Read(bytes.NewReader(content), int64(len(content)), source.SheetLocation{HeaderRow: 1})
	require.NoError(t, err)
	assert.Equal(t, "the totals row", s.TotalsRow, 3)
	var got []string
	require.NoError(t, xlsx.Rows(bytes.NewReader(content), int64(len(content)), source.SheetLocation{HeaderRow: 1},
		func(number int, shownCells, _ []*string) error {
			got = append(got, fmt.Sprint(number, " ", len(shownCells), " ", shownCells[0] != nil))
			return nil
		}))
	assert.Equal(t, "rows, their cells, and whether they have a name", fmt.Sprint(got),
		"[1 3 true 2 3 true 3 3 false 4 1 true]")
	s, err = xlsx.Read(bytes.NewReader(content), int64(len(content)), source.SheetLocation{HeaderRow: 2})
	require.NoError(t, err)
	assert.Equal(t, "the totals row of another header", s.TotalsRow, 0)
}
