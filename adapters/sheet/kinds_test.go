package sheet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/contract/sheets"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// cellKind is a kind of cell of a format, the type of a field, and the cells as the file has them, each with what it is
// in the field: as JSON, or the reason why it is none after an exclamation mark.
type cellKind struct {
	name  string
	field column.Type
	cells [][2]string
}

// styles are number formats of cells, by their places in the workbook of workbookOf.
var styles = []string{"General", "0%", `"$"#,##0.00`, "yyyy-mm-dd", "m/d/yyyy", "yyyy-mm-dd hh:mm", "h:mm", "[h]:mm:ss",
	"0", ";;;", "# ?/?", "@", "0.00E+00"}

func inFormat(format string) string { return fmt.Sprintf(`s="%d"`, slices.Index(styles, format)) }

// workbookOf has a column of cells, whose elements are given without their place.
func workbookOf(t *testing.T, cells []string) []byte {
	t.Helper()
	var formats, usedText, rows strings.Builder
	for i, code := range styles {
		fmt.Fprintf(&formats, `<numFmt numFmtId="%d" formatCode="%s"/>`, 200+i, strings.ReplaceAll(code, `"`, "&quot;"))
		fmt.Fprintf(&usedText, `<xf numFmtId="%d"/>`, 200+i)
	}
	for i, cell := range cells {
		fmt.Fprintf(&rows, `<row r="%d">%s</row>`, i+2, cell)
	}
	parts := append(workbookParts()[:3], [2]string{"xl/_rels/workbook.xml.rels", `<Relationships>` +
		`<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" ` +
		`Target="worksheets/sheet1.xml"/><Relationship Id="r2" ` +
		`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/>` +
		`</Relationships>`},
		[2]string{"xl/styles.xml", `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts>` +
			formats.String() + `</numFmts><cellXfs>` + usedText.String() + `</cellXfs></styleSheet>`},
		[2]string{"xl/worksheets/sheet1.xml", sheetBegin + `<sheetData><row r="1"><c t="inlineStr"><is><t>Head</t></is></c>` +
			`<c t="inlineStr"><is><t>Other</t></is></c></row>` + rows.String() + `</sheetData></worksheet>`})
	return fixture.Zipped(t, parts...)
}

func odsOf(t *testing.T, cells []string) []byte {
	t.Helper()
	rows := `<table:table-row><table:table-cell><text:p>Head</text:p></table:table-cell><table:table-cell><text:p>Other` +
		`</text:p></table:table-cell></table:table-row>`
	for _, cell := range cells {
		rows += `<table:table-row>` + cell + `</table:table-row>`
	}
	return fixture.ODSOf(t, odsBegin+rows+odsEnd)
}

// checkCells checks that rows of a file with a column of the cells of each kind have their values, as a multiset. Each
// row has another cell, so that no row is empty.
func checkCells(t *testing.T, kinds []cellKind, other string, file func(*testing.T, []string) []byte) {
	t.Helper()
	folder := t.TempDir()
	documents := sheet.NewDocuments(guard, nil, folder, limits())
	for i, kind := range kinds {
		t.Run(kind.name+" as "+string(kind.field), func(t *testing.T) {
			var cells, want []string
			for _, cell := range kind.cells {
				cells, want = append(cells, cell[0]+other), append(want, cell[1])
			}
			sheets.Values(t, documents, put(t, folder, fmt.Sprint(i), file(t, cells)), kind.field, want)
		})
	}
}

func number(format, value string) string {
	return `<c ` + inFormat(format) + `><v>` + value + `</v></c>`
}

// TestRowsHaveEachKindOfCellOfAWorkbook has the types of ECMA-376 part 1, 18.18.11 (ST_CellType): b, d, e, inlineStr,
// n and str. Other tests have shared strings (s).
func TestRowsHaveEachKindOfCellOfAWorkbook(t *testing.T) {
	checkCells(t, []cellKind{
		{"numbers", column.Number, [][2]string{{number("General", "0.1"), "0.1"}, {number("General",
			"0.30000000000000004"), "0.30000000000000004"}, {number("General", "1E+300"), "1E+300"},
			{number("0", "1.5"), "1.5"}, {number("0.00E+00", "123456"), "123456"}, {number(";;;", "7"), "7"},
			{number("# ?/?", "0.333"), "0.333"}, {number("@", "12"), "12"}, {number("General", "-0"), "-0"},
			{number("General", "1e999"), "!wrong_type"}}},
		{"percentages and currencies", column.Number, [][2]string{{number("0%", "0.125"), "0.125"},
			{number(`"$"#,##0.00`, "1234.5678"), "1234.5678"}}},
		{"whole numbers", column.Integer, [][2]string{{number("General", "9007199254740993"), "9007199254740993"},
			{number("0", "1.5"), "!wrong_type"}, {number("General", "1E+20"), "!wrong_type"}}},
		{"dates", column.Date, [][2]string{{number("yyyy-mm-dd", "45351"), `"2024-02-29"`},
			{number("m/d/yyyy", "45355"), `"2024-03-04"`}, {number("yyyy-mm-dd", "2958465"), `"9999-12-31"`},
			{number("yyyy-mm-dd", "2958466"), "!wrong_type"}, {number("yyyy-mm-dd", "-1"), "!wrong_type"},
			{number("yyyy-mm-dd", "60"), "!wrong_type"}, // 29 February 1900, which there was not
			{number("yyyy-mm-dd", "61"), `"1900-03-01"`}, {number("yyyy-mm-dd", "1"), `"1900-01-01"`},
			{number("yyyy-mm-dd", "59"), `"1900-02-28"`}, {number("General", "45351"), "!wrong_type"}}},
		{"moments", column.DateTime, [][2]string{{number("yyyy-mm-dd hh:mm", "45351.75"), `"2024-02-29T18:00:00"`},
			{number("m/d/yyyy", "45351.5"), `"2024-02-29T12:00:00"`},
			{number("yyyy-mm-dd hh:mm", "45351.999988425924"), `"2024-02-29T23:59:59"`},
			{number("yyyy-mm-dd hh:mm", "45351.00000579861"), `"2024-02-29T00:00:00.501"`}}},
		{"times and durations", column.String, [][2]string{{number("h:mm", "0.5"), `"12:00"`},
			{number("[h]:mm:ss", "1.5"), `"36:00:00"`}}},
		{"times and durations", column.DateTime, [][2]string{{number("h:mm", "0.5"), "!wrong_type"},
			{number("[h]:mm:ss", "1.5"), "!wrong_type"}}},
		{"times and durations", column.Number, [][2]string{{number("h:mm", "0.5"), "0.5"},
			{number("[h]:mm:ss", "1.5"), "1.5"}}},
		{"dates of type d", column.Date, [][2]string{{`<c t="d"><v>2024-03-04</v></c>`, `"2024-03-04"`},
			{`<c t="d" ` + inFormat("m/d/yyyy") + `><v>2024-03-04T05:06:07</v></c>`, `"2024-03-04"`},
			{`<c t="d"><v>no date</v></c>`, "!wrong_type"}}},
		{"dates of type d", column.DateTime, [][2]string{
			{`<c t="d" ` + inFormat("m/d/yyyy") + `><v>2024-03-04T05:06:07.125</v></c>`, `"2024-03-04T05:06:07.125"`}}},
		{"booleans", column.Boolean, [][2]string{{`<c t="b"><v>1</v></c>`, "true"}, {`<c t="b"><v>0</v></c>`, "false"}}},
		{"booleans", column.Number, [][2]string{{`<c t="b"><v>1</v></c>`, "!wrong_type"}}},
		{"errors", column.String, [][2]string{{`<c t="e"><v>#DIV/0!</v></c>`, "!wrong_type"},
			{`<c t="e"><v>#N/A</v></c>`, "!wrong_type"}, {`<c t="e"><v>#SPILL!</v></c>`, "!wrong_type"}}},
		{"errors", column.Number, [][2]string{{`<c t="e"><v>#NUM!</v></c>`, "!wrong_type"}}},
		{"texts", column.String, [][2]string{{`<c t="inlineStr"><is><t>a</t></is></c>`, `"a"`},
			{`<c t="inlineStr"><is><r><t>ri</t></r><r><rPr><b/></rPr><t>ch</t></r></is></c>`, `"rich"`},
			{`<c t="str"><v>n/a</v></c>`, `"n/a"`}, {`<c t="inlineStr"><is><t></t></is></c>`, "null"},
			{`<c t="inlineStr"><is><t>a_x000D_</t></is></c>`, `"a\n"`}}},
		{"texts", column.Number, [][2]string{{`<c t="str"><v>n/a</v></c>`, "null"}, {`<c t="str"><v>word</v></c>`,
			"!wrong_type"}, {`<c t="inlineStr"><is><t>12,5</t></is></c>`, "12.5"}}},
		{"formulas", column.String, [][2]string{{`<c t="str"><f>A1</f><v>result</v></c>`, `"result"`},
			{`<c t="str"><f>""</f><v></v></c>`, "null"}, {`<c><f>A1</f></c>`, "!wrong_type"},
			{`<c><f>A1</f><v></v></c>`, "!wrong_type"}}},
		{"formulas", column.Number, [][2]string{{`<c><f>A1</f><v>2.5</v></c>`, "2.5"}, {`<c><f>A1</f></c>`, "!wrong_type"},
			{`<c t="e"><f>A1</f><v>#REF!</v></c>`, "!wrong_type"}}},
		{"empty cells", column.Number, [][2]string{{`<c/>`, "null"}, {`<c s="1"/>`, "null"}, {`<c><v></v></c>`, "null"}}},
	}, `<c r="B9" t="inlineStr"><is><t>x</t></is></c>`, workbookOf)
}

func odsCell(kind, attributes, text string) string {
	if text != "" {
		text = `<text:p>` + text + `</text:p>`
	}
	return `<table:table-cell office:value-type="` + kind + `" ` + attributes + `>` + text + `</table:table-cell>`
}

// TestRowsHaveEachKindOfCellOfAnOpenDocument has the types of OpenDocument 1.3 part 3, 19.385 (office:value-type):
// boolean, currency, date, float, percentage, string, time and void. A program need not write what is shown.
func TestRowsHaveEachKindOfCellOfAnOpenDocument(t *testing.T) {
	checkCells(t, []cellKind{
		{"numbers", column.Number, [][2]string{{odsCell("float", `office:value="0.30000000000000004"`, "0.3"),
			"0.30000000000000004"}, {odsCell("float", `office:value="1E+300"`, ""), "1E+300"},
			{odsCell("float", `office:value="1.234"`, "1,234"), "1.234"}}},
		{"numbers", column.String, [][2]string{{odsCell("float", `office:value="0.25"`, "25 %"), `"25 %"`},
			{odsCell("float", `office:value="0.25"`, ""), `"0.25"`}}},
		{"percentages and currencies", column.Number, [][2]string{{odsCell("percentage", `office:value="0.125"`, "13 %"),
			"0.125"}, {odsCell("currency", `office:currency="EUR" office:value="1234.5678"`, "1.234,57 €"), "1234.5678"}}},
		{"dates", column.Date, [][2]string{{odsCell("date", `office:date-value="2024-03-04"`, "3/4/24"), `"2024-03-04"`},
			{odsCell("date", `office:date-value="2024-03-04T05:06:07"`, "3/4/24"), `"2024-03-04"`},
			{odsCell("date", `office:date-value="2024-03-04"`, ""), `"2024-03-04"`},
			{odsCell("date", `office:date-value="-0044-03-15"`, "15.3.44"), "!wrong_type"}}},
		{"dates", column.String, [][2]string{{odsCell("date", `office:date-value="2024-03-04"`, "4. März"), `"4. März"`},
			{odsCell("date", `office:date-value="2024-03-04"`, ""), `"2024-03-04"`}}},
		{"moments", column.DateTime, [][2]string{{odsCell("date", `office:date-value="2024-03-04T05:06:07.123456789"`,
			"3/4/24"), `"2024-03-04T05:06:07.123456789"`}}},
		{"times", column.String, [][2]string{{odsCell("time", `office:time-value="PT12H30M00S"`, "12:30"), `"12:30"`},
			{odsCell("time", `office:time-value="PT12H30M00S"`, ""), `"PT12H30M00S"`}}},
		{"times", column.DateTime, [][2]string{{odsCell("time", `office:time-value="PT12H30M00S"`, "12:30"),
			"!wrong_type"}, {odsCell("time", `office:time-value="PT12H30M00S"`, ""), "!wrong_type"}}},
		{"booleans", column.Boolean, [][2]string{{odsCell("boolean", `office:boolean-value="true"`, "WAHR"), "true"},
			{odsCell("boolean", `office:boolean-value="false"`, ""), "false"}}},
		{"booleans", column.String, [][2]string{{odsCell("boolean", `office:boolean-value="false"`, ""), `"false"`}}},
		{"texts", column.String, [][2]string{{odsCell("string", "", "a<text:s/>b<text:line-break/><text:span>c</text:span>"),
			`"a b\nc"`}, {odsCell("string", `office:string-value="hidden"`, ""), `"hidden"`},
			{odsCell("string", `office:string-value=""`, ""), "null"}}},
		{"errors", column.String, [][2]string{{odsCell("string", `office:string-value=""`, "#DIV/0!"), "!wrong_type"},
			{odsCell("string", `office:string-value=""`, "Err:502"), "!wrong_type"}}},
		{"formulas", column.Number, [][2]string{{odsCell("float", `table:formula="of:=1" office:value="2.5"`, "2.5"), "2.5"},
			{`<table:table-cell table:formula="of:=1"/>`, "!wrong_type"}}},
		{"formulas", column.String, [][2]string{{odsCell("string", `table:formula="of:=&quot;&quot;"`, ""), "null"},
			{`<table:table-cell table:formula="of:=1"/>`, "!wrong_type"}}},
		{"empty cells", column.Number, [][2]string{{`<table:table-cell/>`, "null"},
			{`<table:table-cell office:value-type="void"/>`, "null"}}},
	}, `<table:table-cell><text:p>x</text:p></table:table-cell>`, odsOf)
}

// TestAnOpenDocumentIsRecognisedWhereverItsMediaTypeIs has the parts in the order in which SheetJS writes them. Part 3,
// 3.3 wants the media type first, and LibreOffice reads both.
func TestAnOpenDocumentIsRecognisedWhereverItsMediaTypeIs(t *testing.T) {
	folder := t.TempDir()
	cell := `<table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell></table:table-row>`
	content := fixture.Zipped(t, [2]string{"content.xml", odsBegin + cell + odsEnd}, [2]string{"mimetype",
		"application/vnd.oasis.opendocument.spreadsheet"})
	s, err := confined(t, folder).Preview(t.Context(), "", put(t, folder, "people.ods", content))
	if err != nil || len(s.Preview.Headers) != 1 {
		t.Errorf("%+v, %v", s.Preview, err)
	}
}

func TestRowsHaveEachKindOfCellOfAText(t *testing.T) {
	checkCells(t, []cellKind{
		{"numbers", column.Number, [][2]string{{"0.30000000000000004", "0.30000000000000004"}, {`"1,234.50"`, "1234.50"},
			{"50 %", "0.5"}, {"$1.25", "1.25"}, {"1e3", "1e3"}, {"n/a", "null"}, {"", "null"}, {"word", "!wrong_type"},
			{"NaN", "!wrong_type"}, {"#REF!", "!wrong_type"}}},
		{"texts", column.String, [][2]string{{"007", `"007"`}, {`="02139"`, `"02139"`}, {`"=""a """"b"""""""`, `"a \"b\""`},
			{`="1"+"2"`, `"=\"1\"+\"2\""`}, {`"a ""b"""`, `"a \"b\""`}, {"n/a", `"n/a"`}, {"", "null"},
			{"#REF!", "!wrong_type"}}},
		{"dates", column.Date, [][2]string{{"2024-02-29", `"2024-02-29"`}, {"2023-02-29", "!wrong_type"},
			{"3/4/2024", "!ambiguous"}}},
		{"booleans", column.Boolean, [][2]string{{"TRUE", "true"}, {"no", "false"}, {"2", "!wrong_type"}}},
	}, ",x", func(_ *testing.T, cells []string) []byte {
		return []byte("Head,Other\n" + strings.Join(cells, "\n") + "\n")
	})
}

func TestARowWhoseFormatsShowNothingIsNotLost(t *testing.T) {
	checkCells(t, []cellKind{{"numbers", column.Number, [][2]string{{number(";;;", "7"), "7"}}}}, "", workbookOf)
}
