package xlsx

import (
	"bufio"
	"bytes"
	"regexp"
	"slices"
)

// maxMerged is the most bytes of a sheet whose merged cells are looked for: a file has them after all rows. Larger
// sheets are exports of programs, which merge none.
const maxMerged = 16 << 20

// merge is a cell that is merged with those below it.
type merge struct {
	first, last int // rows, from 1
	col         int // from 0
	cell        cell
}

var mergeForm = regexp.MustCompile(`<(?:\w+:)?mergeCell\s[^<]*ref="([A-Z]+[0-9]+):([A-Z]+[0-9]+)"`)

// merges returns a sheet's cells that are merged over several rows: none if they cannot be read.
func (b *workbook) merges(part string) (m merging) {
	m.active = map[int]merge{}
	if b.pack.Size(part) > maxMerged {
		return m
	}
	r, err := b.pack.Part(part, maxMerged)
	if err != nil {
		return m
	}
	defer func() { _ = r.Close() }() // it was read from
	elements := bufio.NewScanner(r)
	elements.Buffer(nil, maxMerged)
	elements.Split(func(data []byte, isEnd bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '>'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if isEnd {
			return len(data), nil, nil
		}
		return 0, nil, nil
	})
	for elements.Scan() {
		if !bytes.Contains(elements.Bytes(), []byte("mergeCell ")) {
			continue
		}
		if match := mergeForm.FindSubmatch(elements.Bytes()); match != nil {
			first, col, ok := parseCell(string(match[1]))
			last, _, isCell := parseCell(string(match[2]))
			if ok && isCell && last > first {
				m.pending = append(m.pending, merge{first: first, last: last, col: col - 1})
			}
		}
	}
	slices.SortFunc(m.pending, func(a, b merge) int { return a.first - b.first })
	return m
}

// merging has the merged cells while a sheet's rows are read.
type merging struct {
	pending []merge       // that begin in later rows, in order
	active  map[int]merge // by column
}

// fill adds the values of merged cells to the cells of a row below them, if it has any.
func (m *merging) fill(number int, cells []cell) []cell {
	for col, a := range m.active {
		if a.last < number {
			delete(m.active, col)
			continue
		}
		if i, isFilled := indexOf(cells, col); !isFilled && len(cells) > 0 {
			cells = slices.Insert(cells, i, a.cell)
		}
	}
	for ; len(m.pending) > 0 && m.pending[0].first <= number; m.pending = m.pending[1:] {
		begin := m.pending[0]
		if i, isFilled := indexOf(cells, begin.col); isFilled && begin.first == number {
			begin.cell = cells[i]
			m.active[begin.col] = begin
		}
	}
	return cells
}

func indexOf(cells []cell, col int) (i int, ok bool) {
	return slices.BinarySearchFunc(cells, col, func(c cell, col int) int { return c.col - col })
}
