package sources_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// guests is a type whose fields are parts of columns.
var guests = source.Type{Key: "people", Title: "Guests", Accepts: people.Accepts, Fields: []column.Field{
	{Key: "id", Title: "Id", Type: column.String, Unique: true},
	{Key: "name", Title: "Name", Type: column.String},
	{Key: "first", Title: "First name", Type: column.String},
	{Key: "born", Title: "Born", Type: column.Date},
	{Key: "age", Title: "Age", Type: column.Integer},
}}

// aGuestList returns a source whose columns are transformed.
func aGuestList(t *testing.T, location source.Location) *source.Source {
	t.Helper()
	src := stored(t, location)
	src.Mapping = []source.Pair{
		{Field: "id", Column: "No", Transform: column.Transform{Split: &column.Split{Part: column.Last, Separator: "-"}}},
		{Field: "name", Column: "Given", Transform: column.Transform{
			Join: &column.Join{Columns: []string{"Family"}, Separator: " "}, Case: column.TitleWords}},
		{Field: "first", Column: "Given", Transform: column.Transform{Trim: true}},
		{Field: "born", Column: "Born", Transform: column.Transform{Dates: column.MonthFirst}},
		{Field: "age", Column: "Age"},
	}
	return src
}

// readAll reads the rows of the source as texts, one a row.
func (s *env) readAll(q sources.RowsQuery) []string {
	s.t.Helper()
	var got []string
	_, err := s.ReadRows(s.ctx, owner, "src", q, func(context.Context, sources.RowsStart) error { return nil },
		func(r sources.Row) error {
			invalid := []string{}
			for _, v := range r.Invalid {
				invalid = append(invalid, v.Field+" "+string(v.Code))
			}
			var values []any
			for _, v := range r.Values {
				if values = append(values, v.Text); v.IsNull() {
					values[len(values)-1] = nil
				}
			}
			got = append(got, fmt.Sprint(values, invalid))
			return nil
		})
	require.NoError(s.t, err)
	return got
}

func TestRowsAreTransformed(t *testing.T) {
	cell := func(texts ...string) (row []*string) {
		for _, text := range texts {
			row = append(row, &text)
		}
		return row
	}
	names := []string{"No", "Given", "Family", "Born", "Age"}
	rows := [][]*string{cell("A-7", " ADA", "lovelace ", "12/10/1815", "36"),
		cell("A-8", "", "hopper", "25/12/1906", "x")}

	t.Run("of a sheet, each column once, and only whole columns as they are stored", func(t *testing.T) {
		s := newEnv(t)
		s.types = []source.Type{guests}
		s.expectGet(aGuestList(t, sheetAt))
		s.sheets.EXPECT().Rows(gomock.Any(), acme, gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.WorkspaceID, _ ports.SheetTarget, q source.RowsQuery,
				handle func(column.Batch) error) error {
				if !slices.Equal(q.Columns, names) || !slices.Equal(q.Exact, []bool{false, false, false, true, true}) {
					t.Errorf("%q, %v", q.Columns, q.Exact)
				}
				return handle(column.Batch{Version: "1", Sample: rows, Numbers: []int{2, 3}, Rows: column.RowsOf(rows)})
			})
		if got := s.readAll(sources.RowsQuery{OnInvalid: sources.ReportInvalid}); !slices.Equal(got, []string{
			"[7 Ada Lovelace ADA 1815-12-10 36] []", "[8 Hopper <nil> <nil> <nil>] [born wrong_type age wrong_type]"}) {
			t.Errorf("%q", got)
		}
	})
	t.Run("of a table, which is not ordered by a part of a column", func(t *testing.T) {
		s := newEnv(t)
		s.types = []source.Type{guests}
		s.expectGet(aGuestList(t, table))
		s.warehouse.EXPECT().Rows(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ ports.Target, q connection.RowsQuery, handle func(column.Batch) error) error {
				if q.Key != "" || !slices.Equal(q.Columns, names[:1]) {
					t.Errorf("%q, ordered by %q", q.Columns, q.Key)
				}
				return handle(column.Batch{Rows: column.RowsOf([][]*string{rows[0][:1]})})
			})
		if got := s.readAll(sources.RowsQuery{Pages: true, Fields: []string{"id"}}); !slices.Equal(got,
			[]string{"[7] []"}) {
			t.Errorf("%q", got)
		}
	})
	t.Run("not if they are raw", func(t *testing.T) {
		s := newEnv(t)
		s.types = []source.Type{guests}
		s.expectGet(aGuestList(t, sheetAt))
		s.sheets.EXPECT().Rows(gomock.Any(), acme, gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.WorkspaceID, _ ports.SheetTarget, q source.RowsQuery,
				handle func(column.Batch) error) error {
				if slices.Contains(q.Exact, true) {
					t.Errorf("%v", q.Exact)
				}
				return handle(column.Batch{Version: "1", Sample: rows, Numbers: []int{2},
					Rows: column.RowsOf(rows[:1])})
			})
		if got := s.readAll(sources.RowsQuery{Raw: true}); !slices.Equal(got,
			[]string{"[A-7  ADA  ADA 12/10/1815 36] []"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestPreviewsOfTransformationsRequireAMember(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	pairs := []source.Pair{{Field: "first", Column: "Given", Transform: column.Transform{Case: column.Lower}}}
	columns := []column.Header{{Name: "Given"}}
	_, err := s.PreviewTransforms(viewer, "people", source.SheetBackend, columns, pairs, nil)
	require.ErrorIs(t, err, source.ErrForbidden)
	_, err = s.PreviewTransforms(owner, "animals", source.SheetBackend, columns, pairs, nil)
	require.ErrorIs(t, err, source.ErrUnknownType)
	_, err = s.PreviewTransforms(owner, "people", source.SheetBackend, nil, pairs, nil)
	require.ErrorIs(t, err, source.ErrMappingInvalid)
	got, err := s.PreviewTransforms(owner, "people", source.SheetBackend, columns, pairs, [][]*string{{new("ADA")}})
	require.NoError(t, err)
	if len(got) != 1 || got[0][0].After.Text != "ada" {
		t.Errorf("%+v", got)
	}
}
