package column

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// MaxValue is the most characters of a value that is read for an application. Longer ones are cut.
const MaxValue = 64 << 10

// Batch is a part of the rows of a table, as they are read one after another.
type Batch struct {
	Version string      // of the file that the rows are read from, in the first batch; empty for a warehouse's table
	Missing []string    // columns that the table does not have, in the first batch; no rows follow
	Sample  [][]*string // the rows directly below the header, in the first batch of a file: see StyleOf
	Numbers []int       // of the rows in their file, from 1; empty for a warehouse's table
	Rows    [][]*string // a value for each column that was asked for
}

// Names returns the names that Examine gives to the columns of a header, whose cells may be longer than MaxCell, in a
// table of a width.
func Names(header []*string, width int) []string {
	cells := make([]*string, len(header))
	for i, c := range header {
		if c != nil {
			cells[i] = Cell(*c)
		}
	}
	return distinct(cells, width)
}

// head is a packed Batch without its rows.
type head struct {
	Version string      `json:",omitempty"`
	Missing []string    `json:",omitempty"`
	Sample  [][]*string `json:",omitempty"`
	Numbers []int       `json:",omitempty"`
	Count   int         `json:",omitempty"` // of rows
	Width   int         `json:",omitempty"` // cells of each
}

// Packed begins every packed Batch, and no JSON.
const Packed = 0

// Pack returns b as bytes for Unpack: Packed, the length of its head as an uvarint, the head as JSON, and for each cell
// its length and 1 as an uvarint, and its text; only 0 for nil. JSON would take ten times as long. All rows must have
// as many cells.
func (b Batch) Pack() ([]byte, error) {
	h := head{Version: b.Version, Missing: b.Missing, Sample: b.Sample, Numbers: b.Numbers, Count: len(b.Rows)}
	size := 1 + binary.MaxVarintLen32
	for _, row := range b.Rows {
		h.Width = len(row)
		for _, c := range row {
			if size += binary.MaxVarintLen32; c != nil {
				size += len(*c)
			}
		}
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, size+len(text)), Packed)
	out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	for _, row := range b.Rows {
		for _, c := range row {
			if c == nil {
				out = append(out, 0)
				continue
			}
			out = append(binary.AppendUvarint(out, uint64(len(*c))+1), *c...)
		}
	}
	return out, nil
}

var errPacked = errors.New("a batch that cannot be unpacked")

// Unpack returns a packed Batch, and an error without any of its text if it is none.
func Unpack(packed []byte) (Batch, error) {
	if len(packed) == 0 || packed[0] != Packed {
		return Batch{}, errPacked
	}
	n, used := binary.Uvarint(packed[1:])
	if used <= 0 || n > uint64(len(packed)-1-used) { //nolint:gosec // used bytes of it were read
		return Batch{}, errPacked
	}
	at := 1 + used + int(n) //nolint:gosec // at most what is left
	var h head
	if json.Unmarshal(packed[1+used:at], &h) != nil {
		return Batch{}, errPacked
	}
	b := Batch{Version: h.Version, Missing: h.Missing, Sample: h.Sample, Numbers: h.Numbers}
	packed = packed[at:]
	if h.Count < 0 || h.Width < 0 || h.Count > 0 && (h.Width == 0 || h.Width > len(packed)/h.Count) {
		return Batch{}, errPacked // each cell has a byte at least
	}
	texts, cells := make([]string, h.Count*h.Width), make([]*string, h.Count*h.Width)
	rest := string(packed) // which all cells share
	at = 0
	for i := range cells {
		n, used := binary.Uvarint(packed[at:])
		if at += used; used <= 0 || n > uint64(len(rest)-at)+1 { //nolint:gosec // at is in it
			return Batch{}, errPacked
		}
		if n > 0 {
			end := at + int(n-1) //nolint:gosec // at most what is left
			texts[i], at = rest[at:end], end
			cells[i] = &texts[i]
		}
	}
	for i := range h.Count {
		b.Rows = append(b.Rows, cells[i*h.Width:(i+1)*h.Width:(i+1)*h.Width])
	}
	return b, nil
}
