package sources_test

import (
	"context"
	"slices"
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

// readPage reads a page of two rows of a table whose unique field is id, when the warehouse sends cells for the
// query that it gets: the id and the place of each row.
func (s *env) readPage(next string, cells [][]*string) (request connection.RowsQuery, end sources.RowsEnd, err error) {
	s.types = []source.Type{{Key: "people", Fields: []column.Field{{Key: "id", Type: column.String, Unique: true}},
		Accepts: []source.Backend{source.WarehouseBackend}}}
	src := stored(s.t, table)
	src.Mapping = []source.Pair{{Field: "id", Column: "Id"}}
	s.expectGet(src)
	s.warehouse.EXPECT().Rows(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).MaxTimes(1).DoAndReturn(
		func(_ context.Context, _ ports.Target, q connection.RowsQuery, handle func(column.Batch) error) error {
			request = q
			if cells == nil {
				return connection.KeyUnsupported
			}
			return handle(column.Batch{Rows: column.RowsOf(cells)})
		})
	end, err = s.ReadRows(s.ctx, owner, "src", sources.RowsQuery{Pages: true, Limit: 2, After: next},
		func(context.Context, sources.RowsStart) error { return nil }, func(sources.Row) error { return nil })
	return request, end, err
}

func TestAPageOfATableBeginsAtThePlaceThatTheDatabaseGave(t *testing.T) {
	row := func(id, place *string) []*string { return []*string{id, place} }
	first := [][]*string{row(new("0x01"), new("01")), row(new("0x02"), new("02")), row(new("0x03"), new("03"))}
	askedQuery, end, err := newEnv(t).readPage("", first)
	require.NoError(t, err)
	if askedQuery.Key != "Id" || askedQuery.After != nil || !end.More || end.Next == "" {
		t.Fatalf("asked for %+v; %+v", askedQuery, end)
	}
	askedQuery, last, err := newEnv(t).readPage(end.Next, first[2:])
	require.NoError(t, err)
	if askedQuery.After == nil || *askedQuery.After != "02" || last.More || last.Next != "" {
		t.Errorf("asked for rows after %v; %+v", askedQuery.After, last)
	}
	for name, cells := range map[string][][]*string{
		"rows at the same place":    {first[0], first[1], first[1]},
		"rows without a place":      {first[0], row(nil, nil), row(nil, nil)},
		"a key that takes too much": {first[0], row(new("long"), nil), first[2]},
	} {
		if _, end, err := newEnv(t).readPage("", cells); err != nil || !end.More || end.Next != "" {
			t.Errorf("%s: %+v, %v", name, end, err)
		}
	}
	_, _, err = newEnv(t).readPage("", nil)
	require.ErrorIs(t, err, source.ErrKeyUnsupported)
	_, _, err = newEnv(t).readPage(strings.Replace(end.Next, "Place", "After", 1), first) // of a version before
	require.ErrorIs(t, err, source.ErrSourceChanged)
	_, _, err = newEnv(t).readPage(strings.Replace(end.Next, `"Id"`, `"Mail"`, 1), first) // when Mail was unique
	require.ErrorIs(t, err, source.ErrSourceChanged)
	_, _, err = newEnv(t).readPage(`{"Shape":"of another mapping","Place":"02"}`, first)
	require.ErrorIs(t, err, source.ErrSourceChanged)
}

func TestARowLimitOfTheOrganisationIsToldFromThatOfTheCaller(t *testing.T) {
	row := func(id string) []*string { return []*string{new(id)} }
	all := [][]*string{row("a"), row("b"), row("a"), row("b")}
	onlyB := []sources.RowFilter{{Field: "id", Operator: column.Equals, Texts: []string{"b"}}}
	for name, tt := range map[string]struct {
		limit   int
		filter  []sources.RowFilter
		orgRows int
		bytes   int // the organisation's
		more    bool
		cut     *fault.Error
	}{
		"all rows":                                  {orgRows: 4},
		"all rows, and the organisation's limit":    {orgRows: 3, more: true, cut: sources.ErrRowLimit},
		"the caller's limit":                        {limit: 2, orgRows: 3, more: true},
		"the caller's limit, that of both":          {limit: 3, orgRows: 3, more: true},
		"the organisation's limit before":           {limit: 4, orgRows: 3, more: true, cut: sources.ErrRowLimit},
		"the organisation's limit before, filtered": {limit: 2, filter: onlyB, orgRows: 3, more: true, cut: sources.ErrRowLimit},
		"as many as the caller's limit, filtered":   {limit: 2, filter: onlyB, orgRows: 4},
		"the organisation's limit of bytes":         {orgRows: 4, bytes: 2, more: true, cut: sources.ErrByteLimit},
		"as many bytes as the limit":                {orgRows: 4, bytes: 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.mostRows, s.mostBytes = tt.orgRows, tt.bytes
			s.types = []source.Type{{Key: "people", Fields: []column.Field{{Key: "id", Type: column.String}},
				Accepts: []source.Backend{source.WarehouseBackend}}}
			src := stored(s.t, table)
			src.Mapping = []source.Pair{{Field: "id", Column: "Id"}}
			s.expectGet(src)
			s.warehouse.EXPECT().Rows(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ ports.Target, _ connection.RowsQuery, handle func(column.Batch) error) error {
					return handle(column.Batch{Rows: column.RowsOf(all)})
				})
			end, err := s.ReadRows(s.ctx, owner, "src", sources.RowsQuery{Limit: tt.limit, Filters: tt.filter},
				func(context.Context, sources.RowsStart) error { return nil }, func(sources.Row) error { return nil })
			if err != nil || end.More != tt.more || end.Cut != tt.cut {
				t.Errorf("%+v, %v", end, err)
			}
		})
	}
}

func TestTheErrorOfAFormulaIsReportedInAFieldOfAnyType(t *testing.T) {
	fields := []column.Field{{Key: "id", Type: column.String}, {Key: "note", Type: column.Text},
		{Key: "amount", Type: column.Number}, {Key: "paid", Type: column.Boolean}, {Key: "due", Type: column.Date}}
	names := []string{"Id", "Note", "Amount", "Paid", "Due"}
	cells := [][]*string{{new("1"), new("n/a"), new("n/a"), new("-"), nil}, nil, {new("#REF!"), new("#NAME?"),
		new("#DIV/0!"), new("#VALUE!"), new("#N/A")}}
	cells[1] = []*string{new("2"), new("#hashtag!"), new("NaN"), new("maybe"), new("#NUM!")}
	s := newEnv(t)
	s.types = []source.Type{{Key: "people", Fields: fields, Accepts: []source.Backend{source.SheetBackend}}}
	src := stored(t, sheetAt)
	src.Mapping = nil
	for i, f := range fields {
		src.Mapping = append(src.Mapping, source.Pair{Field: f.Key, Column: names[i]})
	}
	s.expectGet(src)
	s.sheets.EXPECT().Rows(gomock.Any(), acme, gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ ports.SheetTarget, _ source.RowsQuery,
			handle func(column.Batch) error) error {
			return handle(column.Batch{Version: "1", Sample: cells, Numbers: []int{2, 3, 4},
				Rows: column.RowsOf(cells)})
		})
	got := s.readAll(sources.RowsQuery{OnInvalid: sources.ReportInvalid})
	want := []string{"[1 n/a <nil> <nil> <nil>] []",
		"[2 #hashtag! <nil> <nil> <nil>] [amount wrong_type paid wrong_type due wrong_type]",
		"[<nil> <nil> <nil> <nil> <nil>] [id wrong_type note wrong_type amount wrong_type paid wrong_type " +
			"due wrong_type]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
