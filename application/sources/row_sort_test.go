package sources_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// parcels are a table's fields: a unique id, a weight, a name that a transformation trims, and a document.
var parcels = source.Type{Key: "people",
	Accepts: []source.Backend{source.WarehouseBackend, source.SheetBackend},
	Fields: []column.Field{{Key: "id", Type: column.Integer, Unique: true}, {Key: "weight", Type: column.Number},
		{Key: "name", Type: column.String}, {Key: "about", Type: column.JSON}}}

// sent are the cells of parcels that a source sends, which has no order.
var sent = [][]*string{{new("1"), new("10"), new(" b"), nil}, {new("2"), new("9.0"), new("c"), nil},
	{new("3"), nil, new("a "), nil}, {new("4"), new("1e1"), nil, nil}, {new("5"), new("heavy"), new("ä"), nil}}

// sorted reads parcels from a source that does rows. It returns the ids, and how the read ended.
func (s *env) sorted(place source.Location, q sources.RowsQuery, handle func(connection.RowsQuery) column.Batch) (
	ids string, end sources.RowsEnd, err error,
) {
	s.types = []source.Type{parcels}
	src := stored(s.t, place)
	src.Mapping = []source.Pair{{Field: "id", Column: "Id"}, {Field: "weight", Column: "Weight"},
		{Field: "name", Column: "Name", Transform: column.Transform{Trim: true}}, {Field: "about", Column: "About"}}
	s.expectGet(src)
	s.warehouse.EXPECT().Rows(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).MaxTimes(1).DoAndReturn(
		func(_ context.Context, _ ports.Target, q connection.RowsQuery, emit func(column.Batch) error) error {
			return emit(handle(q))
		})
	s.sheets.EXPECT().Rows(gomock.Any(), acme, gomock.Any(), gomock.Any(), gomock.Any()).MaxTimes(1).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ ports.SheetTarget, q source.RowsQuery,
			emit func(column.Batch) error) error {
			if q.After != 0 {
				s.t.Errorf("rows after %d", q.After)
			}
			b := handle(connection.RowsQuery{Columns: q.Columns})
			b.Version, b.Numbers = "1", []int{2, 3, 4, 5, 6}
			return emit(b)
		})
	end, err = s.ReadRows(s.ctx, owner, "src", q, func(context.Context, sources.RowsStart) error { return nil },
		func(r sources.Row) error {
			ids += r.Values[0].Text
			return nil
		})
	return ids, end, err
}

// selected returns rows with the columns of a query, and a place for its key.
func selected(rows [][]*string) func(connection.RowsQuery) column.Batch {
	return func(q connection.RowsQuery) column.Batch {
		var cells [][]*string
		for _, row := range rows {
			var selection []*string
			for _, name := range q.Columns {
				selection = append(selection, row[slices.Index([]string{"Id", "Weight", "Name", "About"}, name)])
			}
			if q.Key != "" {
				selection = append(selection, row[0])
			}
			cells = append(cells, selection)
		}
		return column.Batch{Rows: column.RowsOf(cells)}
	}
}

func TestRowsThatTheSourceDoesNotSortAreSortedByAtrium(t *testing.T) {
	for name, place := range map[string]source.Location{"a table": table, "a file": sheetAt} {
		for sort, want := range map[string]string{"weight": "21435", "-weight": "14235", "name": "31254",
			"-name": "52134", "id": "12345", "-id": "54321"} {
			t.Run(name+" by "+sort, func(t *testing.T) {
				got, end, err := newEnv(t).sorted(place, sources.RowsQuery{Sort: sort}, selected(sent))
				if err != nil || got != want || end.SortedBy != sources.SortedByAtrium || end.More {
					t.Errorf("a stream: %s, want %s; %+v, %v", got, want, end, err)
				}
				for limit := 1; limit <= 4; limit++ {
					got, end = "", sources.RowsEnd{More: true}
					for end.More && len(got) < len(want) {
						var page string
						page, end, err = newEnv(t).sorted(place, sources.RowsQuery{Sort: sort, Pages: true,
							Limit: limit, After: end.Next, Fields: []string{"id"}}, selected(sent))
						require.NoError(t, err)
						got += page
					}
					if got != want || end.More {
						t.Errorf("pages of %d: %s, want %s; %+v", limit, got, want, end)
					}
				}
			})
		}
	}
}

func TestRowsOfWhichTheKeyIsNotUniqueEndWithoutACursor(t *testing.T) {
	again := [][]*string{sent[0], sent[0], sent[0]}
	got, end, err := newEnv(t).sorted(table, sources.RowsQuery{Sort: "weight", Pages: true, Limit: 2}, selected(again))
	if err != nil || got != "11" || !end.More || end.Next != "" {
		t.Errorf("%s, %+v, %v", got, end, err)
	}
}

func TestAnOrderThatNoReadHasIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		query sources.RowsQuery
		rows  int // of the organisation; 0 for enough
		err   *fault.Error
	}{
		"a field that is not mapped":     {sources.RowsQuery{Sort: "email"}, 0, source.ErrUnknownField},
		"documents":                      {sources.RowsQuery{Sort: "about"}, 0, source.ErrUnknownField},
		"raw texts":                      {sources.RowsQuery{Sort: "id", Raw: true}, 0, source.ErrUnknownField},
		"more rows than a read may have": {sources.RowsQuery{Sort: "-id", Limit: 1}, 4, sources.ErrRowLimit},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			if tt.rows > 0 {
				s.mostRows = tt.rows
			}
			got, _, err := s.sorted(sheetAt, tt.query, selected(sent))
			require.ErrorIs(t, err, tt.err)
			if got != "" {
				t.Errorf("rows %s", got)
			}
		})
	}
}

func TestRowsThatDoNotFitIntoMemoryAreNotSortedButTheFirstOfThemAre(t *testing.T) {
	long := strings.Repeat("x", column.MaxValue)
	var many [][]*string
	for i := range 600 {
		many = append(many, []*string{new(strconv.Itoa(i)), new("1"), &long, nil})
	}
	s := newEnv(t)
	s.mostRows = len(many)
	_, _, err := s.sorted(table, sources.RowsQuery{Sort: "-id"}, selected(many))
	require.ErrorIs(t, err, sources.ErrTooMuchToSort)
	s = newEnv(t)
	s.mostRows = len(many)
	got, end, err := s.sorted(table, sources.RowsQuery{Sort: "-id", Limit: 2}, selected(many))
	if err != nil || got != "599598" || !end.More {
		t.Errorf("%s, %+v, %v", got, end, err)
	}
}

func TestADatabaseSortsWhatItCanAndAPageBeginsAtBothPlaces(t *testing.T) {
	var request connection.RowsQuery
	sortedRows := func(rows ...[]*string) func(connection.RowsQuery) column.Batch {
		return func(q connection.RowsQuery) column.Batch {
			request = q
			return column.Batch{Sorted: true, Rows: column.RowsOf(rows)}
		}
	}
	row := func(id, place, sortPlace *string) []*string { return []*string{id, new("1"), place, sortPlace} }
	one, two := row(new("1"), new("a"), new("v1")), row(new("2"), new("b"), new("v1"))
	query := sources.RowsQuery{Sort: "-weight", Pages: true, Limit: 1, Fields: []string{"id"}}
	got, end, err := newEnv(t).sorted(table, query, sortedRows(one, two))
	require.NoError(t, err)
	if request.Sort == nil || request.Sort.Column != "Weight" || !request.Sort.Descending ||
		request.Sort.After != nil || request.Sort.Limit != 2 || request.Key != "Id" || request.Limit <= 2 {
		t.Errorf("asked for %+v, %+v", request, request.Sort)
	}
	if got != "1" || end.SortedBy != sources.SortedBySource || !end.More || end.Next == "" {
		t.Fatalf("%s, %+v", got, end)
	}
	query.After = end.Next
	got, _, err = newEnv(t).sorted(table, query, sortedRows(two))
	if err != nil || got != "2" || *request.After != "a" || *request.Sort.After != "v1" {
		t.Errorf("%s, asked for %+v, %+v, %v", got, request, request.Sort, err)
	}
	_, _, err = newEnv(t).sorted(table, query, selected(sent)) // the column has another type now
	require.ErrorIs(t, err, source.ErrSourceChanged)
	for name, tt := range map[string]struct {
		rows      [][]*string
		canFollow bool
	}{
		"rows at both places":         {[][]*string{one, one}, false},
		"equal keys at another place": {[][]*string{one, row(new("1"), new("a"), new("v0"))}, true},
		"a row without a key":         {[][]*string{row(nil, nil, new("v1")), row(nil, nil, new("v0"))}, true},
		"rows without a key":          {[][]*string{row(nil, nil, new("v1")), row(nil, nil, new("v1"))}, false},
		"a key that takes too much":   {[][]*string{row(new("1"), nil, new("v1")), two}, false},
		"a value that takes too much": {[][]*string{row(new("1"), new("a"), nil), two}, false},
	} {
		query.After = ""
		if _, end, err := newEnv(t).sorted(table, query, sortedRows(tt.rows...)); err != nil ||
			(end.Next != "") != tt.canFollow {
			t.Errorf("%s: %+v, %v", name, end, err)
		}
	}
	unsorted := func(q connection.RowsQuery) column.Batch {
		request = q
		return selected(sent)(q)
	}
	query.Sort = "name" // which is transformed
	if _, end, err := newEnv(t).sorted(table, query, unsorted); err != nil || end.SortedBy != sources.SortedByAtrium ||
		request.Sort != nil {
		t.Errorf("%+v, %v, asked for %+v", end, err, request.Sort)
	}
	query.Sort = "weight" // which the database cannot sort, and is not asked for again
	_, end, err = newEnv(t).sorted(table, query, unsorted)
	query.After = end.Next
	if require.NoError(t, err); request.Sort == nil {
		t.Error("the first page is not asked for in order")
	}
	if _, _, err = newEnv(t).sorted(table, query, unsorted); err != nil || request.Sort != nil {
		t.Errorf("%v, asked for %+v", err, request.Sort)
	}
}
