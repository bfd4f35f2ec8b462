// Package xlsx reads the rows of Office Open XML workbooks (ECMA-376).
//
// It reads sheets of any size row by row. excelize formats some of the numbers, since it knows Excel's number formats;
// it never gets more than one cell and the styles.
package xlsx

import (
	"cmp"
	"encoding/xml"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// The most bytes that are unpacked from a part.
const (
	maxDirectory = 4 << 20  // of the part that lists the sheets
	maxStyles    = 8 << 20  // of the styles
	maxHead      = 64 << 20 // of a sheet, to the end of its first rows
	maxTexts     = 96 << 20 // of the texts that all sheets share, to the last one that is shown
	maxDimension = 1 << 20  // of a sheet, up to its dimension
)

// workbook is a document whose directory was read.
type workbook struct {
	pack   *zipfile.Package
	sheets []sheet
	styles string // the part, or ""
	texts  string // as styles
	dates  string // what the workbook says of its dates: 1904's attribute
	most   int    // a cell's characters
	locale string // as in source.SheetLocation

	maxSheet, maxTexts int64 // bytes that are unpacked of these parts

	dated   map[string]bool // the styles that show dates, as far as they are known
	shared  *texts          // nil before the first one is asked for
	codes   []string        // of numbers, by style; nil before the first number
	library *excelize.File  // formats other numbers; nil before the first one
}

type sheet struct {
	source.Tab
	part string
}

// Read reads a workbook's tabs and the head of one. Charts and macros are no tabs. An id is the
// number that Excel gave a sheet, which stays when it is renamed or moved.
func Read(r io.ReaderAt, size int64, location source.SheetLocation) (source.Sheet, error) {
	pack, err := zipfile.Open(r, size)
	if err != nil {
		return source.Sheet{}, err
	}
	b, err := open(pack)
	if err != nil {
		return source.Sheet{}, err
	}
	defer b.close()
	b.most, b.locale, b.maxSheet, b.maxTexts = column.MaxCell, location.Locale, maxHead, maxTexts
	var tabs []source.Tab
	for _, s := range b.sheets {
		tabs = append(tabs, s.Tab)
	}
	tab, err := source.FindTab(tabs, location.Tab)
	if err != nil {
		return source.Sheet{}, err
	}
	i := slices.Index(tabs, tab)
	for other := range tabs {
		if tabs[other].Rows, tabs[other].Columns, err = b.dimension(b.sheets[other].part); err != nil {
			return source.Sheet{}, err
		}
	}
	skip, n := column.Window(location.HeaderRow)
	rows, area, err := b.rows(b.sheets[i].part, skip, n)
	if err != nil {
		return source.Sheet{}, err
	}
	if area.all {
		tabs[i].Rows, tabs[i].Columns = area.rows, area.columns
	}
	out := source.Sheet{Tabs: tabs, Tab: tabs[i], Preview: column.Examine(rows, location.HeaderRow),
		Locale: cmp.Or(location.Locale, source.DefaultLocale)}
	for _, t := range b.totals(b.sheets[i].part) {
		if t.header == out.Preview.HeaderRow {
			out.TotalsRow = t.row
		}
	}
	return out, nil
}

// The types of relationships, which have one name in the transitional and another in the strict form
// of the standard; both end alike.
const (
	typeDocument  = "/officeDocument"
	typeWorksheet = "/worksheet"
	typeStyles    = "/styles"
	typeTexts     = "/sharedStrings"
	typeTable     = "/table"
)

type relationships struct {
	Relationship []struct {
		ID         string `xml:"Id,attr"`
		Type       string `xml:"Type,attr"`
		Target     string `xml:"Target,attr"`
		TargetMode string `xml:"TargetMode,attr"`
	}
}

// open locates a package's parts.
func open(pack *zipfile.Package) (*workbook, error) {
	var root relationships
	if err := pack.Decode("_rels/.rels", maxDirectory, &root); err != nil {
		return nil, err
	}
	b := &workbook{pack: pack}
	var main string
	for _, r := range root.Relationship {
		if strings.HasSuffix(r.Type, typeDocument) {
			main = resolve("", r.Target)
		}
	}
	if !pack.Has(main) || strings.HasSuffix(main, ".bin") { // the binary form
		return nil, source.ErrUnsupportedFormat
	}
	var parts relationships
	if err := pack.Decode(path.Join(path.Dir(main), "_rels", path.Base(main)+".rels"), maxDirectory,
		&parts); err != nil {
		return nil, err
	}
	worksheets := map[string]string{}
	for _, r := range parts.Relationship {
		if r.TargetMode == "External" {
			continue
		}
		target := resolve(path.Dir(main), r.Target)
		switch {
		case strings.HasSuffix(r.Type, typeWorksheet):
			worksheets[r.ID] = target
		case strings.HasSuffix(r.Type, typeStyles):
			b.styles = target
		case strings.HasSuffix(r.Type, typeTexts):
			b.texts = target
		}
	}
	var book struct {
		XMLName    xml.Name
		WorkbookPr struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets struct {
			Sheet []struct {
				Name    string `xml:"name,attr"`
				SheetID string `xml:"sheetId,attr"`
				State   string `xml:"state,attr"`
				// The relationship, in either of the two namespaces.
				Attrs []xml.Attr `xml:",any,attr"`
			} `xml:"sheet"`
		} `xml:"sheets"`
	}
	if err := pack.Decode(main, maxDirectory, &book); err != nil {
		return nil, err
	}
	if book.XMLName.Local != "workbook" {
		return nil, source.ErrUnsupportedFormat
	}
	b.dates = book.WorkbookPr.Date1904
	for _, s := range book.Sheets.Sheet {
		var id string
		for _, a := range s.Attrs {
			if a.Name.Local == "id" {
				id = a.Value
			}
		}
		part, ok := worksheets[id]
		if !ok || len(b.sheets) == source.MaxTabs {
			continue
		}
		b.sheets = append(b.sheets, sheet{part: part, Tab: source.Tab{
			ID: source.TabTitle(s.SheetID), Title: source.TabTitle(s.Name), Rows: -1, Columns: -1,
			Hidden: s.State == "hidden" || s.State == "veryHidden",
		}})
	}
	return b, nil
}

// resolve returns the name of the part to which a part's relationship in folder refers.
func resolve(folder, target string) string {
	if strings.HasPrefix(target, "/") {
		return strings.TrimPrefix(path.Clean(target), "/")
	}
	return path.Join(folder, target)
}

// dimension reads the size that a sheet declares before its rows; -1 if it declares none.
func (b *workbook) dimension(part string) (rows, columns int, err error) {
	r, err := b.pack.Part(part, maxDimension)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = r.Close() }() // it was read from
	for in := b.pack.Decoder(r); ; {
		token, err := in.Token()
		if err != nil {
			return -1, -1, zipfile.Broken(notEnd(err))
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "dimension":
			_, last, isRange := strings.Cut(zipfile.Attribute(e, "ref"), ":")
			if !isRange { // one cell, or none
				return -1, -1, nil
			}
			row, col, ok := parseCell(last)
			if !ok {
				return -1, -1, nil
			}
			return row, col, nil
		case "sheetData":
			return -1, -1, nil
		}
	}
}

// notEnd ignores io.EOF, a part's end.
func notEnd(err error) error {
	if err == io.EOF { //nolint:errorlint // a decoder returns it bare
		return nil
	}
	return err
}

// parseCell reads a reference such as AB12, both parts from 1. A row is 1 to 1,048,576 and a column
// 1 to 16,384 (ECMA-376 part 1, 18.3.1.4 and 18.3.1.13).
func parseCell(ref string) (row, col int, ok bool) {
	i := 0
	for ; i < len(ref) && i < 4 && ref[i] >= 'A' && ref[i] <= 'Z'; i++ {
		col = col*26 + int(ref[i]-'A') + 1
	}
	digits := ref[i:]
	if col == 0 || col > 16384 || digits == "" || len(digits) > 7 {
		return 0, 0, false
	}
	for _, d := range []byte(digits) {
		if d < '0' || d > '9' {
			return 0, 0, false
		}
		row = row*10 + int(d-'0')
	}
	return row, col, row >= 1 && row <= 1<<20
}
