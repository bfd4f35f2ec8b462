package sheet

import (
	"errors"
	"io"
)

const blockSize = 1 << 20

// blocks store data in pieces of equal size, so that it is not copied as it grows.
type blocks struct {
	all  [][]byte
	size int64
}

// readBlocks reads all of r into memory.
func readBlocks(r io.Reader) (*blocks, error) {
	b := &blocks{}
	for {
		if b.size == int64(len(b.all))*blockSize {
			b.all = append(b.all, make([]byte, blockSize))
		}
		n, err := r.Read(b.all[len(b.all)-1][b.size%blockSize:])
		b.size += int64(n)
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// errForgotten is the error for an archive two of whose parts are the same bytes.
var errForgotten = errors.New("the bytes are forgotten")

// Forget frees the memory of bytes that are not read again. It keeps blocks that have other bytes, too.
func (b *blocks) Forget(from, to int64) {
	for i := (from + blockSize - 1) / blockSize; i < to/blockSize; i++ {
		b.all[i] = nil
	}
}

// ReadAt is io.ReaderAt's.
func (b *blocks) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		place := offset + int64(n)
		if place >= b.size {
			return n, io.EOF
		}
		block := b.all[place/blockSize]
		if block == nil {
			return n, errForgotten
		}
		n += copy(p[n:], block[place%blockSize:min(blockSize, b.size-place/blockSize*blockSize)])
	}
	return n, nil
}
