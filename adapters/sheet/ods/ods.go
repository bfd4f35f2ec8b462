// Package ods reads the rows of OpenDocument spreadsheets (ISO/IEC 26300), one row at a time.
//
// All tabs are in one part, one after the other, so a large tab can hide later ones from a preview: anything beyond
// 64 MiB of XML, or beyond about half a second of reading, is ignored there.
package ods

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// maxContent is how much is unpacked of the part that holds the tabs, in bytes.
const maxContent = 64 << 20

// The namespaces of the elements that matter.
const (
	nsOffice = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
	nsTable  = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
	nsText   = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
	nsStyle  = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"
)

// MediaType is the content of the first part of such an archive.
const MediaType = "application/vnd.oasis.opendocument.spreadsheet"

// Read reads a document's tabs and the head of one. Tabs have no ids in this format: their titles serve as ids.
// source.ErrFileTooLarge if the requested tab is beyond the limits.
func Read(r io.ReaderAt, size int64, location source.SheetLocation) (source.Sheet, error) {
	pack, err := zipfile.Open(r, size)
	if err != nil {
		return source.Sheet{}, err
	}
	part, err := pack.Part("content.xml", maxContent)
	if err != nil {
		return source.Sheet{}, err
	}
	defer func() { _ = part.Close() }() // it was read from
	d := &document{in: pack.Decoder(part), hidden: map[string]bool{}, most: column.MaxCell}
	skip, window := column.Window(location.HeaderRow)
	err = zipfile.Broken(d.read(func(t *table) func(int, cells) error {
		return func(number int, row cells) error { t.keep(number-skip, window, row); return nil }
	}))
	if err != nil && (!errors.Is(err, source.ErrFileTooLarge) || len(d.tables) == 0) {
		return source.Sheet{}, err
	}
	t, missing := d.find(location.Tab)
	if missing != nil {
		return source.Sheet{}, errors.Join(err, missing)
	}
	if t.rows == nil && err != nil { // the limit was reached in it
		return source.Sheet{}, err
	}
	return source.Sheet{Tabs: d.tabs(), Tab: t.Tab, Preview: column.Examine(t.rows, location.HeaderRow)}, nil
}

func (d *document) tabs() []source.Tab {
	tabs := make([]source.Tab, len(d.tables))
	for i, t := range d.tables {
		tabs[i] = t.Tab
	}
	return tabs
}

// find returns the table that a location names.
func (d *document) find(name string) (*table, error) {
	tabs := d.tabs()
	tab, err := source.FindTab(tabs, name)
	if err != nil {
		return nil, err
	}
	return d.tables[slices.Index(tabs, tab)], nil
}

// document is read from its first element to its last.
type document struct {
	in     *xml.Decoder
	hidden map[string]bool // styles of tables that are not displayed
	tables []*table
	most   int           // a cell's characters
	number int           // of the row that is read
	merges map[int]merge // by column, of the table that is read
	failed error         // of what tables and rows were passed to
}

// merge is a cell that covers cells below it.
type merge struct {
	last         int // row
	cell, stored *string
}

// cells are a row's cells: as they are shown, and the values that are stored differently.
type cells struct {
	shown, stored []*string
}

type table struct {
	source.Tab
	rows [][]*string // a preview's rows
}

// keep keeps a preview row if its number, counted from 1 within the window, is one of it.
func (t *table) keep(number, window int, row cells) {
	if number < 1 || number > window {
		return
	}
	for len(t.rows) < number-1 {
		t.rows = append(t.rows, nil)
	}
	t.rows = append(t.rows, row.shown)
}

// maxRows is the most spreadsheet rows.
const maxRows = 1 << 20

// read reads all tables. It passes the rows of each that are not empty to what begin returns for it, with their numbers
// from 1; nil: they are not wanted.
func (d *document) read(begin func(*table) func(number int, row cells) error) error {
	style := ""
	for {
		token, err := d.in.Token()
		if errors.Is(err, io.EOF) {
			if len(d.tables) == 0 {
				return source.ErrUnsupportedFormat
			}
			return nil
		}
		if err != nil {
			return err
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name {
		case xml.Name{Space: nsStyle, Local: "style"}:
			style = zipfile.Attribute(e, "name")
		case xml.Name{Space: nsStyle, Local: "table-properties"}:
			if zipfile.Attribute(e, "display") == "false" {
				d.hidden[style] = true
			}
		case xml.Name{Space: nsTable, Local: "tracked-changes"}, xml.Name{Space: nsTable, Local: "dde-links"}:
			if err := d.in.Skip(); err != nil {
				return err
			}
		case xml.Name{Space: nsTable, Local: "table"}:
			if len(d.tables) == source.MaxTabs {
				return nil
			}
			if err := d.table(e, begin); err != nil {
				return err
			}
		}
	}
}

// table reads a tab.
func (d *document) table(e xml.StartElement, begin func(*table) func(int, cells) error) error {
	title := source.TabTitle(zipfile.Attribute(e, "name"))
	t := &table{Tab: source.Tab{ID: title, Title: title, Rows: -1, Columns: -1,
		Hidden: d.hidden[zipfile.Attribute(e, "style-name")]}}
	d.tables = append(d.tables, t)
	handle := begin(t)
	switch {
	case d.failed != nil:
		return d.failed
	case handle == nil:
		return d.in.Skip()
	}
	d.merges = map[int]merge{}
	next, rows, columns := 1, 0, 0
	for {
		token, err := d.in.Token()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.EndElement:
			if token.Name.Local == "table" {
				t.Rows, t.Columns = rows, columns
				return nil
			}
		case xml.StartElement:
			switch token.Name.Local {
			case "table-row":
				times := repeated(token, "number-rows-repeated", maxRows)
				d.number = next
				row, width, err := d.row()
				if err != nil {
					return err
				}
				if len(row.shown) > 0 { // there can be a million empty rows at the end
					for number := next; number < next+times && number <= maxRows; number++ {
						if err := handle(number, row); err != nil {
							d.failed = err
							return err
						}
					}
				}
				if next += times; width > 0 {
					rows, columns = next-1, max(columns, width)
				}
			case "table-header-rows", "table-rows", "table-row-group": // rows are within
			default:
				if err := d.in.Skip(); err != nil {
					return err
				}
			}
		}
	}
}

// row reads a row's cells, and how many columns it takes up to its last one that is not empty. If it has any, cells
// that are covered by one above them have its value.
func (d *document) row() (row cells, width int, err error) {
	col, isFilled := 0, false
	for {
		token, err := d.in.Token()
		if err != nil {
			return cells{}, 0, err
		}
		switch token := token.(type) {
		case xml.EndElement:
			if token.Name.Local == "table-row" {
				if !isFilled {
					return cells{}, 0, nil
				}
				return row, width, nil
			}
		case xml.StartElement:
			times := repeated(token, "number-columns-repeated", 16384)
			var cell, storedCell *string
			switch token.Name.Local {
			case "table-cell":
				storedCell = value(token)
				if cell, err = d.cell(token); err != nil {
					return cells{}, 0, err
				}
				isFilled = isFilled || cell != nil
				if size := repeated(token, "number-rows-spanned", maxRows); size > 1 {
					d.merges[col] = merge{d.number + size - 1, cell, storedCell}
				}
			default: // a cell that another one covers
				if err := d.in.Skip(); err != nil {
					return cells{}, 0, err
				}
				if m := d.merges[col]; d.number <= m.last {
					cell, storedCell = m.cell, m.stored
				}
			}
			if cell != nil {
				for len(row.shown) < min(col, column.MaxColumns) {
					row.shown, row.stored = append(row.shown, nil), append(row.stored, nil)
				}
				for place := col; place < min(col+times, column.MaxColumns); place++ {
					row.shown, row.stored = append(row.shown, cell), append(row.stored, storedCell)
				}
				width = col + times
			}
			col = min(col+times, 16384)
		}
	}
}

// valueAttributes are the attributes that have a cell's value, by its type (part 3, 19.385).
var valueAttributes = map[string]string{
	"float": "value", "percentage": "value", "currency": "value", "date": "date-value", "boolean": "boolean-value",
	"time": "time-value", "string": "string-value",
}

// value returns what a cell with a number, a date or a boolean stores; nil for others.
func value(e xml.StartElement) *string {
	kind := zipfile.Attribute(e, "value-type")
	if kind == "time" || kind == "string" { // fields for texts have what is shown
		return nil
	}
	return column.Cell(column.Stored(zipfile.Attribute(e, valueAttributes[kind])))
}

// unshown returns a cell's value if its shown text was not written.
func unshown(e xml.StartElement) string {
	kind := zipfile.Attribute(e, "value-type")
	if kind == "" && zipfile.Attribute(e, "formula") != "" {
		return column.NotCalculated
	}
	return zipfile.Attribute(e, valueAttributes[kind])
}

// cell reads a cell's shown text: its paragraphs. Comments and drawings are skipped.
func (d *document) cell(e xml.StartElement) (*string, error) {
	var paragraphs []string
	for {
		token, err := d.in.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.EndElement: // all others were skipped
			if len(paragraphs) == 0 {
				return column.CellOf(unshown(e), d.most), nil
			}
			return column.CellOf(strings.Join(paragraphs, "\n"), d.most), nil
		case xml.StartElement:
			if token.Name != (xml.Name{Space: nsText, Local: "p"}) {
				if err := d.in.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			text, err := d.paragraph()
			if err != nil {
				return nil, err
			}
			if len(paragraphs) < d.most { // more is not shown
				paragraphs = append(paragraphs, text)
			}
		}
	}
}

// paragraph reads a paragraph's text, to its end.
func (d *document) paragraph() (string, error) {
	var text strings.Builder
	for depth := 1; depth > 0; {
		token, err := d.in.Token()
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.CharData:
			if text.Len() <= 4*d.most {
				text.Write(token)
			}
		case xml.EndElement:
			depth--
		case xml.StartElement:
			if token.Name.Space == nsOffice { // a comment
				if err := d.in.Skip(); err != nil {
					return "", err
				}
				continue
			}
			depth++
			switch token.Name.Local {
			case "s": // so many spaces
				text.WriteString(strings.Repeat(" ", repeated(token, "c", column.MaxCell)))
			case "tab":
				text.WriteByte('\t')
			case "line-break":
				text.WriteByte('\n')
			}
		}
	}
	return text.String(), nil
}

// repeated reads a repeat count: 1 to most, 1 if it is missing.
func repeated(e xml.StartElement, attribute string, limit int) int {
	n, err := strconv.Atoi(zipfile.Attribute(e, attribute))
	if err != nil {
		return 1
	}
	return min(max(n, 1), limit)
}
