package sources_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// orders are a table's fields: an amount, a name that a transformation trims, and a day that is a number in the table.
var orders = source.Type{Key: "people", Accepts: []source.Backend{source.WarehouseBackend},
	Fields: []column.Field{{Key: "amount", Type: column.Number}, {Key: "name", Type: column.String},
		{Key: "day", Type: column.Date}}}

// where returns a filter.
func where(field string, o column.Operator, texts ...string) sources.RowFilter {
	return sources.RowFilter{Field: field, Operator: o, Texts: texts}
}

// filtered reads orders with filters, from a warehouse that is given conditions and sends all its rows. It returns the
// conditions, the names of the rows, and how the read ended.
func (s *env) filtered(applied bool, q sources.RowsQuery) (
	conditions []connection.Condition, names []string, end sources.RowsEnd, err error,
) {
	s.types = []source.Type{orders}
	src := stored(s.t, table)
	src.Mapping = []source.Pair{{Field: "amount", Column: "Amount"},
		{Field: "name", Column: "Name", Transform: column.Transform{Trim: true}},
		{Field: "day", Column: "Day", Transform: column.Transform{Format: "YYYYMMDD"}}}
	s.expectGet(src)
	s.warehouse.EXPECT().Rows(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).MaxTimes(1).DoAndReturn(
		func(_ context.Context, target ports.Target, q connection.RowsQuery, handle func(column.Batch) error) error {
			conditions, s.limits = q.Where, target.Limits
			return handle(column.Batch{Applied: applied, Rows: column.RowsOf([][]*string{
				{new("7.50"), new(" Ada "), new("20240105")}, {new("8"), new("Bob"), nil},
				{nil, new("Eve"), new("20240106")}, {new("x"), new("Eva"), nil},
			})})
		})
	end, err = s.ReadRows(s.ctx, owner, "src", q, func(context.Context, sources.RowsStart) error { return nil },
		func(r sources.Row) error {
			names = append(names, r.Values[1].Text)
			return nil
		})
	return conditions, names, end, err
}

func TestAFilterIsGivenToTheDatabaseAndAppliedToWhatItSends(t *testing.T) {
	for name, tt := range map[string]struct {
		applied bool // what the database says
		filters []sources.RowFilter
		given   int // conditions
		names   []string
		by      sources.FilteredBy
	}{
		"of a column as it is": {true, []sources.RowFilter{where("amount", column.Equals, "7.5")}, 1,
			[]string{"Ada"}, sources.BySource},
		"that the database does not apply": {false, []sources.RowFilter{where("amount", column.AtLeast, "7.6")}, 1,
			[]string{"Bob"}, sources.ByAtrium},
		"of a column that is transformed": {true, []sources.RowFilter{where("name", column.Equals, "Ada")}, 0,
			[]string{"Ada"}, sources.ByAtrium},
		"of one of both": {true, []sources.RowFilter{where("name", column.StartsWith, "E"),
			where("amount", column.IsNull, "true")}, 1, []string{"Eve"}, sources.ByAtrium},
		"two of one field": {true, []sources.RowFilter{where("amount", column.Greater, "7"),
			where("amount", column.Less, "8")}, 2, []string{"Ada"}, sources.BySource},
		"of some values": {true, []sources.RowFilter{where("amount", column.In, "8.0", "")}, 1,
			[]string{"Bob", "Eve"}, sources.BySource},
		"of a format that can be inverted": {true, []sources.RowFilter{where("day", column.Greater, "2024-01-05")}, 1,
			[]string{"Eve"}, sources.BySource},
		"none": {true, nil, 0, []string{"Ada", "Bob", "Eve", "Eva"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			conditions, names, end, err := newEnv(t).filtered(tt.applied, sources.RowsQuery{Filters: tt.filters})
			if err != nil || len(conditions) != tt.given || !slices.Equal(names, tt.names) || end.FilteredBy != tt.by {
				t.Errorf("given %+v; rows %q; %+v, %v", conditions, names, end, err)
			}
		})
	}
}

func TestAStatementHasTheTimeLimitOfItsConnection(t *testing.T) {
	s := newEnv(t)
	var err error
	s.credential, err = connection.ParseCredential(connection.SQLServer,
		[]byte(`{"host": "h", "database": "d", "username": "u", "statement_seconds": 7}`))
	require.NoError(t, err)
	_, _, _, err = s.filtered(true, sources.RowsQuery{})
	require.NoError(t, err)
	if s.limits.Statement != 7*time.Second || s.limits.Total != time.Minute {
		t.Errorf("%+v", s.limits)
	}
}

func TestAFilterThatItsFieldCannotHaveIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		raw    bool
		filter sources.RowFilter
	}{
		"a text of a number":         {false, where("amount", column.Less, "much")},
		"a field that is not mapped": {false, where("email", column.Equals, "x")},
		"the beginning of a number":  {false, where("amount", column.StartsWith, "7")},
		"a range of raw texts":       {true, where("amount", column.Less, "7")},
	} {
		_, names, _, err := newEnv(t).filtered(true, sources.RowsQuery{Raw: tt.raw,
			Filters: []sources.RowFilter{tt.filter}})
		require.ErrorIs(t, err, source.ErrUnknownField)
		if len(names) > 0 {
			t.Errorf("%s: %q", name, names)
		}
	}
}

func TestRawTextsAreFilteredAsTheSourceHasThem(t *testing.T) {
	conditions, names, end, err := newEnv(t).filtered(true, sources.RowsQuery{Raw: true, Filters: []sources.RowFilter{
		where("name", column.Equals, " Ada "), where("amount", column.In, "7.50", "8")}})
	require.NoError(t, err)
	if len(conditions) != 0 || !slices.Equal(names, []string{" Ada "}) || end.FilteredBy != sources.ByAtrium {
		t.Errorf("given %+v; rows %q; %+v", conditions, names, end)
	}
}
