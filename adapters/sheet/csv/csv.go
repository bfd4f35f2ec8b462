// Package csv reads the first rows of tables in plain text: values separated by commas, semicolons, tabs or
// bars (RFC 4180 and its variants in practice), in UTF-8, UTF-16 and the code pages of common languages.
package csv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"golang.org/x/text/transform"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

const (
	maxRecord = 1 << 20  // a record's bytes, all of its lines together
	maxSample = 64 << 10 // bytes that charset and delimiter are guessed from
)

// Read reads a table's first rows. The result has one tab, named title.
//
// Rows are numbered as programs that show tables do: an empty line is a row. The count of all rows is an estimate:
// lines within quotes count too. Read returns source.ErrFileTooLarge if a row that it reads is longer than 1 MiB, and
// source.ErrUnsupportedFormat if this is not text or if a quotation mark in those rows is never closed.
func Read(r io.ReaderAt, size int64, title string, location source.SheetLocation) (source.Sheet, error) {
	f, err := open(r, size, location)
	if err != nil {
		return source.Sheet{}, err
	}
	tab := source.Tab{ID: "1", Title: source.TabTitle(title)}
	if _, err := source.FindTab([]source.Tab{tab}, location.Tab); err != nil {
		return source.Sheet{}, err
	}
	skip, limit := column.Window(location.HeaderRow)
	rows, rowCount, width, all, err := records(newTable(f.plain, f.comma), skip, limit)
	if err != nil {
		return source.Sheet{}, err
	}
	tab.Rows, tab.Columns = rowCount, width
	if !all {
		if tab.Rows, err = lines(f.raw); err != nil {
			return source.Sheet{}, err
		}
	}
	return source.Sheet{Tabs: []source.Tab{tab}, Tab: tab, Preview: column.Examine(rows, location.HeaderRow),
		Charset: f.charset, Delimiter: f.delimiter}, nil
}

// delimiters are the separators of values, by their names in source.SheetLocation.
var delimiters = map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t', "pipe": '|'}

// file is an open table.
type file struct {
	raw     io.Reader // its bytes
	plain   io.Reader // its text in UTF-8
	charset string    // of its bytes

	delimiter string // the separator of its values, as in source.SheetLocation
	comma     rune   // the same
}

// open opens a table, with a location's charset and delimiter or the likeliest ones.
func open(r io.ReaderAt, size int64, location source.SheetLocation) (file, error) {
	size = withoutEndMark(r, size)
	sample := make([]byte, min(size, maxSample))
	if n, err := r.ReadAt(sample, 0); n < len(sample) {
		return file{}, err
	}
	isWhole := int64(len(sample)) == size
	encoding, name, err := charset(sample, isWhole, location.Charset)
	if err != nil {
		return file{}, err
	}
	text, _, err := transform.Bytes(encoding.NewDecoder(), sample)
	if err != nil && !errors.Is(err, transform.ErrShortSrc) { // the sample may end within a character
		return file{}, source.ErrUnsupportedFormat
	}
	f := file{charset: name, raw: io.NewSectionReader(r, 0, size),
		plain: transform.NewReader(io.NewSectionReader(r, 0, size), encoding.NewDecoder())}
	if bytes.ContainsRune(text, '\r') && !bytes.ContainsRune(text, '\n') { // as Excel for Mac writes it
		text = bytes.ReplaceAll(text, []byte{'\r'}, []byte{'\n'})
		f.raw, f.plain = carriageReturns{f.raw}, carriageReturns{f.plain}
	}
	f.comma = delimiters[location.Delimiter]
	if f.comma == 0 {
		f.comma = delimiter(string(text), isWhole)
	}
	for name, comma := range delimiters {
		if comma == f.comma {
			f.delimiter = name
		}
	}
	return f, nil
}

// withoutEndMark returns a text's size without the Ctrl-Z with which programs for DOS end a file.
func withoutEndMark(r io.ReaderAt, size int64) int64 {
	var last [1]byte
	if size > 0 {
		if n, _ := r.ReadAt(last[:], size-1); n == 1 && last[0] == '\x1a' {
			return size - 1
		}
	}
	return size
}

// records returns up to most rows after the first skip ones, the number of rows, the largest number of columns, and
// whether these are all rows.
func records(
	t *table, skip, limit int,
) (rows [][]*string, rowCount, width int, all bool, err error) {
	for rowCount < skip+limit {
		number, record, err := t.next()
		if errors.Is(err, io.EOF) {
			return rows, rowCount, width, true, nil
		}
		if err != nil {
			return nil, 0, 0, false, err
		}
		for rowCount++; rowCount < min(number, skip+limit+1); rowCount++ { // blank lines
			if rowCount > skip {
				rows = append(rows, nil)
			}
		}
		if rowCount = number; rowCount <= skip || rowCount > skip+limit {
			continue
		}
		width = max(width, len(record))
		var row []*string
		for _, v := range record[:min(len(record), column.MaxColumns)] {
			row = append(row, column.Cell(v))
		}
		rows = append(rows, row)
	}
	return rows, rowCount, width, false, nil
}

// carriageReturns reads a text whose lines end with a carriage return only, as one whose lines end with a line feed.
type carriageReturns struct{ from io.Reader }

func (c carriageReturns) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	for i := range b[:n] {
		if b[i] == '\r' {
			b[i] = '\n'
		}
	}
	return n, err
}

// allowance is a reader that fails with source.ErrFileTooLarge after left bytes.
type allowance struct {
	from io.Reader
	left int
}

func (a *allowance) Read(b []byte) (int, error) {
	if a.left <= 0 {
		return 0, source.ErrFileTooLarge
	}
	n, err := a.from.Read(b[:min(len(b), a.left)])
	a.left -= n
	return n, err
}

// lines counts lines, including a last one that nothing ends.
func lines(r io.Reader) (n int, err error) {
	buffer, last := make([]byte, 64<<10), byte('\n')
	for {
		read, err := r.Read(buffer)
		if read > 0 {
			n, last = n+bytes.Count(buffer[:read], []byte{'\n'}), buffer[max(read-1, 0)]
		}
		if errors.Is(err, io.EOF) {
			if last != '\n' {
				n++
			}
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// delimiter guesses the separator of values: the one that gives the most records the same number of values, more than
// one; in a tie, the delimiter with the most values. It returns a comma if no delimiter fits.
func delimiter(sample string, isWhole bool) rune {
	const enough = 20 // records
	best, bestShare, bestWidth := ',', 0.0, 1
	for _, comma := range []rune{',', ';', '\t', '|'} {
		in := csv.NewReader(strings.NewReader(sample))
		in.Comma, in.FieldsPerRecord, in.LazyQuotes = comma, -1, true
		widths, n := map[int]int{}, 0
		for ; n < enough; n++ {
			record, err := in.Read()
			if err != nil {
				break
			}
			if !isWhole && in.InputOffset() >= int64(len(sample)) { // cut
				break
			}
			widths[len(record)]++
		}
		for width, times := range widths {
			share := float64(times) / float64(n)
			if width > 1 && (share > bestShare || (share == bestShare && width > bestWidth)) {
				best, bestShare, bestWidth = comma, share, width
			}
		}
	}
	return best
}
