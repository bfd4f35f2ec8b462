package sheets

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// sheetRows checks Rows on a sheet with these people below a title.
func sheetRows(t *testing.T, harness Harness, put func(t *testing.T, rows ...[]string) ports.SheetTarget) {
	rows := append([][]string{{"All our people"}}, people...)
	rows = append(rows, []string{}, []string{"Dan", "dan@example.com", "", ""})
	target := put(t, rows...)
	target.Location.HeaderRow, target.Within = 2, time.Minute
	read := func(q source.RowsQuery) (first column.Batch, numbers []int, views []string, err error) {
		q.Exact = make([]bool, len(q.Columns))
		batches := 0
		err = harness.Sheets.Rows(t.Context(), sheetsWorkspace, target, q, func(b column.Batch) error {
			if batches++; batches == 1 {
				first = b
			}
			numbers = append(numbers, b.Numbers...)
			for row := range b.Rows.All() {
				text := ""
				for _, c := range row {
					if c == nil {
						c = new("-")
					}
					text += *c + "|"
				}
				views = append(views, text)
			}
			return nil
		})
		return first, numbers, views, err
	}
	q := source.RowsQuery{Columns: []string{"E-mail", "Name (2)"}, Limit: 1000}
	first, numbers, visibleTexts, err := read(q)
	require.NoError(t, err)
	want := []string{"ann@example.com|Lee|", "bob@example.com|-|", "cid@example.com|Ray|", "dan@example.com|-|"}
	assert.NoDiff(t, "rows", cmp.Diff(want, visibleTexts))
	if !slices.Equal(numbers[:3], []int{3, 4, 5}) || len(first.Sample) != 4 || first.Version == "" {
		t.Errorf("rows %v, %d in the sample, version %q", numbers, len(first.Sample), first.Version)
	}
	q.After, q.Limit, q.Version = 3, 2, first.Version
	if _, numbers, _, err := read(q); err != nil || !slices.Equal(numbers, []int{4, 5}) {
		t.Errorf("after row 3: rows %v, %v", numbers, err)
	}
	q.Version = "another"
	if _, _, _, err := read(q); !errors.Is(err, source.ErrSourceChanged) {
		t.Errorf("another version: %v", err)
	}
	q.Version, q.Columns = "", []string{"E-mail", "Age"}
	first, numbers, _, err = read(q)
	if err != nil || len(numbers) != 0 || !slices.Equal(first.Missing, []string{"Age"}) {
		t.Errorf("a column that is not there: missing %q, rows %v, %v", first.Missing, numbers, err)
	}
	failure := errors.New("enough")
	q.Columns, q.Exact = []string{"E-mail"}, []bool{false}
	err = harness.Sheets.Rows(t.Context(), sheetsWorkspace, target, q, func(column.Batch) error { return failure })
	assert.ErrorIs(t, err, failure)
	t.Run("also of a sheet without a header, whose columns are letters", func(t *testing.T) {
		recipient := put(t, people[1:]...)
		recipient.Location.HeaderRow, recipient.Within = column.NoHeader, time.Minute
		var all column.Batch
		var rows [][]*string
		err := harness.Sheets.Rows(t.Context(), sheetsWorkspace, recipient,
			source.RowsQuery{Columns: []string{"B"}, Exact: []bool{false}, Limit: 1000}, func(b column.Batch) error {
				all.Missing, all.Numbers = append(all.Missing, b.Missing...), append(all.Numbers, b.Numbers...)
				rows = append(rows, fixture.RowsOf(b)...)
				return nil
			})
		if err != nil || len(all.Missing) > 0 || len(rows) < 3 || !slices.Equal(all.Numbers[:3], []int{1, 2, 3}) ||
			*rows[0][0] != people[1][1] {
			t.Errorf("%+v, %v", all, err)
		}
	})
	for n := range 3000 {
		rows = append(rows, []string{"x", fmt.Sprint(n, "@example.com")})
	}
	t.Run("also of a long sheet", func(t *testing.T) {
		target = put(t, rows...)
		target.Location.HeaderRow, target.Within = 2, time.Minute
		q = source.RowsQuery{Columns: []string{"E-mail"}, Limit: 10_000, After: 100}
		_, numbers, visibleTexts, err = read(q)
		require.NoError(t, err)
		last := len(visibleTexts) - 1
		if len(visibleTexts) < 2900 || visibleTexts[last] != "2999@example.com|" || !slices.IsSorted(numbers) {
			t.Errorf("%d rows", len(visibleTexts))
		}
	})
}
