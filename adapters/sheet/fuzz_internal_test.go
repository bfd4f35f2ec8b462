package sheet

import (
	"bytes"
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/fixture/xlsx"
)

// FuzzDocuments reads arbitrary bytes. The result must be a sheet that can be shown, or an error that a
// caller may see.
func FuzzDocuments(f *testing.F) {
	book := fixture.Workbook{Name: "people",
		Tabs: []fixture.Tab{{Title: "People", Rows: [][]string{{"Name", "Age"}, {"Ann", "7"}, {"Bob"}}},
			{Title: "Empty"}}}
	for _, content := range [][]byte{
		xlsx.Write(book, f), book.ODS(f), book.CSV(f), []byte("a;b\n\"1;2\n"), []byte("\xff\xfea\x00,\x00b\x00"),
		[]byte("<html>"), nil,
		fixture.ODSOf(f, `<office:spreadsheet xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><table:table><table:table-row/></table:table></office:spreadsheet>`),
	} {
		f.Add(content, "", 0)
		f.Add(content, "People", 2)
	}
	f.Fuzz(func(t *testing.T, content []byte, tab string, headerRow int) {
		if headerRow >= 0 && headerRow <= source.MaxHeaderRow { // the contract refuses others before
			holds(t, content, source.SheetLocation{Tab: tab, HeaderRow: headerRow})
		}
	})
}

// FuzzMarkup does the same with the parts inside documents.
func FuzzMarkup(f *testing.F) {
	f.Add(`<worksheet><dimension ref="A1:B2"/><sheetData><row r="2"><c r="B2" t="s" s="1"><v>0</v></c><c t="d"><v>2026-01-01</v></c><c t="inlineStr"><is><r><t>a</t></r></is></c></row></sheetData></worksheet>`, `<sst><si><t>a</t></si></sst>`, `<styleSheet><cellXfs><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs><numFmts><numFmt numFmtId="164" formatCode="0.00"/></numFmts></styleSheet>`)
	f.Add(`<o:s xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><table:table table:name="T"><table:table-row table:number-rows-repeated="3"><table:table-cell table:number-columns-repeated="2"><text:p>a<text:s text:c="3"/></text:p></table:table-cell><table:covered-table-cell/></table:table-row></table:table></o:s>`, ``, ``)
	const rels = `<Relationships><Relationship Id="r1" Type="/officeDocument" Target="w.xml"/></Relationships>`
	const parts = `<Relationships><Relationship Id="r1" Type="/worksheet" Target="s.xml"/><Relationship Id="r2" Type="/sharedStrings" Target="t.xml"/><Relationship Id="r3" Type="/styles" Target="y.xml"/></Relationships>`
	const book = `<workbook><sheets><sheet name="S" sheetId="1" id="r1"/></sheets></workbook>`
	f.Fuzz(func(t *testing.T, markup, texts, styles string) {
		holds(t, fixture.ODSOf(t, markup), source.SheetLocation{})
		holds(t, fixture.Zipped(t, [2]string{"_rels/.rels", rels}, [2]string{"_rels/w.xml.rels", parts},
			[2]string{"w.xml", book},
			[2]string{"s.xml", markup}, [2]string{"t.xml", texts}, [2]string{"y.xml", styles}), source.SheetLocation{})
	})
}

// holds reads a document and checks that the result can be shown.
func holds(t *testing.T, content []byte, location source.SheetLocation) {
	d := document{ReaderAt: bytes.NewReader(content), size: int64(len(content)), name: "people.csv", web: true}
	s, err := d.read(location)
	if err != nil {
		if _, ok := errors.AsType[*fault.Error](err); !ok {
			t.Errorf("an error of another kind: %v", err)
		}
		return
	}
	names := map[string]bool{}
	for _, h := range s.Preview.Headers {
		if h.Name == "" || names[h.Name] {
			t.Errorf("header %q is empty or there twice", h.Name)
		}
		names[h.Name] = true
	}
	for _, row := range s.Preview.Rows {
		if len(row) != len(s.Preview.Headers) {
			t.Errorf("a row of %d cells below %d headers", len(row), len(s.Preview.Headers))
		}
	}
	column.Suggest(source.CommonTypes()[0].Schema(), s.Preview.Headers, nil)
}
