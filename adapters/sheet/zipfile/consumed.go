package zipfile

import (
	"archive/zip"
	"io"
)

// Forgetter is a document in memory that can free the memory of what is not read again.
type Forgetter interface {
	io.ReaderAt
	// Forget frees the bytes from one offset to before another one.
	Forget(from, to int64)
}

// consumed reads an archive in memory, and forgets those parts that are read once, as far as they were read. A part is
// read from its begin to its end, so nothing before the last read is needed.
type consumed struct {
	Forgetter
	parts []span
}

// span is where a part's packed bytes are.
type span struct{ from, to int64 }

func (c *consumed) add(f *zip.File) {
	if from, err := f.DataOffset(); err == nil {
		c.parts = append(c.parts, span{from, from + int64(f.CompressedSize64)}) //nolint:gosec // it was checked by Part
	}
}

// ReadAt is io.ReaderAt's.
func (c *consumed) ReadAt(p []byte, offset int64) (int, error) {
	for i, s := range c.parts {
		if s.from < offset && offset < s.to {
			c.Forget(s.from, offset)
			c.parts[i].from = offset
		}
	}
	return c.Forgetter.ReadAt(p, offset)
}
