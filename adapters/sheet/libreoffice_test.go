package sheet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/fixture/xlsx"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func TestWhatLibreOfficeWritesIsRead(t *testing.T) {
	folder := t.TempDir()
	sheets := confined(t, folder)
	want := column.Preview{
		Headers: []column.Header{
			{Name: "Name", Column: "A", Type: column.String}, {Name: "Since", Column: "B", Type: column.Date},
			{Name: "Spent", Column: "C", Type: column.Number},
			{Name: "Discount", Column: "D", Type: column.Number}, {Name: "Double", Column: "E", Type: column.Number},
		},
		HeaderRow: 2,
		Leading:   [][]*string{{new("Customers of the year")}},
		Rows: [][]*string{
			{new("Ann Lee"), new("2026-01-31"), new("1,234.50"), new("12.5%"), new("2,469.00")},
			{new("Bøb"), new("2025-12-24"), new("2.00"), nil, new("4.00")},
		},
	}
	for _, format := range []string{"xlsx", "ods", "csv"} {
		t.Run(format, func(t *testing.T) {
			content := services.Convert(t, "customers.fods", []byte(flat), format)
			s, err := sheets.Preview(t.Context(), "", put(t, folder, "customers."+format, content))
			require.NoError(t, err)
			want.Confidence = s.Preview.Confidence
			if format == "csv" { // in which numbers are written as they are
				want.Rows[0][2], want.Rows[0][4], want.Rows[1][2], want.Rows[1][4] = new("1234.5"), new("2469"),
					new("2"), new("4")
				want.Headers[4].Type = column.Integer
			}
			if diff := cmp.Diff(want, s.Preview); diff != "" {
				t.Error(diff)
			}
			if format == "csv" {
				return
			}
			if len(s.Tabs) != 2 || s.Tab.Title != "Customers" || !s.Tabs[1].Hidden || s.Tab.Rows != 4 ||
				s.Tab.Columns != 5 {
				t.Errorf("tabs = %+v", s.Tabs)
			}
		})
	}
}

func TestWhatLibreOfficeMakesOfAnotherProgramsWorkbookIsRead(t *testing.T) {
	folder := t.TempDir()
	sheets := confined(t, folder)
	book := fixture.Workbook{Name: "people",
		Tabs: []fixture.Tab{
			{Title: "It's “odd” & <more>",
				Rows: [][]string{{"Name", "E-mail", "Name"}, {"Ann", "ann@example.com", "Lee"}}}}}
	s, err := sheets.Preview(t.Context(), "",
		put(t, folder, "people.ods", services.Convert(t, "people.xlsx", xlsx.Write(book, t), "ods")))
	require.NoError(t, err)
	if diff := cmp.Diff([]string{"Name", "E-mail", "Name (2)"}, headerNames(s)); diff != "" ||
		s.Tab.Title != book.Tabs[0].Title {
		t.Errorf("tab %q: %s", s.Tab.Title, diff)
	}
}

func headerNames(s source.Sheet) []string {
	var names []string
	for _, h := range s.Preview.Headers {
		names = append(names, h.Name)
	}
	return names
}
