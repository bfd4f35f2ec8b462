// Package arrow writes the stream format of Apache Arrow, with columns of five types. The format is that of "Arrow
// Columnar Format" and of Schema.fbs and Message.fbs, version 1.5 (metadata V5).
package arrow

import (
	"encoding/binary"
	"io"
	"math"
)

// Type is the type of a column.
type Type byte

// Types of columns.
const (
	Text    Type = iota // utf8
	Integer             // int64
	Number              // float64
	Boolean             // bool
	Date                // date32: days since 1970-01-01
)

// Field describes a column. Its values may be null.
type Field struct {
	Name     string
	Type     Type
	Metadata [][2]string // keys and their values
}

// Column is the values of a field in the next batch.
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

// Text appends a text of valid UTF-8. The texts of a batch have less than 2 GiB.
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

// buffers returns the column's buffers in the order of the format. Without nulls, that of the valid rows is empty.
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

// Writer writes a stream: its schema, batches, and its end.
type Writer struct {
	Columns []Column // the next batch, which has as many rows as each of them

	to     io.Writer
	fields []Field
	begun  bool
}

// NewWriter returns a writer of a stream with the columns that fields describe.
func NewWriter(to io.Writer, fields []Field) *Writer {
	w := &Writer{to: to, fields: fields, Columns: make([]Column, len(fields))}
	for i, f := range fields {
		w.Columns[i].Type = f.Type
		w.Columns[i].reset()
	}
	return w
}

// Flush writes the next batch, and empties the columns. It writes the schema before the first one.
func (w *Writer) Flush() error {
	if err := w.begin(); err != nil {
		return err
	}
	var buffers [][]byte
	for i := range w.Columns {
		buffers = append(buffers, w.Columns[i].buffers()...)
	}
	if err := w.message(batchMessage(w.Columns, buffers)); err != nil {
		return err
	}
	for _, b := range buffers {
		if err := w.padded(b); err != nil {
			return err
		}
	}
	for i := range w.Columns {
		w.Columns[i].reset()
	}
	return nil
}

// Close writes the end of the stream, and the schema if there was no batch. It does not write the next batch.
func (w *Writer) Close() error {
	if err := w.begin(); err != nil {
		return err
	}
	_, err := w.to.Write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	return err
}

func (w *Writer) begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	return w.message(schemaMessage(w.fields))
}

// message writes a message without its body: a mark, the length of the padded metadata, and the metadata.
func (w *Writer) message(metadata []byte) error {
	length := uint32(padded(len(metadata))) //nolint:gosec // it is small
	prefix := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, length)
	if _, err := w.to.Write(prefix); err != nil {
		return err
	}
	return w.padded(metadata)
}

func (w *Writer) padded(b []byte) error {
	if _, err := w.to.Write(b); err != nil {
		return err
	}
	_, err := w.to.Write(make([]byte, padded(len(b))-len(b)))
	return err
}

// padded returns a length as a multiple of 8 bytes, to which everything is aligned.
func padded(n int) int { return (n + 7) &^ 7 }
