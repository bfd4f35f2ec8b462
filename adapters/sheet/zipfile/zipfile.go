// Package zipfile opens the parts in a document that is a zip archive, within limits: the author of the archive decides
// how much a few bytes unpack to.
package zipfile

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/atrium-hq/atrium/domain/source"
)

// How much is unpacked from a document, all parts together: for its first rows, and for all of them. The rest of the
// latter's limits are time, and that only part of the document is in memory.
const (
	MaxBytes = 192 << 20
	MaxWhole = 16 << 30
)

// Package is an open zip archive. It must not be used concurrently.
type Package struct {
	archive *zip.Reader
	from    *consumed // nil if nothing can be forgotten
	left    int64
	work    int64 // how much of maxWork is left
}

// Open reads an archive's directory. source.ErrUnsupportedFormat if it is none.
func Open(r io.ReaderAt, size int64) (*Package, error) {
	p := &Package{left: MaxBytes, work: maxWork}
	if memory, ok := r.(Forgetter); ok {
		p.from = &consumed{Forgetter: memory}
		r = p.from
	}
	var err error
	if p.archive, err = zip.NewReader(r, size); err != nil {
		return nil, source.ErrUnsupportedFormat
	}
	return p, nil
}

// OpenWhole is Open for a read of all rows, which takes as long as there are rows: no XML is too much work.
func OpenWhole(r io.ReaderAt, size int64) (*Package, error) {
	p, err := Open(r, size)
	if err == nil {
		p.left, p.work = MaxWhole, math.MaxInt64
	}
	return p, err
}

// Has reports whether there is a part.
func (p *Package) Has(name string) bool {
	for _, f := range p.archive.File {
		if f.Name == name {
			return true
		}
	}
	return false
}

// Size returns how many bytes a part unpacks to, as the archive says; 0 if it is missing.
func (p *Package) Size(name string) uint64 {
	for _, f := range p.archive.File {
		if f.Name == name {
			return f.UncompressedSize64
		}
	}
	return 0
}

// LastPart is Part for a part that is not opened again: a Forgetter may forget it while it is read.
func (p *Package) LastPart(name string, limit int64) (io.ReadCloser, error) {
	r, err := p.Part(name, limit)
	if err == nil && p.from != nil {
		i := slices.IndexFunc(p.archive.File, func(f *zip.File) bool { return f.Name == name })
		p.from.add(p.archive.File[i])
	}
	return r, err
}

// Part opens an XML part. Reading fails with source.ErrFileTooLarge after most bytes, and after maxRun bytes without
// an element. Part returns source.ErrUnsupportedFormat if the part is missing, encrypted or cannot be unpacked.
func (p *Package) Part(name string, limit int64) (io.ReadCloser, error) {
	for _, f := range p.archive.File {
		if f.Name != name {
			continue
		}
		const encrypted = 1
		if f.Flags&encrypted != 0 {
			return nil, source.ErrUnsupportedFormat
		}
		r, err := f.Open()
		if err != nil {
			return nil, source.ErrUnsupportedFormat
		}
		return &part{ReadCloser: r, of: p, left: limit}, nil
	}
	return nil, source.ErrUnsupportedFormat
}

// part is a part behind its own limit and its package's.
type part struct {
	io.ReadCloser
	of   *Package
	left int64
	run  int // bytes since the last "<"
}

func (p *part) Read(b []byte) (int, error) {
	rest := min(p.left, p.of.left)
	// Reading one byte more than is left distinguishes the end from too much data.
	n, err := p.ReadCloser.Read(b[:min(int64(len(b)), rest+1)])
	p.left, p.of.left = p.left-int64(n), p.of.left-int64(n)
	if p.left < 0 || p.of.left < 0 {
		p.left = 0
		p.of.left = max(p.of.left, 0)
		return 0, source.ErrFileTooLarge
	}
	if place := bytes.LastIndexByte(b[:n], '<'); place >= 0 {
		p.run = n - place - 1
	} else if p.run += n; p.run > maxRun {
		return 0, source.ErrFileTooLarge
	}
	return n, err
}

// Broken returns the fault for an error of reading a part, or XML from it: source.ErrFileTooLarge is returned
// unchanged, all others are source.ErrUnsupportedFormat.
func Broken(err error) error {
	if err == nil || errors.Is(err, source.ErrFileTooLarge) || errors.Is(err, source.ErrTabNotFound) {
		return err
	}
	return source.ErrUnsupportedFormat
}

// Decode reads a part's XML into v. It does not change v if the part is missing.
func (p *Package) Decode(name string, limit int64, v any) error {
	if !p.Has(name) {
		return nil
	}
	r, err := p.Part(name, limit)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was read from
	return Broken(p.decoder(r, perValue).Decode(v))
}

// Attribute returns an element's attribute by its local name, "" if not found.
func Attribute(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}
