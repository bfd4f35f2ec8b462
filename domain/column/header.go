package column

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NoHeader instead of a header row means that a table has no header. Its columns are named by their letters.
const NoHeader = -1

// Window returns which table rows Examine needs: how many to skip, and how many to read after those. headerRow is the
// row of the header, from 1, or 0 to search for it, or NoHeader.
func Window(headerRow int) (skip, rows int) {
	switch headerRow {
	case 0:
		return 0, HeaderWindow + SampleWindow
	case NoHeader:
		return 0, SampleWindow
	}
	count := min(headerRow-1, LeadingRows)
	return headerRow - 1 - count, count + 1 + SampleWindow
}

// Examine finds a table's header and describes the rows below it. rows are the rows of the Window for headerRow. Each
// may be of any length; cells beyond MaxColumns are ignored.
func Examine(rows [][]*string, headerRow int) Preview {
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i] = row[:min(len(row), MaxColumns)]
	}
	p := Preview{HeaderRow: headerRow, Confidence: 1}
	first := min(headerRow-1, LeadingRows)
	switch headerRow {
	case NoHeader:
		rows, first = slices.Insert(rows, 0, nil), 0
	case 0:
		var candidates []int
		if candidates, p.Confidence = likeliestHeader(rows); len(candidates) == 0 {
			return Preview{}
		}
		first = candidates[0]
		p.HeaderRow = first + 1
		if p.Confidence < SureHeader {
			for _, c := range candidates {
				p.Candidates = append(p.Candidates, c+1)
			}
		}
	}
	if first >= len(rows) {
		return Preview{HeaderRow: headerRow}
	}
	var rest [][]*string
	for _, row := range rows[first+1:] {
		if filled(row) > 0 && len(rest) < SampleWindow {
			rest = append(rest, row)
		}
	}
	width := extent(rows[first])
	for _, row := range rest {
		width = max(width, extent(row))
	}
	values := rest
	if len(rest) > 1 && isNotes([][]*string{rows[first], rest[0], rest[1]}, 1) {
		values = rest[1:]
	}
	names := distinct(rows[first], width)
	for column, name := range names {
		if headerRow == NoHeader {
			name = Letters(column)
		}
		cells := columnOf(values, column)
		p.Headers = append(p.Headers, Header{Name: name, Column: Letters(column), Type: Infer(cells),
			Empty: len(cells) > 0 && filled(cells) == 0, Constant: IsConstant(cells)})
	}
	budget := MaxExtra
	p.Leading = leading(rows[:first], &budget)
	for i, row := range rest[:min(len(rest), MaxShownRows)] {
		if i >= ShownRows && !fits(row, &budget) {
			break
		}
		cells := make([]*string, width)
		copy(cells, row)
		p.Rows = append(p.Rows, cells)
	}
	return p
}

// leading returns the last LeadingRows of the rows above a header; fewer if they have more than left characters, which
// it reduces.
func leading(rows [][]*string, budget *int) [][]*string {
	from := len(rows)
	for from > max(0, len(rows)-LeadingRows) && fits(rows[from-1], budget) {
		from--
	}
	var out [][]*string
	for _, row := range rows[from:] {
		out = append(out, row[:extent(row)])
	}
	return out
}

// fits reports whether a row's cells have at most left characters, and reduces left by them.
func fits(row []*string, budget *int) bool {
	for _, c := range row {
		if c != nil {
			*budget -= utf8.RuneCountInString(*c)
		}
	}
	return *budget >= 0
}

// distinct returns names for width columns from a header's cells. An empty cell gets the letters of its column, a
// repeated one gets a number.
func distinct(header []*string, width int) []string {
	names, uniqueNames := make([]string, width), map[string]bool{}
	for _, c := range header {
		if c != nil {
			uniqueNames[oneLine(*c)] = true // so that no number produces another column's name
		}
	}
	uses := map[string]bool{}
	for i := range names {
		name := "Column " + Letters(i)
		if i < len(header) && header[i] != nil {
			name = oneLine(*header[i])
			if !uses[name] {
				names[i], uses[name] = name, true
				continue
			}
		}
		unique := name
		for n := 2; uses[unique] || uniqueNames[unique]; n++ {
			unique = name + " (" + strconv.Itoa(n) + ")"
		}
		names[i], uses[unique] = unique, true
	}
	return names
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func columnOf(rows [][]*string, column int) []*string {
	var cells []*string
	for _, row := range rows {
		if column < len(row) {
			cells = append(cells, row[column])
		}
	}
	return cells
}

// IsConstant reports whether cells have at least MinConstant values, all of them the same.
func IsConstant(cells []*string) bool {
	values := slices.DeleteFunc(slices.Clone(cells), func(c *string) bool { return c == nil })
	return len(values) >= MinConstant &&
		!slices.ContainsFunc(values, func(c *string) bool { return *c != *values[0] })
}

// filled counts a row's cells that are not empty.
func filled(row []*string) (n int) {
	for _, c := range row {
		if c != nil {
			n++
		}
	}
	return n
}

// extent returns a row's width up to its last cell.
func extent(row []*string) int {
	for i := len(row); i > 0; i-- {
		if row[i-1] != nil {
			return i
		}
	}
	return 0
}
