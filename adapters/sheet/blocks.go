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

// ReadAt is io.ReaderAt's.
func (b *blocks) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at := off + int64(n)
		if at >= b.size {
			return n, io.EOF
		}
		n += copy(p[n:], b.all[at/blockSize][at%blockSize:min(blockSize, b.size-at/blockSize*blockSize)])
	}
	return n, nil
}
