package column

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Window returns which rows of a table Examine needs: how many to skip, and how many to read after those. headerRow is
// the row of the header, from 1, or 0 to search for it.
func Window(headerRow int) (skip, rows int) {
	if headerRow == 0 {
		return 0, HeaderWindow + SampleWindow
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
	if headerRow == 0 {
		at, p.Confidence = likeliestHeader(rows)
		p.HeaderRow = at + 1
	}
	if at < 0 || at >= len(rows) || filled(rows[at]) == 0 && headerRow == 0 {
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
	names := distinct(rows[at], width)
	for column, name := range names {
		p.Headers = append(p.Headers, Header{Name: name, Column: Letters(column), Type: Infer(columnOf(below, column))})
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

// The weights of a header's features; their sum is 1.
const (
	weightFull     = 0.35 // it has a cell for every column
	weightWords    = 0.25 // its cells are words, not numbers, dates or addresses
	weightDistinct = 0.15 // its cells are distinct
	weightContrast = 0.15 // its cells are words where those below are not
	weightFollowed = 0.05 // the next row has about the same width
	weightShort    = 0.05 // its cells are names, not sentences
	perRow         = 0.01 // of two equal rows, the earlier one wins
)

// likeliestHeader returns which of the first HeaderWindow rows is most like a header, with its score;
// -1 if all are empty.
func likeliestHeader(rows [][]*string) (at int, confidence float64) {
	width := 0
	for _, row := range rows {
		width = max(width, filled(row))
	}
	at = -1
	for i := range rows[:min(len(rows), HeaderWindow)] {
		if filled(rows[i]) == 0 {
			continue
		}
		if score := headerScore(rows, i, width) - perRow*float64(i); at < 0 || score > confidence {
			at, confidence = i, score
		}
	}
	return at, math.Round(100*min(max(confidence, 0), 1)) / 100
}

func headerScore(rows [][]*string, at, width int) float64 {
	row := rows[at]
	var cells, words, short, contrast, below float64
	seen := map[string]bool{}
	for column, c := range row {
		if c == nil {
			continue
		}
		cells++
		seen[oneLine(*c)] = true
		if utf8.RuneCountInString(*c) <= 40 {
			short++
		}
		isWord := slices.Contains([]Type{String, Text}, Infer([]*string{c}))
		if isWord {
			words++
		}
		if Infer(columnOf(rows[at+1:], column)) != String {
			below++
			if isWord {
				contrast++
			}
		}
	}
	score := weightFull*cells/float64(width) + weightWords*words/cells + weightDistinct*float64(len(seen))/cells +
		weightShort*short/cells
	if below > 0 {
		score += weightContrast * contrast / below
	}
	if at+1 < len(rows) && filled(rows[at+1])*2 >= len(seen) {
		score += weightFollowed
	}
	return score
}

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
