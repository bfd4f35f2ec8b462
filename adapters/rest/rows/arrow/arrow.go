// Package arrow writes the stream format of Apache Arrow, with columns of five types. The format follows "Arrow
// Columnar Format" and of Schema.fbs and Message.fbs, version 1.5 (metadata V5).
package arrow

import (
	"encoding/binary"
	"io"
)

// Writer writes a stream: its schema, batches, and its end.
type Writer struct {
	Columns []Column // the next batch, which has as many rows as each of them

	out    io.Writer
	fields []Field
	begun  bool
}

// NewWriter returns a stream writer with the columns that fields describe.
func NewWriter(out io.Writer, fields []Field) *Writer {
	w := &Writer{out: out, fields: fields, Columns: make([]Column, len(fields))}
	for i, f := range fields {
		w.Columns[i].Type = f.Type
	}
	w.Discard()
	return w
}

// Flush writes the next batch with metadata, and empties the columns. It writes the schema before the first one.
func (w *Writer) Flush(metadata ...Pair) error {
	if err := w.begin(); err != nil {
		return err
	}
	var buffers [][]byte
	for i := range w.Columns {
		buffers = append(buffers, w.Columns[i].buffers()...)
	}
	if err := w.message(batchMessage(w.Columns, buffers, metadata)); err != nil {
		return err
	}
	for _, b := range buffers {
		if err := w.padded(b); err != nil {
			return err
		}
	}
	w.Discard()
	return nil
}

// Discard empties the columns, so that their rows are not written.
func (w *Writer) Discard() {
	for i := range w.Columns {
		w.Columns[i].reset()
	}
}

// Close writes the end of the stream, and the schema if there was no batch. It does not write the next batch.
func (w *Writer) Close() error {
	if err := w.begin(); err != nil {
		return err
	}
	_, err := w.out.Write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
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
	if _, err := w.out.Write(prefix); err != nil {
		return err
	}
	return w.padded(metadata)
}

func (w *Writer) padded(b []byte) error {
	if _, err := w.out.Write(b); err != nil {
		return err
	}
	_, err := w.out.Write(make([]byte, padded(len(b))-len(b)))
	return err
}
