package xlsx

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/adapters/sheet/xlsx/numfmt"
	"github.com/atrium-hq/atrium/domain/source"
)

// A workbook's parts with only the styles of another one, and its only sheet.
const (
	contentTypes = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml"` +
		` ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override` +
		` PartName="/xl/worksheets/sheet1.xml"` +
		` ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override` +
		` PartName="/xl/styles.xml"` +
		` ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`
	rootParts = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship` +
		` Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"` +
		` Target="xl/workbook.xml"/></Relationships>`
	bookParts = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship` +
		` Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"` +
		` Target="worksheets/sheet1.xml"/><Relationship Id="r2"` +
		` Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/>` +
		`</Relationships>`
	book = `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"` +
		` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
		`<workbookPr date1904="%t"/><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`
	emptySheet = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
		`<sheetData/></worksheet>`
	onlySheet = "S"
)

// format shows a number, a date or a boolean as Excel does in English, with the number formats of the workbook's
// styles. excelize formats what numfmt does not support. A value that it cannot format is shown as stored.
func (b *workbook) format(c cell) (string, error) {
	switch c.kind {
	case "b":
		return cmp.Or(map[string]string{"0": "FALSE", "1": "TRUE"}[c.value], c.value), nil
	case "d":
		c.value = b.serial(c.value)
	}
	if b.codes == nil {
		styles, err := b.stylesXML()
		if err != nil {
			return "", err
		}
		b.codes = codesOf(styles, source.DateOf(b.locale))
	}
	v, err := strconv.ParseFloat(c.value, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return c.value, nil //nolint:nilerr // a text in the place of a number
	}
	style, err := strconv.Atoi(cmp.Or(c.style, "0"))
	if err != nil || style < 0 {
		return c.value, nil //nolint:nilerr // no style
	}
	if style < len(b.codes) && b.codes[style] != "" {
		if text, ok := numfmt.Show(b.codes[style], v, b.from1904()); ok {
			return strings.TrimSpace(text), nil // the spaces only align numbers
		}
	}
	return b.byLibrary(c.value, style)
}

// onlyCell is the only one of the workbook that excelize has.
const onlyCell = "A1"

// byLibrary shows a number as excelize does.
func (b *workbook) byLibrary(number string, style int) (string, error) {
	if b.library == nil {
		styles, err := b.stylesXML()
		if err != nil {
			return "", err
		}
		document, err := b.extract(styles)
		if err != nil {
			return "", err
		}
		if b.library, err = excelize.OpenReader(bytes.NewReader(document),
			excelize.Options{UnzipSizeLimit: maxHead, UnzipXMLSizeLimit: maxHead}); err != nil {
			return "", source.ErrUnsupportedFormat
		}
	}
	err := b.library.SetCellStyle(onlySheet, onlyCell, onlyCell, style)
	if err == nil {
		err = b.library.SetCellDefault(onlySheet, onlyCell, number)
	}
	if err != nil {
		return number, nil //nolint:nilerr // the styles lack this one
	}
	text, err := b.library.GetCellValue(onlySheet, onlyCell)
	if err != nil {
		return number, nil //nolint:nilerr // it cannot
	}
	return text, nil
}

// close frees what excelize has.
func (b *workbook) close() {
	if b.library != nil {
		_ = b.library.Close() // it has no files
	}
}

// serial returns a date in a form of ISO 8601, as a cell of type d has it (ECMA-376 part 1, 18.18.11), as the number
// that Excel stores; a text that is none as it is.
func (b *workbook) serial(date string) string {
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if b.from1904() {
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
		time.DateOnly} {
		if moment, err := time.Parse(layout, date); err == nil {
			return strconv.FormatFloat(moment.Sub(first).Hours()/24, 'f', -1, 64)
		}
	}
	return date
}

// codesOf returns the format code of each style of cells; "" for one that is not known. It returns what could be read
// of broken styles. Dates in the system's format are shown as local does.
func codesOf(styles []byte, local source.LocaleDate) []string {
	var sheet struct {
		NumFmts struct {
			NumFmt []struct {
				ID   int    `xml:"numFmtId,attr"`
				Code string `xml:"formatCode,attr"`
			} `xml:"numFmt"`
		} `xml:"numFmts"`
		CellXfs struct {
			Xf []struct {
				NumFmt int `xml:"numFmtId,attr"`
			} `xml:"xf"`
		} `xml:"cellXfs"`
	}
	_ = xml.Unmarshal(styles, &sheet)
	customCodes := map[int]string{}
	for _, f := range sheet.NumFmts.NumFmt {
		customCodes[f.ID] = f.Code
	}
	codes := make([]string, len(sheet.CellXfs.Xf))
	for i, xf := range sheet.CellXfs.Xf {
		if codes[i] = customCodes[xf.NumFmt]; codes[i] == "" {
			codes[i] = numfmt.Builtin(xf.NumFmt, local.Date, local.Time)
		}
	}
	return codes
}

func (b *workbook) from1904() bool { return b.dates == "1" || b.dates == "true" }

// noStyles is a part that has no styles.
const noStyles = `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>`

// stylesXML returns the part, or noStyles if it is missing or would take too long to read.
func (b *workbook) stylesXML() ([]byte, error) {
	if !b.pack.Has(b.styles) {
		return []byte(noStyles), nil
	}
	r, err := b.pack.Part(b.styles, maxStyles)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was read from
	styles, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	switch err := b.pack.Affords(styles); {
	case errors.Is(err, source.ErrFileTooLarge):
		return []byte(noStyles), nil
	case errors.Is(err, source.ErrUnsupportedFormat):
		return nil, err
	}
	return styles, nil // excelize reports its faults
}

// extract packs a workbook with only the styles.
func (b *workbook) extract(styles []byte) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, part := range []struct {
		name string
		text []byte
	}{
		{"[Content_Types].xml", []byte(contentTypes)},
		{"_rels/.rels", []byte(rootParts)},
		{"xl/workbook.xml", fmt.Appendf(nil, book, b.from1904())},
		{"xl/_rels/workbook.xml.rels", []byte(bookParts)},
		{"xl/styles.xml", styles},
		{"xl/worksheets/sheet1.xml", []byte(emptySheet)},
	} {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(part.text); err != nil {
			return nil, err
		}
	}
	err := archive.Close() // which writes the directory
	return out.Bytes(), err
}
