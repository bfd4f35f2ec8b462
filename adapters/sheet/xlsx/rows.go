package xlsx

import (
	"cmp"
	"encoding/xml"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/column"
)

// cell is a cell of a sheet.
type cell struct {
	row, col int    // from 0, within what is read
	kind     string // as the attribute t has it (ECMA-376 part 1, 18.18.11)
	style    string
	value    string
}

// extent is how much of a sheet was seen.
type extent struct {
	rows, columns int
	all           bool // there is no more
}

// rows reads n rows of a sheet after the first skip. Rows that are not there are empty.
func (b *workbook) rows(part string, skip, n int) ([][]*string, extent, error) {
	cells, seen, err := b.cells(part, skip, n)
	if err != nil {
		return nil, extent{}, err
	}
	slices.SortStableFunc(cells, func(a, b cell) int { // the file may have them in any order, and format needs this one
		return cmp.Or(a.row-b.row, a.col-b.col)
	})
	rows := make([][]*string, n)
	put := func(c cell, shown string) {
		for len(rows[c.row]) <= c.col {
			rows[c.row] = append(rows[c.row], nil)
		}
		rows[c.row][c.col] = column.CellOf(shown, b.most)
	}
	shared := map[int][]cell{}
	var styled []cell
	for _, c := range cells {
		switch c.kind {
		case "s":
			if i, err := strconv.Atoi(c.value); err == nil && i >= 0 {
				shared[i] = append(shared[i], c)
			}
		case "inlineStr", "str", "e":
			put(c, unescape(c.value))
		default:
			styled = append(styled, c)
		}
	}
	if err := b.sharedTexts(shared, put); err != nil {
		return nil, extent{}, err
	}
	if err := b.format(styled, put); err != nil {
		return nil, extent{}, err
	}
	for len(rows) > 0 && len(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows, seen, nil
}

// cells reads n rows after the first skip, up to the last column that is shown.
func (b *workbook) cells(part string, skip, n int) ([]cell, extent, error) {
	r, err := b.pack.Part(part, maxHead)
	if err != nil {
		return nil, extent{}, err
	}
	defer func() { _ = r.Close() }() // it was read from
	var cells []cell
	var seen extent
	row, col := 0, 0 // of what was read last, from 1
	in := b.pack.Decoder(r)
	for {
		token, err := in.Token()
		if err != nil {
			seen.all = notEnd(err) == nil
			return cells, seen, zipfile.Broken(notEnd(err))
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "row":
			row, col = row+1, 0
			if at, err := strconv.Atoi(zipfile.Attribute(e, "r")); err == nil && at > 0 {
				row = at
			}
			if row > skip+n {
				return cells, seen, nil
			}
		case "c":
			col++
			if _, at, ok := parseCell(zipfile.Attribute(e, "r")); ok {
				col = at
			}
			if row <= skip || col > column.MaxColumns {
				continue
			}
			c := cell{row: row - skip - 1, col: col - 1, kind: zipfile.Attribute(e, "t"),
				style: zipfile.Attribute(e, "s")}
			pending := false
			if c.value, pending, err = value(in, c.kind == "str"); err != nil {
				return nil, extent{}, zipfile.Broken(err)
			}
			if pending {
				c.kind, c.value = "e", notCalculated
			}
			if c.value != "" {
				cells = append(cells, c)
				seen.rows, seen.columns = max(seen.rows, row), max(seen.columns, col)
			}
		}
	}
}

// notCalculated is shown for a formula that was written without its result, as libraries do that do not calculate.
const notCalculated = "#not calculated"

// value reads the rest of a cell: its last computed value, or its text, and whether it has a formula without a result.
// The result of a text formula can be empty.
func value(in *xml.Decoder, isText bool) (shown string, pending bool, err error) {
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

// chars reads the rest of an element and adds its text, not that of elements within.
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

// sharedTexts sets the texts of the cells in wanted, which refer to shared strings by number.
func (b *workbook) sharedTexts(wanted map[int][]cell, put func(cell, string)) error {
	if len(wanted) == 0 || !b.pack.Has(b.texts) {
		return nil
	}
	r, err := b.pack.Part(b.texts, maxTexts)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was read from
	in := b.pack.Decoder(r)
	for i := 0; len(wanted) > 0; {
		token, err := in.Token()
		if err != nil {
			return zipfile.Broken(notEnd(err))
		}
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "si" {
			continue
		}
		cells, ok := wanted[i]
		i++
		if !ok {
			if err := in.Skip(); err != nil {
				return zipfile.Broken(err)
			}
			continue
		}
		var text struct {
			T string `xml:"t"`
			R []struct {
				T string `xml:"t"`
			} `xml:"r"`
		}
		if err := in.DecodeElement(&text, &e); err != nil {
			return zipfile.Broken(err)
		}
		for _, run := range text.R {
			text.T += run.T
		}
		for _, c := range cells {
			put(c, unescape(text.T))
		}
		delete(wanted, i-1)
	}
	return nil
}
