package csv_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/adapters/sheet/csv"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func read(content string, location source.SheetLocation) (source.Sheet, error) {
	return csv.Read(bytes.NewReader([]byte(content)), int64(len(content)), "people", location)
}

// shown is the header and the rows of a preview, an empty cell as "".
func shown(s source.Sheet) [][]string {
	var header []string
	for _, h := range s.Preview.Headers {
		header = append(header, h.Name)
	}
	table := [][]string{header}
	for _, row := range s.Preview.Rows {
		var cells []string
		for _, c := range row {
			if c == nil {
				c = new("")
			}
			cells = append(cells, *c)
		}
		table = append(table, cells)
	}
	return table
}

// utf16Text encodes s, with a byte order mark if there is one in it.
func utf16Text(s string, bigEndian bool) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		pair := []byte{byte(u), byte(u >> 8)}
		if bigEndian {
			pair[0], pair[1] = pair[1], pair[0]
		}
		out = append(out, pair...)
	}
	return string(out)
}

func TestTextIsReadHoweverItIsWritten(t *testing.T) {
	const plain = "Name,City\nBjörn,Zürich\nAnn,Oslo\n"
	want := [][]string{{"Name", "City"}, {"Björn", "Zürich"}, {"Ann", "Oslo"}}
	for name, content := range map[string]string{
		"UTF-8":                              plain,
		"lines that end with CR only":        strings.ReplaceAll(plain, "\n", "\r"),
		"the same in UTF-16":                 utf16Text(strings.ReplaceAll("\ufeff"+plain, "\n", "\r"), false),
		"UTF-8 with a byte order mark":       "\ufeff" + plain,
		"UTF-16 of small ends":               utf16Text("\ufeff"+plain, false),
		"UTF-16 of big ends":                 utf16Text("\ufeff"+plain, true),
		"UTF-16 of small ends, without mark": utf16Text(plain, false),
		"UTF-16 of big ends, without mark":   utf16Text(plain, true),
		"Windows-1252":                       "Name,City\nBj\xf6rn,Z\xfcrich\nAnn,Oslo\n",
		"lines that end as on Windows":       strings.ReplaceAll(plain, "\n", "\r\n"),
		"without a last line end":            strings.TrimSuffix(plain, "\n"),
		"semicolons":                         strings.ReplaceAll(plain, ",", ";"),
		"tabs":                               strings.ReplaceAll(plain, ",", "\t"),
		"bars":                               strings.ReplaceAll(plain, ",", "|"),
		"quotes":                             "\"Name\",\"City\"\n\"Björn\",Zürich\nAnn,\"Oslo\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := read(content, source.SheetLocation{})
			require.NoError(t, err)
			if diff := cmp.Diff(want, shown(s)); diff != "" {
				t.Error(diff)
			}
			if s.Tab.Rows != 3 || s.Tab.Columns != 2 || s.Tab.Title != "people" {
				t.Errorf("%+v", s.Tab)
			}
		})
	}
}

func TestDelimitersWithinValuesAreNone(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		want    [][]string
	}{
		"commas within quotes": {"Name;Note\n\"a, b, c\";x\n\"d, e, f\";y\n",
			[][]string{{"Name", "Note"}, {"a, b, c", "x"}, {"d, e, f", "y"}}},
		"decimal commas": {"Price;Name\n1,5;a\n2,5;b\n3;c\n",
			[][]string{{"Price", "Name"}, {"1,5", "a"}, {"2,5", "b"}, {"3", "c"}}},
		"lines within quotes": {"Name,Note\na,\"two\nlines\"\nb,c\n",
			[][]string{{"Name", "Note"}, {"a", "two\nlines"}, {"b", "c"}}},
		"one column": {"Name\na\nb\n", [][]string{{"Name"}, {"a"}, {"b"}}},
		"quotes where none belong": {"Name,Size\na,5\" wide\nb,x\"y\"\n",
			[][]string{{"Name", "Size"}, {"a", "5\" wide"}, {"b", "x\"y\""}}},
		"a row that is shorter, one longer": {"A,B\n1\n1,2,3\n",
			[][]string{{"A", "B", "Column C"}, {"1", "", ""}, {"1", "2", "3"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := read(tt.content, source.SheetLocation{HeaderRow: 1})
			require.NoError(t, err)
			if diff := cmp.Diff(tt.want, shown(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNotUTF8LaterIsReplaced(t *testing.T) {
	content := "Name\n" + strings.Repeat("a\n", 40_000) + "\xff\n"
	if _, err := read(content, source.SheetLocation{}); err != nil {
		t.Error(err)
	}
	// A character that the sample cuts in two does not make it Windows-1252.
	content = "Näme\n" + strings.Repeat("ü", 64<<10) + "\n"
	s, err := read(content, source.SheetLocation{})
	if err != nil || s.Preview.Headers[0].Name != "Näme" {
		t.Errorf("%+v, %v", s.Preview.Headers, err)
	}
}

func TestADamagedCharacterDoesNotChangeTheOthers(t *testing.T) {
	s, err := read("Name,City\nBjörn,Zürich\nZo\xeb,Łódź\n", source.SheetLocation{HeaderRow: 1})
	require.NoError(t, err)
	want := [][]string{{"Name", "City"}, {"Björn", "Zürich"}, {"Zo\uFFFD", "Łódź"}}
	if diff := cmp.Diff(want, shown(s)); diff != "" {
		t.Error(diff)
	}
}

func TestAFileEndsBeforeTheMarkOfDOS(t *testing.T) {
	s, err := read("Name,City\r\nAnn,Oslo\r\n\x1a", source.SheetLocation{HeaderRow: 1})
	require.NoError(t, err)
	if diff := cmp.Diff([][]string{{"Name", "City"}, {"Ann", "Oslo"}}, shown(s)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoTextIsRefusedWithItsLine(t *testing.T) {
	for name, content := range map[string]string{"zeros among text": "a,b\nd\x00c\n1,2,3\n",
		"controls": "a\n" + strings.Repeat("\x01\x02a", 100)} {
		_, err := read(content, source.SheetLocation{})
		if !errors.Is(err, source.ErrUnsupportedFormat) || !strings.Contains(err.Error(), "line 2 ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRowsAreCountedWhereverTheHeaderIs(t *testing.T) {
	for headerRow, want := range map[int]int{0: 3, 1: 3, 3: 3, 500: 3} {
		s, err := read("Name,Age\na,1\nb,2\n", source.SheetLocation{HeaderRow: headerRow})
		if err != nil || s.Tab.Rows != want {
			t.Errorf("header row %d: %d rows, %v", headerRow, s.Tab.Rows, err)
		}
	}
}

func TestTheOnlyTabHasAName(t *testing.T) {
	for query, want := range map[string]error{"": nil, "1": nil, "people": nil, "PEOPLE": nil,
		"Sheet2": source.ErrTabNotFound} {
		if _, err := read("Name,Age\na,1\n", source.SheetLocation{Tab: query}); !errors.Is(err, want) {
			t.Errorf("%q: %v", query, err)
		}
	}
}
