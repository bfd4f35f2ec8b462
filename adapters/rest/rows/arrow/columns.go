package arrow

import (
	"encoding/binary"
	"math"
)

// Type is a column's type.
type Type byte

// Types of columns.
const (
	Text    Type = iota // utf8
	Integer             // int64
	Number              // float64
	Boolean             // bool
	Date                // date32: days since 1970-01-01
)

// Pair is a key and a value of metadata.
type Pair = [2]string

// Field describes a column. Its values may be null.
type Field struct {
	Name     string
	Type     Type
	Metadata []Pair
}

// Column is a field's values in the next batch.
type Column struct {
	Type    Type
	rows    int
	nulls   int
	valid   []byte // a bit for each row
	offsets []byte // of texts: where each begins, and where the last one ends
	data    []byte
}

// Null appends a null.
func (c *Column) Null() {
	c.extend(false)
	c.nulls++
	switch c.Type {
	case Text:
		c.offset()
	case Integer, Number:
		c.data = append(c.data, make([]byte, 8)...)
	case Date:
		c.data = append(c.data, make([]byte, 4)...)
	case Boolean:
		c.data = setBit(c.data, c.rows-1, false)
	}
}

// Text appends a text of valid UTF-8. A batch's texts have less than 2 GiB.
func (c *Column) Text(v string) {
	c.extend(true)
	c.data = append(c.data, v...)
	c.offset()
}

// Integer appends an integer.
func (c *Column) Integer(v int64) {
	c.extend(true)
	c.data = binary.LittleEndian.AppendUint64(c.data, uint64(v)) //nolint:gosec // its two's complement
}

// Number appends a number.
func (c *Column) Number(v float64) {
	c.extend(true)
	c.data = binary.LittleEndian.AppendUint64(c.data, math.Float64bits(v))
}

// Boolean appends a boolean.
func (c *Column) Boolean(v bool) {
	c.extend(true)
	c.data = setBit(c.data, c.rows-1, v)
}

// Date appends a date as the days since 1970-01-01.
func (c *Column) Date(days int32) {
	c.extend(true)
	c.data = binary.LittleEndian.AppendUint32(c.data, uint32(days)) //nolint:gosec // its two's complement
}

func (c *Column) extend(valid bool) {
	c.valid = setBit(c.valid, c.rows, valid)
	c.rows++
}

func (c *Column) offset() {
	c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(len(c.data))) //nolint:gosec // see Text
}

func (c *Column) reset() {
	c.rows, c.nulls = 0, 0
	c.valid, c.data, c.offsets = c.valid[:0], c.data[:0], c.offsets[:0]
	if c.Type == Text {
		c.offset()
	}
}

// buffers returns the column's buffers in the order of the format. Without nulls, the buffer of the valid rows is
// empty.
func (c *Column) buffers() [][]byte {
	valid := c.valid
	if c.nulls == 0 {
		valid = nil
	}
	if c.Type == Text {
		return [][]byte{valid, c.offsets, c.data}
	}
	return [][]byte{valid, c.data}
}

func setBit(bits []byte, i int, v bool) []byte {
	if i%8 == 0 {
		bits = append(bits, 0)
	}
	if v {
		bits[i/8] |= 1 << (i % 8)
	}
	return bits
}

// padded returns a length as a multiple of 8 bytes, to which everything is aligned.
func padded(n int) int { return (n + 7) &^ 7 }
