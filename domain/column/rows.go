package column

import (
	"encoding/binary"
	"iter"
)

// Rows are rows of strings in one piece of memory, as a child process passes them on. All rows have as many cells. The
// zero value has none.
type Rows struct {
	packed []byte // for each cell, its length and 1 as an uvarint, and its text; only 0 for nil
	count  int
	width  int
}

// RowsOf returns rows as Rows.
func RowsOf(rows [][]*string) (r Rows) {
	for _, row := range rows {
		r.Add(row)
	}
	return r
}

// Len returns how many rows there are.
func (r *Rows) Len() int { return r.count }

// Size returns how many bytes they take.
func (r *Rows) Size() int { return len(r.packed) }

// Add adds a row, which has as many cells as the first one.
func (r *Rows) Add(row []*string) {
	r.count, r.width = r.count+1, len(row)
	for _, c := range row {
		if c == nil {
			r.packed = append(r.packed, 0)
			continue
		}
		r.packed = append(binary.AppendUvarint(r.packed, uint64(len(*c))+1), *c...)
	}
}

// AddBytes is Add for strings that are bytes. It keeps a copy of them.
func (r *Rows) AddBytes(row [][]byte) {
	r.count, r.width = r.count+1, len(row)
	for _, c := range row {
		if c == nil {
			r.packed = append(r.packed, 0)
			continue
		}
		r.packed = append(binary.AppendUvarint(r.packed, uint64(len(c))+1), c...)
	}
}

// Grow makes room for bytes, so that adding rows need not copy those before.
func (r *Rows) Grow(bytes int) {
	if r.packed == nil {
		r.packed = make([]byte, 0, bytes)
	}
}

// All returns the rows in their order. A row's cells are valid until the next one: copy the strings that are kept.
func (r *Rows) All() iter.Seq[[]*string] {
	return func(yield func([]*string) bool) {
		texts, cells := make([]string, r.width), make([]*string, r.width)
		all, offset := string(r.packed), 0 // which the strings share
		for range r.count {
			for i := range cells {
				n, size := binary.Uvarint(r.packed[offset:])
				offset += size
				if n == 0 {
					cells[i] = nil
					continue
				}
				end := offset + int(n-1) //nolint:gosec // isWhole, or from Add
				texts[i], offset = all[offset:end], end
				cells[i] = &texts[i]
			}
			if !yield(cells) {
				return
			}
		}
	}
}

// isWhole reports whether packed has exactly the cells that count and width promise.
func (r *Rows) isWhole() bool {
	if r.count < 0 || r.width < 0 || (r.count > 0 && (r.width == 0 || r.width > len(r.packed)/r.count)) {
		return false // each cell has a byte at least
	}
	offset := 0
	for range r.count * r.width {
		n, size := binary.Uvarint(r.packed[offset:])
		if offset += size; size <= 0 || n > uint64(len(r.packed)-offset)+1 { //nolint:gosec // at is in it
			return false
		}
		if n > 0 {
			offset += int(n - 1) //nolint:gosec // at most what is left
		}
	}
	return offset == len(r.packed)
}
