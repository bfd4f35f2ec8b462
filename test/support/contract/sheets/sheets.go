// Package sheets holds the suite of ports.Sheets.
package sheets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Harness is a ports.Sheets with the place that it reads from.
type Harness struct {
	Sheets ports.Sheets
	// Put creates a sheet and returns its location.
	Put func(t *testing.T, w fixture.Workbook) ports.SheetTarget
	// Absent is a location without a sheet.
	Absent ports.SheetTarget
	// OneTab is set if the format has exactly one tab, without a name.
	OneTab bool
}

// sheetsWorkspace is the workspace of the sheets. The port looks nothing up in it.
const sheetsWorkspace identity.WorkspaceID = "wsp_01jcontractsheets0000000000"

// people is a table with a header and four columns.
var people = [][]string{
	{"Name", "E-mail", "Name", ""},
	{"Ann", "ann@example.com", "Lee", "x"},
	{"Bøb", "bob@example.com", "", "y"},
	{"Cid, “the 3rd”", "cid@example.com", "Ray", "z"},
}

// Sheets is the suite for ports.Sheets.
func Sheets(t *testing.T, harness Harness) {
	read := func(t *testing.T, target ports.SheetTarget) source.Sheet {
		t.Helper()
		s, err := harness.Sheets.Preview(t.Context(), sheetsWorkspace, target)
		require.NoError(t, err)
		if !slices.Contains(s.Tabs, s.Tab) {
			t.Errorf("the tab read, %+v, is none of %+v", s.Tab, s.Tabs)
		}
		if text, err := json.Marshal(s); err != nil || len(text) > 2<<20 {
			t.Errorf("it cannot be told: %d bytes, %v", len(text), err)
		}
		return s
	}
	one := func(rows ...[]string) fixture.Workbook {
		return fixture.Workbook{Name: "people", Tabs: []fixture.Tab{{Title: "People", Rows: rows}}}
	}

	t.Run("the header and the first rows of a table are read", func(t *testing.T) {
		s := read(t, harness.Put(t, one(people...)))
		if !strings.HasPrefix(s.Title, "people") {
			t.Errorf("title %q", s.Title)
		}
		want := column.Preview{
			HeaderRow: 1, Confidence: s.Preview.Confidence,
			Headers: []column.Header{
				{Name: "Name", Column: "A", Type: column.String}, {Name: "E-mail", Column: "B", Type: column.Email},
				{Name: "Name (2)", Column: "C", Type: column.String},
				{Name: "Column D", Column: "D", Type: column.String},
			},
			Rows: [][]*string{
				{new("Ann"), new("ann@example.com"), new("Lee"), new("x")},
				{new("Bøb"), new("bob@example.com"), nil, new("y")},
				{new("Cid, “the 3rd”"), new("cid@example.com"), new("Ray"), new("z")},
			},
		}
		if diff := cmp.Diff(want, s.Preview); diff != "" {
			t.Error(diff)
		}
		if s.Preview.Confidence <= 0.5 || s.Preview.Confidence > 1 {
			t.Errorf("confidence %v", s.Preview.Confidence)
		}
		if (s.Tab.Rows != -1 && s.Tab.Rows < 4) || (s.Tab.Columns != -1 && s.Tab.Columns < 4) {
			t.Errorf("the tab has %d rows and %d columns", s.Tab.Rows, s.Tab.Columns)
		}
	})
	t.Run("a header below a title is found, and another header row can be given", func(t *testing.T) {
		target := harness.Put(t, one(append([][]string{{"All our people"}}, people...)...))
		if s := read(t, target); s.Preview.HeaderRow != 2 || s.Preview.Headers[1].Name != "E-mail" {
			t.Errorf("row %d: %+v", s.Preview.HeaderRow, s.Preview.Headers)
		}
		target.Location.HeaderRow = 4
		s := read(t, target)
		if s.Preview.HeaderRow != 4 || s.Preview.Headers[0].Name != "Bøb" || len(s.Preview.Rows) != 1 ||
			s.Preview.Confidence != 1 {
			t.Errorf("%+v", s.Preview)
		}
		if upper := s.Preview.Leading; len(upper) != 3 || *upper[0][0] != "All our people" || *upper[1][1] != "E-mail" {
			t.Errorf("leading = %v", upper)
		}
	})
	t.Run("the rows below a header are read", func(t *testing.T) {
		sheetRows(t, harness, func(t *testing.T, rows ...[]string) ports.SheetTarget {
			return harness.Put(t, one(rows...))
		})
	})
	t.Run("twenty rows above a header are shown", func(t *testing.T) {
		var rows [][]string
		for n := range 30 {
			rows = append(rows, []string{fmt.Sprint("note ", n+1)})
		}
		target := harness.Put(t, one(append(rows, people...)...))
		target.Location.HeaderRow = 31
		s := read(t, target)
		if upper := s.Preview.Leading; len(upper) != column.LeadingRows || *upper[0][0] != "note 11" ||
			s.Preview.Headers[1].Name != "E-mail" {
			t.Errorf("%+v", s.Preview)
		}
	})
	t.Run("a header row beyond the end gives no rows", func(t *testing.T) {
		target := harness.Put(t, one(people...))
		target.Location.HeaderRow = source.MaxHeaderRow
		if s := read(t, target); len(s.Preview.Headers) > 0 || s.Preview.HeaderRow != source.MaxHeaderRow {
			t.Errorf("%+v", s.Preview)
		}
	})
	t.Run("a wide table is cut on the right", func(t *testing.T) {
		var header, row []string
		for i := range column.MaxColumns + 50 {
			header, row = append(header, fmt.Sprint("Column no. ", i)), append(row, "v")
		}
		s := read(t, harness.Put(t, one(header, row)))
		if len(s.Preview.Headers) != column.MaxColumns || s.Preview.Headers[column.MaxColumns-1].Column != "GR" {
			t.Errorf("%d columns", len(s.Preview.Headers))
		}
	})
	t.Run("a long table is read no further than needed", func(t *testing.T) {
		rows := slices.Clone(people)
		for range 2000 {
			rows = append(rows, people[1])
		}
		s := read(t, harness.Put(t, one(rows...)))
		if len(s.Preview.Rows) != column.MaxShownRows || (s.Tab.Rows != -1 && s.Tab.Rows < len(rows)) {
			t.Errorf("%d rows are shown, of %d", len(s.Preview.Rows), s.Tab.Rows)
		}
	})
	t.Run("long cells are cut to MaxCell characters", func(t *testing.T) {
		s := read(t, harness.Put(t, one([]string{"Text", "Emoji"},
			[]string{strings.Repeat("long ", 200), strings.Repeat("😀", 300)})))
		for i, c := range s.Preview.Rows[0] {
			if n := len([]rune(*c)); n != column.MaxCell {
				t.Errorf("cell %d has %d characters", i, n)
			}
		}
	})
	t.Run("a missing sheet is not found", func(t *testing.T) {
		if _, err := harness.Sheets.Preview(t.Context(), sheetsWorkspace, harness.Absent); !errors.Is(err,
			source.ErrSheetNotFound) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a missing tab is not found", func(t *testing.T) {
		to := harness.Put(t, one(people...))
		to.Location.Tab = "Nobody"
		if _, err := harness.Sheets.Preview(t.Context(), sheetsWorkspace, to); !errors.Is(err, source.ErrTabNotFound) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("other locations are refused", func(t *testing.T) {
		for _, url := range []string{
			"", "people", "http://example.com/a.csv", "ftp://example.com/a.csv", "https://", "https:///a.csv",
			"https://user:password@example.com/a.csv",
			"file:///etc/passwd", "file:../atrium.db", "file:a/b.csv", "file:.hidden", "file:", "https://127.1/a.csv",
			"https://[::1]/a.csv",
			"https://169.254.169.254/latest/meta-data", "https://localhost./a.csv", "https://example.com:22/a.csv",
			"https://\x00", "https://exam ple.com/",
			"https://example.com/" + strings.Repeat("a", source.MaxLocation), "\xff",
		} {
			target := ports.SheetTarget{Location: source.SheetLocation{URL: url}, Offer: ports.SheetOffer{Files: true}}
			if _, err := harness.Sheets.Preview(t.Context(), sheetsWorkspace, target); !errors.Is(err,
				source.ErrURLNotAllowed) {
				t.Errorf("%.40q: err = %v", url, err)
			}
		}
	})
	t.Run("a file location is refused unless files are offered", func(t *testing.T) {
		target := ports.SheetTarget{Location: source.SheetLocation{URL: "file:people.csv"}}
		if _, err := harness.Sheets.Preview(t.Context(), sheetsWorkspace, target); !errors.Is(err,
			source.ErrURLNotAllowed) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a call ends with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := harness.Sheets.Preview(ctx, sheetsWorkspace, harness.Put(t, one(people...))); !errors.Is(err,
			context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
	if harness.OneTab {
		return
	}
	t.Run("an empty tab has no header", func(t *testing.T) {
		if s := read(t, harness.Put(t, one())); len(s.Preview.Headers) > 0 || s.Preview.HeaderRow != 0 {
			t.Errorf("%+v", s.Preview)
		}
	})
	t.Run("tabs are listed and chosen by id or title", func(t *testing.T) {
		target := harness.Put(t, fixture.Workbook{Name: "book", Tabs: []fixture.Tab{
			{Title: "Secret", Hidden: true, Rows: [][]string{{"Code", "Word"}, {"1", "x"}}},
			{Title: "Empty"},
			{Title: "It's “odd”! & <more>", Rows: people},
		}})
		s := read(t, target)
		var titles []string
		for _, tab := range s.Tabs {
			titles = append(titles, tab.Title)
		}
		if !slices.Equal(titles, []string{"Secret", "Empty", "It's “odd”! & <more>"}) || !s.Tabs[0].Hidden ||
			s.Tabs[1].Hidden {
			t.Fatalf("%+v", s.Tabs)
		}
		assert.Equal(t, "without a tab, it reads", s.Tab, s.Tabs[1])
		for i, want := range map[int]string{0: "Code", 2: "Name"} {
			for _, query := range []string{s.Tabs[i].ID, s.Tabs[i].Title, strings.ToUpper(s.Tabs[i].Title)} {
				target.Location.Tab = query
				if s := read(t, target); s.Preview.Headers[0].Name != want || s.Tab.ID != s.Tabs[i].ID {
					t.Errorf("tab %q: %+v of %+v", query, s.Preview.Headers, s.Tab)
				}
			}
		}
	})
}
