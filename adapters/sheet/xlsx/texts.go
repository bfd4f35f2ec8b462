package xlsx

import (
	"encoding/binary"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/source"
)

const (
	maxTable  = 88 << 20 // bytes of the packed texts that are kept
	blockSize = 16 << 10 // bytes of texts that are packed together
	unpacked  = 256      // blocks of that size that are kept as they are
)

// texts are the texts that the cells of all sheets share, in the order of the file. The part is read up to the last one
// that was asked for, and those before are kept, since any row may refer to them. They are packed in blocks, so that
// they take about as much memory as in the file. Most rows refer to blocks that were used just before.
type texts struct {
	in    *xml.Decoder
	ended bool // there are no more
	most  int  // bytes of a text that are kept

	packed [][]byte
	first  []int // the number of the first text of each block
	size   int   // of packed
	open   []byte
	count  int // of texts, including the open block's

	to     *zstd.Encoder
	from   *zstd.Decoder
	recent [unpacked]struct {
		block int // from 1
		texts []byte
	}
}

// newTexts returns a part's texts, each cut to at most limit bytes.
func newTexts(in *xml.Decoder, limit int) (*texts, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(2*blockSize), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	return &texts{in: in, most: limit, to: encoder, from: decoder}, err
}

// sharedText returns a text by its number, or "".
func (b *workbook) sharedText(number string) (string, error) {
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || !b.pack.Has(b.texts) {
		return "", nil //nolint:nilerr // such a cell is empty
	}
	if b.shared == nil {
		r, err := b.pack.LastPart(b.texts, b.maxTexts) // it is read as long as the workbook is, and has no file
		if err != nil {
			return "", err
		}
		if b.shared, err = newTexts(b.pack.Decoder(r), 4*b.most); err != nil {
			return "", err
		}
	}
	for b.shared.count <= i {
		if b.shared.ended {
			return "", nil
		}
		if err := b.shared.next(); err != nil {
			return "", err
		}
	}
	return b.shared.text(i)
}

// next reads one more text. It returns source.ErrOutOfMemory if that is more than maxTable.
func (t *texts) next() error {
	for {
		token, err := t.in.Token()
		if err != nil {
			t.ended = true
			return zipfile.Broken(notEnd(err))
		}
		if e, ok := token.(xml.StartElement); !ok || e.Name.Local != "si" {
			continue
		}
		text, err := t.item()
		if err != nil {
			return zipfile.Broken(err)
		}
		return t.add(unescape(text))
	}
}

// item reads the rest of the item: its text, or its runs' text, without how East Asian text is spoken.
func (t *texts) item() (string, error) {
	var text strings.Builder
	for {
		token, err := t.in.Token()
		if err != nil {
			return "", err
		}
		switch e := token.(type) {
		case xml.EndElement:
			if e.Name.Local == "si" {
				return text.String(), nil
			}
		case xml.StartElement:
			switch e.Name.Local {
			case "t":
				if err := chars(t.in, &text); err != nil {
					return "", err
				}
			case "r":
			default:
				if err := t.in.Skip(); err != nil {
					return "", err
				}
			}
		}
	}
}

// add keeps a text, compressed with others. source.ErrOutOfMemory if they are too many.
func (t *texts) add(text string) error {
	if t.open == nil {
		t.first, t.open = append(t.first, t.count), make([]byte, 0, blockSize+blockSize/4)
	}
	text = text[:min(len(text), t.most)] // no more is shown
	t.open = append(binary.AppendUvarint(t.open, uint64(len(text))), text...)
	if t.count++; len(t.open) < blockSize {
		return nil
	}
	block := t.to.EncodeAll(t.open, nil)
	t.packed, t.open = append(t.packed, slices.Clip(block)), nil
	if t.size += len(block); t.size > maxTable {
		return source.ErrOutOfMemory
	}
	return nil
}

// text returns a text that was read.
func (t *texts) text(i int) (string, error) {
	place, found := slices.BinarySearch(t.first, i)
	if !found {
		place--
	}
	block, err := t.block(place)
	for skip := i - t.first[place]; err == nil; skip-- {
		n, size := binary.Uvarint(block)
		end := size + int(n) //nolint:gosec // from add
		if skip == 0 {
			return string(block[size:end]), nil
		}
		block = block[end:]
	}
	return "", err
}

// block returns a block's texts.
func (t *texts) block(index int) ([]byte, error) {
	if index == len(t.packed) {
		return t.open, nil
	}
	recent := &t.recent[index%unpacked]
	if recent.block == index+1 {
		return recent.texts, nil
	}
	block, err := t.from.DecodeAll(t.packed[index], nil)
	if len(block) <= 2*blockSize { // blocks of long texts would be too much
		recent.block, recent.texts = index+1, block
	}
	return block, err
}
