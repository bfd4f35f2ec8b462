package column

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NoHeader instead of a header row says that a table has no header. Its columns are named by their letters.
const NoHeader = -1

// Window returns which rows of a table Examine needs: how many to skip, and how many to read after those. headerRow is
// the row of the header, from 1, or 0 to search for it, or NoHeader.
func Window(headerRow int) (skip, rows int) {
	switch headerRow {
	case 0:
		return 0, HeaderWindow + SampleWindow
	case NoHeader:
		return 0, SampleWindow
	}
	above := min(headerRow-1, LeadingRows)
	return headerRow - 1 - above, above + 1 + SampleWindow
}

// Examine finds the header of a table and describes the rows below it. rows are those of the Window for
// headerRow. Each may be of any length; cells beyond MaxColumns are ignored.
func Examine(rows [][]*string, headerRow int) Preview {
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i] = row[:min(len(row), MaxColumns)]
	}
	p := Preview{HeaderRow: headerRow, Confidence: 1}
	at := min(headerRow-1, LeadingRows)
	switch headerRow {
	case NoHeader:
		rows, at = slices.Insert(rows, 0, nil), 0
	case 0:
		var candidates []int
		if candidates, p.Confidence = likeliestHeader(rows); len(candidates) == 0 {
			return Preview{}
		}
		at = candidates[0]
		p.HeaderRow = at + 1
		if p.Confidence < SureHeader {
			for _, c := range candidates {
				p.Candidates = append(p.Candidates, c+1)
			}
		}
	}
	if at >= len(rows) {
		return Preview{HeaderRow: headerRow}
	}
	var below [][]*string
	for _, row := range rows[at+1:] {
		if filled(row) > 0 && len(below) < SampleWindow {
			below = append(below, row)
		}
	}
	width := extent(rows[at])
	for _, row := range below {
		width = max(width, extent(row))
	}
	values := below
	if len(below) > 1 && isNotes([][]*string{rows[at], below[0], below[1]}, 1) {
		values = below[1:]
	}
	names := distinct(rows[at], width)
	for column, name := range names {
		if headerRow == NoHeader {
			name = Letters(column)
		}
		cells := columnOf(values, column)
		p.Headers = append(p.Headers, Header{Name: name, Column: Letters(column), Type: Infer(cells),
			Empty: len(cells) > 0 && filled(cells) == 0})
	}
	left := MaxExtra
	p.Leading = leading(rows[:at], &left)
	for i, row := range below[:min(len(below), MaxShownRows)] {
		if i >= ShownRows && !fits(row, &left) {
			break
		}
		shown := make([]*string, width)
		copy(shown, row)
		p.Rows = append(p.Rows, shown)
	}
	return p
}

// leading returns the last LeadingRows of the rows above a header; fewer if they have more than left characters, which
// it reduces.
func leading(above [][]*string, left *int) [][]*string {
	from := len(above)
	for from > max(0, len(above)-LeadingRows) && fits(above[from-1], left) {
		from--
	}
	var out [][]*string
	for _, row := range above[from:] {
		out = append(out, row[:extent(row)])
	}
	return out
}

// fits reports whether the cells of a row have at most left characters, and reduces left by them.
func fits(row []*string, left *int) bool {
	for _, c := range row {
		if c != nil {
			*left -= utf8.RuneCountInString(*c)
		}
	}
	return *left >= 0
}

// distinct returns names for width columns from the cells of a header. An empty cell gets the letters
// of its column, a repeated one gets a number.
func distinct(header []*string, width int) []string {
	names, taken := make([]string, width), map[string]bool{}
	for _, c := range header {
		if c != nil {
			taken[oneLine(*c)] = true // so that no number produces the name of another column
		}
	}
	used := map[string]bool{}
	for i := range names {
		name := "Column " + Letters(i)
		if i < len(header) && header[i] != nil {
			name = oneLine(*header[i])
			if !used[name] {
				names[i], used[name] = name, true
				continue
			}
		}
		unique := name
		for n := 2; used[unique] || taken[unique]; n++ {
			unique = name + " (" + strconv.Itoa(n) + ")"
		}
		names[i], used[unique] = unique, true
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

// filled counts the cells of a row that are not empty.
func filled(row []*string) (n int) {
	for _, c := range row {
		if c != nil {
			n++
		}
	}
	return n
}

// extent returns the width of a row up to its last cell.
func extent(row []*string) int {
	for i := len(row); i > 0; i-- {
		if row[i-1] != nil {
			return i
		}
	}
	return 0
}
