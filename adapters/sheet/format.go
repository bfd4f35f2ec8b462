package sheet

import (
	"bytes"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sheet/csv"
	"github.com/atrium-hq/atrium/adapters/sheet/ods"
	"github.com/atrium-hq/atrium/adapters/sheet/xlsx"
	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/source"
)

// document is a file, wherever it came from.
type document struct {
	io.ReaderAt
	size int64
	name string // of the file
	web  bool   // it was fetched: HTML instead of it is a sign-in page
}

// read reads a document in the format that its first bytes show. Its name and its media type are often wrong.
func (d document) read(location source.SheetLocation) (s source.Sheet, err error) {
	title := strings.TrimSuffix(d.name, path.Ext(d.name))
	kind, err := d.format()
	if err != nil {
		return source.Sheet{}, err
	}
	switch kind {
	case openDocument:
		s, err = ods.Read(d, d.size, location)
	case workbook:
		s, err = xlsx.Read(d, d.size, location)
	case plainText:
		s, err = csv.Read(d, d.size, title, location)
	}
	s.Title = source.TabTitle(title)
	return s, err
}

// format is what a document is.
type format int

const (
	plainText format = iota
	openDocument
	workbook
)

// format returns what a document's first bytes show, or why it cannot be read.
func (d document) format() (format, error) {
	const enough = 512 // bytes
	head := make([]byte, min(d.size, enough))
	if n, err := d.ReadAt(head, 0); n < len(head) {
		return 0, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		if isODS(head) || d.hasODSParts() {
			return openDocument, nil
		}
		return workbook, nil
	case len(bytes.TrimSpace(head)) == 0 && d.size <= enough:
		return 0, source.ErrUnsupportedFormat.Because("The file is empty.")
	case isPage(head):
		if d.web {
			return 0, source.ErrSheetNotShared
		}
		return 0, source.ErrUnsupportedFormat
	case isForeign(head):
		return 0, source.ErrUnsupportedFormat
	}
	return plainText, nil
}

// isODS reports whether an archive's first part is OpenDocument's media type, uncompressed (part 2, 3.3).
func isODS(head []byte) bool {
	const name, nameAt = "mimetype", 30
	return len(head) > nameAt && bytes.HasPrefix(head[nameAt:], []byte(name+ods.MediaType))
}

// hasODSParts reports whether an archive has the parts of OpenDocument in another order, as SheetJS writes them.
func (d document) hasODSParts() bool {
	archive, err := zipfile.Open(d.ReaderAt, d.size)
	return err == nil && archive.Has("mimetype") && archive.Has("content.xml")
}

// isPage reports whether a text is HTML.
func isPage(head []byte) bool {
	text := strings.ToLower(strings.TrimSpace(string(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))))
	for strings.HasPrefix(text, "<!--") {
		_, rest, _ := strings.Cut(text, "-->")
		text = strings.TrimSpace(rest)
	}
	for _, begin := range []string{"<!doctype html", "<html", "<head", "<body", "<script", "<meta"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

// arrayForm is a JSON array's beginning; [Name], as Access writes names, is none.
var arrayForm = regexp.MustCompile(`^\[\s*(?:[{\["\-\d]|true|false|null|\])`)

// isForeign reports whether a text is known to be no table of values, though it could be read as one: PDF, RTF, JSON,
// other markup, DIF and SYLK.
func isForeign(head []byte) bool {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	for _, begin := range []string{"%PDF-", "{", "<", "#!", "TABLE\n0,1", "TABLE\r\n0,1", "ID;P"} {
		if bytes.HasPrefix(text, []byte(begin)) {
			return true
		}
	}
	return len(text) == 0 || arrayForm.Match(text)
}
