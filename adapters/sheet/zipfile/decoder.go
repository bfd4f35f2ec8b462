package zipfile

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"github.com/atrium-hq/atrium/domain/source"
)

// The limits for reading a document's XML. A limit of bytes is not enough: a few thousand bytes unpack to millions of
// elements, each of which takes as long as fifty letters.
const (
	maxWork  = 5_000_000 // of all parts together, each about 100 ns
	maxDepth = 100       // of elements within each other
	maxRun   = 4 << 20   // bytes without an element, which are read at once

	bytesPerWork = 6 // so many bytes take as long as one token
	workPerAttr  = 2
	perValue     = 3 // how much longer everything takes that is read into values, by reflection
)

// Decoder returns a decoder for a part's XML. It fails with source.ErrFileTooLarge once all decoders of the package
// together exceed the limit on work, and with source.ErrUnsupportedFormat if elements are nested too deeply.
func (p *Package) Decoder(r io.Reader) *xml.Decoder { return p.decoder(r, 1) }

// Affords returns the error that such a decoder would return for XML that another decoder is to read into values; nil
// if it is within the limits, which are the same for a read of all rows.
func (p *Package) Affords(text []byte) error {
	if p.work > maxWork {
		p = &Package{work: maxWork}
	}
	for d := p.decoder(bytes.NewReader(text), perValue); ; {
		_, err := d.Token()
		switch {
		case errors.Is(err, source.ErrFileTooLarge), errors.Is(err, source.ErrUnsupportedFormat):
			return err
		case err != nil: // the end, or an error that the other decoder will find
			return nil
		}
	}
}

func (p *Package) decoder(r io.Reader, weight int64) *xml.Decoder {
	return xml.NewTokenDecoder(&tokens{in: xml.NewDecoder(r), of: p, weight: weight})
}

// tokens are a part's tokens, counted.
type tokens struct {
	in     *xml.Decoder
	of     *Package
	weight int64
	depth  int
	read   int64 // bytes
}

// Token implements xml.TokenReader. Names and the order of elements are left to the decoder around it.
func (t *tokens) Token() (xml.Token, error) {
	token, err := t.in.RawToken()
	if err != nil {
		return token, err
	}
	end := t.in.InputOffset()
	work := 1 + (end-t.read)/bytesPerWork
	t.read = end
	switch e := token.(type) {
	case xml.StartElement:
		work += workPerAttr * int64(len(e.Attr))
		if t.depth++; t.depth > maxDepth {
			return nil, source.ErrUnsupportedFormat
		}
	case xml.EndElement:
		t.depth--
	}
	if t.of.work -= work * t.weight; t.of.work < 0 {
		return nil, source.ErrFileTooLarge
	}
	return token, nil
}
