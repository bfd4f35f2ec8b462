package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/adapters/sheet/xlsx/numfmt"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// The parts of a workbook that contains only some cells and the styles of another one.
const (
	contentTypes = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`
	rootParts    = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`
	bookParts    = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`
	book         = `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><workbookPr date1904="%t"/><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`
	sheetBegin   = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`
	sheetEnd     = `</sheetData></worksheet>`
)

// format shows numbers, dates and booleans as Excel does in English, with the number formats of the workbook's styles.
// excelize formats what numfmt does not support. Values that it cannot format are shown as stored.
func (b *workbook) format(all []cell, put func(cell, string)) error {
	if len(all) == 0 {
		return nil
	}
	styles, err := b.stylesXML()
	if err != nil {
		return err
	}
	codes := codesOf(styles, source.DateOf(b.locale))
	var cells []cell
	for _, c := range all {
		shown, ok := b.show(c, codes)
		if !ok {
			cells = append(cells, c)
			continue
		}
		b.store(c, shown)
		put(c, shown)
	}
	if len(cells) == 0 {
		return nil
	}
	document, err := b.extract(cells, styles)
	if err != nil {
		return err
	}
	f, err := excelize.OpenReader(bytes.NewReader(document),
		excelize.Options{UnzipSizeLimit: maxHead, UnzipXMLSizeLimit: maxHead})
	if err != nil {
		return source.ErrUnsupportedFormat
	}
	defer func() { _ = f.Close() }() // it has no files
	rows, err := f.GetRows("S")
	if err != nil {
		return source.ErrUnsupportedFormat
	}
	for _, c := range cells {
		shown := c.value
		if c.row < len(rows) && c.col < len(rows[c.row]) {
			shown = rows[c.row][c.col]
		}
		b.store(c, shown)
		put(c, shown)
	}
	return nil
}

// codesOf returns the format code of each style of cells; "" for one that is not known. It returns what could be read
// of broken styles. Dates whose format is that of the system are shown as local does.
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
	own := map[int]string{}
	for _, f := range sheet.NumFmts.NumFmt {
		own[f.ID] = f.Code
	}
	codes := make([]string, len(sheet.CellXfs.Xf))
	for i, xf := range sheet.CellXfs.Xf {
		if codes[i] = own[xf.NumFmt]; codes[i] == "" {
			codes[i] = numfmt.Builtin(xf.NumFmt, local.Date, local.Time)
		}
	}
	return codes
}

// show shows a number by the code of its style; false if excelize must.
func (b *workbook) show(c cell, codes []string) (string, bool) {
	style := 0
	if c.style != "" {
		var err error
		if style, err = strconv.Atoi(c.style); err != nil {
			return "", false
		}
	}
	if c.kind != "" && c.kind != "n" || style < 0 || style >= len(codes) || codes[style] == "" {
		return "", false
	}
	v, err := strconv.ParseFloat(c.value, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return "", false
	}
	shown, ok := numfmt.Show(codes[style], v, b.from1904())
	return strings.TrimSpace(shown), ok // the spaces only align numbers
}

func (b *workbook) from1904() bool { return b.dates == "1" || b.dates == "true" }

func reference(c cell) string { return column.Letters(c.col) + strconv.Itoa(c.row+1) }

// noStyles is a part that has no styles.
const noStyles = `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>`

// stylesXML returns the part, or noStyles if there is none or it would take too long to read.
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

// extract packs a workbook with only these cells.
func (b *workbook) extract(cells []cell, styles []byte) ([]byte, error) {
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
		{"xl/worksheets/sheet1.xml", sheetXML(cells)},
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

func sheetXML(cells []cell) []byte {
	out := bytes.NewBufferString(sheetBegin)
	row := -1
	for _, c := range cells {
		if c.row != row {
			if row >= 0 {
				out.WriteString("</row>")
			}
			fmt.Fprintf(out, `<row r="%d">`, c.row+1)
			row = c.row
		}
		fmt.Fprintf(out, `<c r="%s"`, reference(c))
		for _, a := range []struct{ name, value string }{{"s", c.style}, {"t", c.kind}} {
			if a.value != "" {
				fmt.Fprintf(out, ` %s="`, a.name)
				_ = xml.EscapeText(out, []byte(a.value)) // writing to a buffer never fails
				out.WriteByte('"')
			}
		}
		out.WriteString("><v>")
		_ = xml.EscapeText(out, []byte(c.value))
		out.WriteString("</v></c>")
	}
	out.WriteString("</row>" + sheetEnd)
	return out.Bytes()
}
