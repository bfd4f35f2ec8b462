package sheet_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	sheetBegin = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">`
	odsBegin   = `<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet><table:table table:name="T">`
	odsEnd     = `</table:table></office:spreadsheet></office:body></office:document-content>`
)

// workbookParts are those of a workbook of one sheet, before the sheet.
func workbookParts() [][2]string {
	return [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels",
			`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>`},
	}
}

// workbook packs a workbook of one sheet, and more parts.
func workbook(t testing.TB, sheetXML string, extra ...[2]string) []byte {
	t.Helper()
	return fixture.Zipped(t, append(append(workbookParts(), [2]string{"xl/worksheets/sheet1.xml", sheetXML}),
		extra...)...)
}

// bomb packs parts, the last of which is begun and then goes on with 1 GiB of blanks.
func bomb(t testing.TB, parts ...[2]string) []byte { return bombOf(t, 1<<10, parts...) }

// bombOf packs one with so many MiB of blanks. Of these only the first are compressed: from then on
// what is compressed repeats itself.
func bombOf(t testing.TB, pieces int, parts ...[2]string) []byte {
	t.Helper()
	blank := bytes.Repeat([]byte(" "), 1<<20)
	last := parts[len(parts)-1]
	var packedBuffer bytes.Buffer
	w, err := flate.NewWriter(&packedBuffer, flate.BestSpeed)
	check := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	check(err)
	write := func(text []byte) (size int) {
		previous := packedBuffer.Len()
		_, err := w.Write(text)
		check(errors.Join(err, w.Flush()))
		return packedBuffer.Len() - previous
	}
	write([]byte(last[1]))
	write(blank)
	size := write(blank)
	second := bytes.Clone(packedBuffer.Bytes()[packedBuffer.Len()-size:])
	for range pieces - 2 {
		packedBuffer.Write(second)
	}
	check(w.Close())
	sum := crc32.ChecksumIEEE([]byte(last[1]))
	for range pieces {
		sum = crc32.Update(sum, crc32.IEEETable, blank)
	}
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, part := range parts[:len(parts)-1] {
		header := &zip.FileHeader{Name: part[0], Method: zip.Deflate}
		if part[0] == "mimetype" {
			header.Method = zip.Store
		}
		w, err := archive.CreateHeader(header)
		check(err)
		_, err = io.WriteString(w, part[1])
		check(err)
	}
	raw, err := archive.CreateRaw(&zip.FileHeader{
		Name: last[0], Method: zip.Deflate, CRC32: sum, CompressedSize64: uint64(packedBuffer.Len()),
		UncompressedSize64: uint64(len(last[1]) + pieces<<20),
	})
	check(err)
	_, err = raw.Write(packedBuffer.Bytes())
	check(errors.Join(err, archive.Close()))
	if out.Len() > 6<<20 {
		t.Fatalf("the bomb is of %d bytes", out.Len())
	}
	return out.Bytes()
}

func TestABombUnpacksToWhatItSays(t *testing.T) {
	content := bombOf(t, 5, [2]string{"a", "<a>"})
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	r, err := archive.File[0].Open()
	require.NoError(t, err)
	if n, err := io.Copy(io.Discard, r); err != nil || n != 5<<20+3 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// memory is what this process holds at most, ever, in bytes.
func memory(t testing.TB) int64 {
	var usedRusage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usedRusage))
	return usedRusage.Maxrss << 10
}

func TestLinesWithoutAnEndAreRefused(t *testing.T) {
	folder := t.TempDir()
	sheets := confined(t, folder)
	for name, content := range map[string]string{
		"one line":       strings.Repeat("a,", 10<<20),
		"one value":      strings.Repeat("a", 10<<20),
		"one quote":      `"` + strings.Repeat("a\n", 5<<20),
		"after a header": "Name,Age\n" + strings.Repeat("a", 2<<20),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := sheets.Preview(t.Context(), "", put(t, folder, "endless.csv", []byte(content))); !errors.Is(
				err, source.ErrFileTooLarge) {
				t.Errorf("err = %v", err)
			}
		})
	}
	t.Run("a line beyond those that are read does not matter", func(t *testing.T) {
		content := "Name,Age\n" + strings.Repeat("Ann,7\n", 1000) + strings.Repeat("a", 2<<20)
		s, err := sheets.Preview(t.Context(), "", put(t, folder, "late.csv", []byte(content)))
		if err != nil || s.Tab.Rows != 1002 {
			t.Errorf("%+v, %v", s.Tab, err)
		}
	})
}

func TestSheetsOfTheLargestSizeAreReadAtTheirHead(t *testing.T) {
	folder := t.TempDir()
	sheets := confined(t, folder)
	var x strings.Builder
	x.WriteString(sheetBegin + `<dimension ref="A1:XFD1048576"/><sheetData>`)
	for row := 1; row <= 60; row++ { // of all columns
		fmt.Fprintf(&x, `<row r="%d">`, row)
		for range 16384 {
			x.WriteString(`<c><v>1</v></c>`)
		}
		x.WriteString("</row>")
	}
	for row := 61; row <= 1<<20; row++ {
		n := strconv.Itoa(row)
		x.WriteString(`<row r="` + n + `"><c r="A` + n + `"><v>` + n + `</v></c></row>`)
	}
	x.WriteString("</sheetData></worksheet>")
	target := put(t, folder, "large.xlsx", workbook(t, x.String()))
	start := time.Now()
	s, err := sheets.Preview(t.Context(), "", target)
	if err != nil || s.Tab.Rows != 1<<20 || s.Tab.Columns != 16384 || len(s.Preview.Headers) != column.MaxColumns {
		t.Errorf("%+v with %d headers, %v", s.Tab, len(s.Preview.Headers), err)
	}
	t.Logf("1,048,576 rows and 16,384 columns: %v", time.Since(start))

	t.Run("as OpenDocument, whose repeated cells are not written out", func(t *testing.T) {
		content := odsBegin + `<table:table-row><table:table-cell table:number-columns-repeated="16384"><text:p>h</text:p></table:table-cell></table:table-row>` +
			`<table:table-row table:number-rows-repeated="1048575"><table:table-cell table:number-columns-repeated="16384"><text:p>v</text:p></table:table-cell></table:table-row>` + odsEnd
		s, err := sheets.Preview(t.Context(), "", put(t, folder, "large.ods", fixture.ODSOf(t, content)))
		if err != nil || s.Tab.Rows != 1<<20 || s.Tab.Columns != 16384 || len(s.Preview.Headers) != column.MaxColumns ||
			len(s.Preview.Rows) != column.MaxShownRows {
			t.Errorf("%+v with %d headers, %v", s.Tab, len(s.Preview.Headers), err)
		}
	})
	t.Run("as OpenDocument with numbers that are none", func(t *testing.T) {
		content := odsBegin + `<table:table-row table:number-rows-repeated="99999999999999999999"><table:table-cell table:number-columns-repeated="-5"><text:p>h<text:s text:c="2000000000"/></text:p></table:table-cell></table:table-row>` + odsEnd
		if s, err := sheets.Preview(t.Context(), "",
			put(t, folder, "odd.ods", fixture.ODSOf(t, content))); err != nil || len(s.Preview.Headers) != 1 {
			t.Errorf("%+v, %v", s.Preview, err)
		}
	})
}

func TestFormulasAreNotEvaluatedAndLinksNotFollowed(t *testing.T) {
	askedTexts := make(chan string, 8)
	h := newHost(t)
	h.mux.HandleFunc("/other.xlsx", func(http.ResponseWriter, *http.Request) { askedTexts <- "the link" })
	book := workbook(t, sheetBegin+
		`<sheetData><row r="1"><c r="A1" t="str"><v>Sum</v></c><c r="B1" t="str"><v>Call</v></c></row>`+
		`<row r="2"><c r="A2"><f>1+1</f><v>3</v></c><c r="B2" t="str"><f>WEBSERVICE("`+h.URL+
		`/other.xlsx")</f><v>cached</v></c></row>`+
		`<row r="3"><c r="A3"><f>1+1</f></c><c r="B3"><f>[1]S!A1</f></c></row></sheetData></worksheet>`,
		[2]string{"xl/externalLinks/externalLink1.xml", `<externalLink/>`},
		[2]string{"xl/externalLinks/_rels/externalLink1.xml.rels",
			`<Relationships><Relationship Id="r1" TargetMode="External" Target="` + h.URL +
				`/other.xlsx"/></Relationships>`})
	s, err := h.documents(limits()).Preview(t.Context(), "", h.put("/book.xlsx", book))
	require.NoError(t, err)
	if len(s.Preview.Rows) != 2 || *s.Preview.Rows[0][0] != "3" || *s.Preview.Rows[0][1] != "cached" ||
		*s.Preview.Rows[1][0] != "#not calculated" || *s.Preview.Rows[1][1] != "#not calculated" {
		t.Errorf("rows = %v", s.Preview.Rows)
	}
	select {
	case name := <-askedTexts:
		t.Errorf("%s was followed", name)
	default:
	}
}

func TestHowAWordIsSpokenIsNotPartOfIt(t *testing.T) {
	folder := t.TempDir()
	const text = `<t>漢字</t><rPh sb="0" eb="2"><t>かんじ</t></rPh>`
	book := workbook(t, sheetBegin+`<sheetData><row><c t="inlineStr"><is>`+text+
		`</is></c><c t="s"><v>0</v></c></row></sheetData></worksheet>`,
		[2]string{"xl/sharedStrings.xml", `<sst><si>` + text + `</si></sst>`})
	s, err := confined(t, folder).Preview(t.Context(), "", put(t, folder, "words.xlsx", book))
	if err != nil || s.Preview.Headers[0].Name != "漢字" || s.Preview.Headers[1].Name != "漢字 (2)" {
		t.Errorf("%+v, %v", s.Preview.Headers, err)
	}
}

func TestOddValuesAreShownAsTheyAre(t *testing.T) {
	folder := t.TempDir()
	sheets := confined(t, folder)
	var x strings.Builder
	x.WriteString(sheetBegin + `<sheetData><row r="1"><c t="str"><v>Value</v></c></row>`)
	for i, v := range []string{"NaN", "Infinity", "1e400", "-1e400", "2958466", "-1", "0", "1e308", "x",
		"99999999999999999999999"} {
		for _, kind := range []string{"", "n", "d", "b", "s", "e", "unknown"} {
			fmt.Fprintf(&x, `<row r="%d"><c t="%s" s="%d"><v>%s</v></c></row>`, i+2, kind, i, v)
		}
	}
	x.WriteString(`</sheetData></worksheet>`)
	styles := `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs count="2"><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="9999"/><xf numFmtId="-1"/></cellXfs></styleSheet>`
	for name, content := range map[string][]byte{
		"xlsx": workbook(t, x.String(), [2]string{"xl/styles.xml", styles}),
		"csv":  []byte("Value\nNaN\nInfinity\n1e400\n0000-01-01\n10000-01-01\n"),
	} {
		t.Run(name, func(t *testing.T) {
			target := put(t, folder, "odd."+name, content)
			target.Location.HeaderRow = 1
			s, err := sheets.Preview(t.Context(), "", target)
			if err != nil || s.Preview.Headers[0].Name != "Value" || len(s.Preview.Rows) < 5 {
				t.Errorf("%+v, %v", s.Preview, err)
			}
		})
	}
}

func TestWhatIsNoTableIsRefused(t *testing.T) {
	folder := t.TempDir()
	sheets := confined(t, folder)
	for name, content := range map[string]string{
		"nothing":                        "",
		"blanks":                         " \n\n",
		"a page":                         "<!DOCTYPE html><html><body>Sign in</body></html>",
		"a PDF":                          "%PDF-1.7\n",
		"a JSON array":                   `[{"name": "Ann"}]`,
		"DIF":                            "TABLE\r\n0,1\r\n\"EXCEL\"\r\n",
		"SYLK":                           "ID;PWXL;N;E\nC;Y1;X1;K\"Name\"\n",
		"JSON":                           `{"a": 1}`,
		"other markup":                   `<?xml version="1.0"?><Workbook/>`,
		"an old workbook":                "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600),
		"a picture":                      "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"zeros":                          strings.Repeat("\x00", 100),
		"another archive":                string(fixture.Zipped(t, [2]string{"a.txt", "a"})),
		"a broken archive":               "PK\x03\x04 and nothing else",
		"a document of words":            string(fixture.Zipped(t, [2]string{"_rels/.rels", `<Relationships><Relationship Type="x/officeDocument" Target="word/document.xml"/></Relationships>`}, [2]string{"word/document.xml", "<document/>"})),
		"a workbook in binary":           string(fixture.Zipped(t, [2]string{"_rels/.rels", `<Relationships><Relationship Type="x/officeDocument" Target="xl/workbook.bin"/></Relationships>`}, [2]string{"xl/workbook.bin", "\x83"})),
		"a workbook of no XML":           string(workbook(t, "<worksheet><sheetData><row><c><v>1</c>")),
		"an OpenDocument of no XML":      string(fixture.ODSOf(t, "<office")),
		"an OpenDocument without tables": string(fixture.ODSOf(t, "<a/>")),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := sheets.Preview(t.Context(), "", put(t, folder, "odd.csv", []byte(content))); !errors.Is(err,
				source.ErrUnsupportedFormat) {
				t.Errorf("err = %v", err)
			}
		})
	}
}
