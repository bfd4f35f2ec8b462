package objects

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// A part is sealed in chunks, so that any place of it can be read without the rest.
const (
	chunkSize = 64 << 10 // bytes of content
	tagSize   = 16       // that AES-GCM adds
	keySize   = 32
)

// aeadOf returns the cipher of one part. Its key is derived (HKDF-SHA-256) for the file, the part and the part's size.
// A part's identifier is never used twice and its content never changes, so that a chunk's number is a nonce.
func aeadOf(file source.FileID, part string, size int64, key []byte) (cipher.AEAD, error) {
	place := fmt.Sprintf("atrium file part\x00%s\x00%s\x00%d", file, part, size)
	partKey, err := hkdf.Key(sha256.New, key, nil, place, keySize)
	if err != nil {
		return nil, fmt.Errorf("objects: derive a key: %w", err)
	}
	block, err := aes.NewCipher(partKey)
	if err != nil {
		return nil, fmt.Errorf("objects: %w", err)
	}
	return cipher.NewGCM(block)
}

// nonce returns a chunk's nonce.
func nonce(aead cipher.AEAD, chunk int64) []byte {
	n := make([]byte, aead.NonceSize())
	binary.BigEndian.PutUint64(n[len(n)-8:], uint64(chunk)) //nolint:gosec // it is not negative
	return n
}

// seal returns a part's chunks, sealed.
func seal(file source.FileID, part string, key, content []byte) ([]byte, error) {
	aead, err := aeadOf(file, part, int64(len(content)), key)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, 0, sealedSize(int64(len(content))))
	for i := 0; i*chunkSize < len(content); i++ {
		chunk := content[i*chunkSize : min((i+1)*chunkSize, len(content))]
		sealed = aead.Seal(sealed, nonce(aead, int64(i)), chunk, nil)
	}
	return sealed, nil
}

// sealedSize returns the size on the disk of size bytes.
func sealedSize(size int64) int64 { return size + (size+chunkSize-1)/chunkSize*tagSize }

// errContent is the error for parts that are missing or were changed. It names no part: it is shown to no one.
var errContent = errors.New("objects: the content cannot be read")

// Content is a file's open content. It is not safe for concurrent use.
type Content struct {
	parts []openPart
	size  int64

	chunks [cachedChunks]chunk // that were read last
	next   int                 // of chunks, to be replaced
}

// cachedChunks is how many chunks a Content keeps: archives are read in several places in turn.
const cachedChunks = 8

type openPart struct {
	file       *os.File
	aead       cipher.AEAD
	start, end int64 // in the content
}

type chunk struct {
	start int64 // in the content
	plain []byte
}

// Open opens a file's content in the folder at path. Call Close afterwards. Parts that are removed in the meantime stay
// readable. A part that is missing, or not of its size, is an error; a part that was changed is one when it is read.
func Open(path string, f *ports.StoredFile) (*Content, error) {
	c := &Content{}
	for _, p := range f.Parts {
		if err := c.add(path, f, p); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// add opens the next part.
func (c *Content) add(path string, f *ports.StoredFile, p source.FilePart) error {
	if !valid(f.Workspace, f.ID, p.ID) {
		return errName
	}
	aead, err := aeadOf(f.ID, p.ID, p.Bytes, f.Key)
	if err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(PartsFolder(path, f.Workspace, f.ID), p.ID))
	if err != nil {
		return errContent
	}
	c.parts = append(c.parts, openPart{file: file, aead: aead, start: c.size, end: c.size + p.Bytes})
	c.size += p.Bytes
	if info, err := file.Stat(); err != nil || info.Size() != sealedSize(p.Bytes) {
		return errContent
	}
	return nil
}

// Size returns the content's size in bytes.
func (c *Content) Size() int64 { return c.size }

// Close closes the content.
func (c *Content) Close() error {
	var failures []error
	for _, p := range c.parts {
		failures = append(failures, p.file.Close())
	}
	return errors.Join(failures...)
}

// ReadAt is io.ReaderAt's.
func (c *Content) ReadAt(b []byte, offset int64) (n int, err error) {
	for n < len(b) {
		place := offset + int64(n)
		if place < 0 || place >= c.size {
			return n, io.EOF
		}
		chunk, err := c.chunkAt(place)
		if err != nil {
			return n, err
		}
		n += copy(b[n:], chunk.plain[place-chunk.start:])
	}
	return n, nil
}

// chunkAt returns the chunk with the byte at a place.
func (c *Content) chunkAt(place int64) (*chunk, error) {
	for i := range c.chunks {
		if k := &c.chunks[i]; k.start <= place && place < k.start+int64(len(k.plain)) {
			return k, nil
		}
	}
	for i := range c.parts {
		if p := &c.parts[i]; place < p.end {
			number := (place - p.start) / chunkSize
			k := &c.chunks[c.next]
			c.next = (c.next + 1) % cachedChunks
			k.start = p.start + number*chunkSize
			var err error
			k.plain, err = p.open(number, min(chunkSize, p.end-k.start), k.plain[:0])
			return k, err
		}
	}
	return nil, io.EOF
}

// open decrypts a chunk of size bytes into a buffer.
func (p *openPart) open(number, size int64, buffer []byte) ([]byte, error) {
	sealed := make([]byte, size+tagSize)
	if _, err := p.file.ReadAt(sealed, number*(chunkSize+tagSize)); err != nil {
		return nil, errContent
	}
	plain, err := p.aead.Open(buffer, nonce(p.aead, number), sealed, nil)
	if err != nil {
		return nil, errContent
	}
	return plain, nil
}
