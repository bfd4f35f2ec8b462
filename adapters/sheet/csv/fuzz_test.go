package csv_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/source"
)

// FuzzRead guesses how a text is encoded and what parts its values.
func FuzzRead(f *testing.F) {
	for _, content := range []string{
		"Name,City\nAnn,Oslo\n", "a;b\n1;2\n3;4", "a\tb\n\"1\t2\"\n", "a|b|c\n1|2|3\n", "\xef\xbb\xbfName\nx",
		utf16Text("\ufeffName,City\nBj\u00f6rn,Oslo\n", false), utf16Text("Name,City\n", true), "\xff\xfe\x00",
		"\xff\xfea",
		"Bj\xf6rn,Z\xfcrich\n", "\"", "\"a\n\"\"b\",c", "a,\"b\"c\n", strings.Repeat(",", 1000),
		strings.Repeat("a\n", 1000), "\x00\x00", "\x1a", "\r\r\r", "a,b\r1,2\r",
	} {
		f.Add(content, 0)
		f.Add(content, 3)
	}
	f.Fuzz(func(t *testing.T, content string, headerRow int) {
		if headerRow < 0 || headerRow > source.MaxHeaderRow || content == "" {
			return // others refuse these before
		}
		s, err := read(content, source.SheetLocation{HeaderRow: headerRow})
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok {
				t.Errorf("%q: an error of another kind: %v", content, err)
			}
			return
		}
		if s.Tab.Rows < 0 || s.Tab.Columns < 0 || len(s.Preview.Headers) > column.MaxColumns {
			t.Errorf("%q: %+v", content, s.Tab)
		}
		for _, row := range shown(s) {
			for _, cell := range row {
				if !utf8.ValidString(cell) || strings.ContainsAny(cell, "\x00\r") ||
					utf8.RuneCountInString(cell) > column.MaxCell+10 {
					t.Errorf("%q shows %q", content, cell)
				}
			}
		}
	})
}
