package xlsx

import (
	"encoding/xml"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/column"
)

// cell is a sheet cell.
type cell struct {
	col   int    // from 0
	kind  string // as the attribute t has it (ECMA-376 part 1, 18.18.11)
	style string
	value string
}

// extent is how much was seen of the sheet.
type extent struct {
	rows, columns int
	all           bool // there is no more
}

// rows reads n sheet rows after the first skip. Rows that are not there are empty.
func (b *workbook) rows(part string, skip, n int) ([][]*string, extent, error) {
	rows := make([][]*string, n)
	var area extent
	err := b.each(part, func(number int, cells []cell) error {
		if number > skip+n {
			return errEnough
		}
		if number <= skip || len(cells) == 0 {
			return nil
		}
		area.rows, area.columns = max(area.rows, number), max(area.columns, cells[len(cells)-1].col+1)
		shownCells, _, err := b.values(cells)
		rows[number-skip-1] = shownCells
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, extent{}, err
	}
	area.all = err == nil
	for len(rows) > 0 && len(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows, area, nil
}

// errEnough ends a sheet's reading when enough rows were read.
var errEnough = errors.New("enough rows")

// each passes a sheet's rows to do, in the order of the file, each with its number and those cells that are not empty,
// in order, up to the last column that is shown. It holds one row at a time. Rows below a merged cell have its value.
// Totals rows have no cells.
func (b *workbook) each(part string, handle func(number int, cells []cell) error) error {
	merges, sums := b.merges(part), b.totals(part)
	r, err := b.pack.LastPart(part, b.maxSheet)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was read from
	var cells []cell
	row, col := 0, 0 // of what was read last, from 1
	in := b.pack.Decoder(r)
	for {
		token, err := in.Token()
		if err != nil {
			return zipfile.Broken(notEnd(err))
		}
		switch e := token.(type) {
		case xml.EndElement:
			if e.Name.Local != "row" {
				continue
			}
			slices.SortStableFunc(cells, func(a, b cell) int { return a.col - b.col }) // the file may have any order
			cells = merges.fill(row, withoutTotals(row, cells, sums))
			if err := handle(row, cells); err != nil {
				return err
			}
			cells = cells[:0]
		case xml.StartElement:
			switch e.Name.Local {
			case "row":
				row, col = row+1, 0
				if place, err := strconv.Atoi(zipfile.Attribute(e, "r")); err == nil && place > 0 {
					row = place
				}
			case "c":
				col++
				if _, place, ok := parseCell(zipfile.Attribute(e, "r")); ok {
					col = place
				}
				c, err := readCell(in, e)
				if err != nil {
					return zipfile.Broken(err)
				}
				if c.col = col - 1; c.value != "" && col <= column.MaxColumns {
					cells = append(cells, c)
				}
			}
		}
	}
}

// readCell reads the rest of the cell.
func readCell(in *xml.Decoder, e xml.StartElement) (c cell, err error) {
	c.kind, c.style = zipfile.Attribute(e, "t"), zipfile.Attribute(e, "s")
	pending := false
	if c.value, pending, err = value(in, c.kind == "str"); pending {
		c.kind, c.value = "e", column.NotCalculated
	}
	return c, err
}

// values returns a row's cells as they are shown, and numbers and dates also as they are stored.
func (b *workbook) values(cells []cell) (shownCells, storedCells []*string, err error) {
	width := cells[len(cells)-1].col + 1
	shownCells, storedCells = make([]*string, width), make([]*string, width)
	for _, c := range cells {
		var text string
		switch c.kind {
		case "s":
			text, err = b.sharedText(c.value)
		case "inlineStr", "str", "e":
			text = unescape(c.value)
		default:
			text, err = b.format(c)
			storedCells[c.col] = b.stored(c, text)
		}
		if err != nil {
			return nil, nil, err
		}
		shownCells[c.col] = column.CellOf(text, b.most)
	}
	return shownCells, storedCells, nil
}

// value reads the rest of the cell: its last computed value, or its text, and whether it has a formula without a
// result. A text formula's result can be empty.
func value(in *xml.Decoder, isText bool) (content string, pending bool, err error) {
	var text strings.Builder
	formula, result := false, false
	for {
		token, err := in.Token()
		if err != nil {
			return "", false, err
		}
		switch t := token.(type) {
		case xml.EndElement:
			if t.Name.Local == "c" {
				return text.String(), formula && text.Len() == 0 && !(isText && result), nil
			}
		case xml.StartElement:
			switch t.Name.Local {
			case "v", "t":
				result = true
				if err := chars(in, &text); err != nil {
					return "", false, err
				}
			case "is", "r": // rich text is in parts
			default: // formulas, how East Asian text is spoken
				formula = formula || t.Name.Local == "f"
				if err := in.Skip(); err != nil {
					return "", false, err
				}
			}
		}
	}
}

// chars reads the rest of the element and adds its text, not the text of elements within.
func chars(in *xml.Decoder, text *strings.Builder) error {
	for {
		token, err := in.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := in.Skip(); err != nil {
				return err
			}
		}
	}
}

// escaped is a character that XML cannot hold, as ECMA-376 part 1, 22.9.2.19 has it, such as _x000D_.
var escaped = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	text = escaped.ReplaceAllStringFunc(text, func(code string) string {
		n, err := strconv.ParseUint(code[2:6], 16, 16)
		if err != nil {
			return code
		}
		return string(rune(n))
	})
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}
