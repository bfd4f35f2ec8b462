package sources_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// counting returns a query that counts rows.
func counting(limit int, count sources.Count, filters ...sources.RowFilter) sources.RowsQuery {
	return sources.RowsQuery{Limit: limit, Count: count, Filters: filters}
}

func TestRowsOfAllPagesAreCounted(t *testing.T) {
	five, four, twelve := int64(5), int64(4), int64(12)
	page := []sources.RowFilter{where("amount", column.AtLeast, "0")}
	for name, tt := range map[string]struct {
		query  sources.RowsQuery
		limit  int   // rows that the org allows
		counts bool  // whether the database can
		reads  int   // of the table
		asked  bool  // the last one asks only for the number
		want   int64 // 0 for unknown
	}{
		"not if no one asks":                           {sources.RowsQuery{Limit: 2}, 100, true, 1, false, 0},
		"as the database estimated":                    {counting(2, "estimate"), 100, true, 1, false, twelve},
		"without an estimate of what a filter selects": {counting(2, "estimate", page...), 100, true, 1, false, 0},
		"without another read if the page has all":     {counting(9, "exact"), 100, true, 1, false, five},
		"by the database":                              {counting(2, "exact"), 100, true, 2, true, twelve},
		"by reading what it sends instead":             {counting(2, "exact"), 100, false, 2, true, five},
		"by reading what a filter selects":             {counting(2, "exact", page...), 100, true, 2, false, four},
		"not beyond the org's limit":                   {counting(2, "exact", page...), 3, true, 2, false, 0},
		"without rows that are skipped": {sources.RowsQuery{Limit: 2, Count: "exact",
			OnInvalid: sources.SkipInvalid}, 100, true, 2, false, four},
		"all, in an order that Atrium has": {sources.RowsQuery{Limit: 9, Count: "exact",
			Sort: "name"}, 100, false, 2, true, five},
	} {
		t.Run(name, func(t *testing.T) {
			s, reads, asked := newEnv(t), 0, false
			s.types, s.mostRows = []source.Type{orders}, tt.limit
			src := stored(t, table)
			src.RowEstimate = twelve
			src.Mapping = []source.Pair{{Field: "amount", Column: "Amount"},
				{Field: "name", Column: "Name", Transform: column.Transform{Trim: true}}}
			s.expectGet(src)
			s.warehouse.EXPECT().Rows(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
				func(_ context.Context, _ ports.Target, q connection.RowsQuery, handle func(column.Batch) error) error {
					if reads, asked = reads+1, q.Count; asked && tt.counts {
						return handle(column.Batch{Total: &twelve})
					}
					var rows [][]*string
					for _, amount := range []string{"1", "2", "x", "4", "5"} {
						cells := map[string]*string{"Amount": &amount, "Name": new(" Ada ")}
						var row []*string
						for _, c := range q.Columns {
							row = append(row, cells[c])
						}
						rows = append(rows, row)
					}
					return handle(column.Batch{Rows: column.RowsOf(rows)})
				})
			end, err := s.ReadRows(s.ctx, owner, "src", tt.query,
				func(context.Context, sources.RowsStart) error { return nil }, func(sources.Row) error { return nil })
			require.NoError(t, err)
			assert.Equal(t, "reads", reads, tt.reads)
			assert.Equal(t, "asked", asked, tt.asked)
			got := int64(0)
			if end.Count != nil {
				got = *end.Count
			}
			assert.Equal(t, "count", got, tt.want)
		})
	}
}
