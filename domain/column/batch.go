package column

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// MaxValue is the most characters of a value that is read for an application. Longer ones are cut.
const MaxValue = 64 << 10

// Batch is a part of a table's rows, as they are read one after another.
type Batch struct {
	Version string      // of the file that the rows are read from, in the first batch; empty for a warehouse's table
	Missing []string    // columns that the table does not have, in the first batch; no rows follow
	Sample  [][]*string // the rows directly below the header, in a file's first batch: see StyleOf
	Numbers []int       // of the rows in their file, from 1; empty for a warehouse's table
	Applied bool        // in the first batch: the database was given all conditions of the query
	Sorted  bool        // in the first batch: the database has the order that the query asks for
	Total   *int64      // of the table's rows, if the query asked only for their number; no rows follow
	Rows    Rows        // a value for each column that was asked for
}

// Names returns the names that Examine gives to a header's columns, whose cells may be longer than MaxCell, in a table
// of a width.
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
	Applied bool        `json:",omitempty"`
	Sorted  bool        `json:",omitempty"`
	Total   *int64      `json:",omitempty"`
	Count   int         `json:",omitempty"` // of rows
	Width   int         `json:",omitempty"` // cells of each
}

// Packed begins every packed Batch, and no JSON.
const Packed = 0

// Pack returns b as bytes for Unpack: Packed, the length of its head as an uvarint, the head as JSON, and the cells.
// JSON would take ten times as long.
func (b Batch) Pack() ([]byte, error) {
	text, err := json.Marshal(head{Version: b.Version, Missing: b.Missing, Sample: b.Sample, Numbers: b.Numbers,
		Applied: b.Applied, Sorted: b.Sorted, Total: b.Total, Count: b.Rows.count, Width: b.Rows.width})
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, 1+binary.MaxVarintLen32+len(text)+len(b.Rows.packed)), Packed)
	out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	return append(out, b.Rows.packed...), nil
}

var errPacked = errors.New("a batch that cannot be unpacked")

// Unpack returns a packed Batch, which keeps the bytes, and an error without any of their text if they are none.
func Unpack(data []byte) (Batch, error) {
	if len(data) == 0 || data[0] != Packed {
		return Batch{}, errPacked
	}
	n, size := binary.Uvarint(data[1:])
	if size <= 0 || n > uint64(len(data)-1-size) { //nolint:gosec // used bytes of it were read
		return Batch{}, errPacked
	}
	offset := 1 + size + int(n) //nolint:gosec // at most what is left
	var h head
	if json.Unmarshal(data[1+size:offset], &h) != nil {
		return Batch{}, errPacked
	}
	b := Batch{Version: h.Version, Missing: h.Missing, Sample: h.Sample, Numbers: h.Numbers,
		Applied: h.Applied, Sorted: h.Sorted, Total: h.Total,
		Rows: Rows{packed: data[offset:], count: h.Count, width: h.Width}}
	if !b.Rows.isWhole() {
		return Batch{}, errPacked
	}
	return b, nil
}
