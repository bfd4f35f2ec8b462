package warehouses

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// collect reads all batches of a query.
func collect(
	t *testing.T, w ports.Warehouse, target ports.Target, q connection.RowsQuery,
) (missing []string, rows [][]*string) {
	t.Helper()
	batches := 0
	must(t, w.Rows(t.Context(), target, q, func(b column.Batch) error {
		batches++
		missing, rows = append(missing, b.Missing...), append(rows, fixture.RowsOf(b)...)
		return nil
	}))
	if batches == 0 {
		t.Error("there is no batch")
	}
	return missing, rows
}

func warehouseRows(t *testing.T, w ports.Warehouse, harness Harness) {
	target := harness.Reader(t)
	const all = 10_000
	for ref, want := range harness.Previews {
		names := make([]string, len(want.Columns))
		for i, c := range want.Columns {
			names[i] = c.Name
		}
		err := w.Rows(t.Context(), target, connection.RowsQuery{Table: ref, Columns: names, Limit: 1},
			func(column.Batch) error { return nil })
		if errors.Is(err, connection.RowsUnsupported) {
			return // this kind cannot yet
		}
		if len(want.Columns) == 0 {
			continue
		}
		t.Run("of "+ref.Name, func(t *testing.T) {
			quiet(t, harness)
			missing, rows := collect(t, w, target, connection.RowsQuery{Table: ref, Columns: names, Limit: all})
			if len(missing) > 0 || len(rows) < len(want.Rows) {
				t.Fatalf("%d rows, missing %q", len(rows), missing)
			}
			total := int64(len(rows))
			must(t, w.Rows(t.Context(), target, connection.RowsQuery{Table: ref, Columns: names[:1], Limit: all,
				Count: true}, func(b column.Batch) error {
				if total -= int64(b.Rows.Len()); b.Total != nil {
					total -= *b.Total
				}
				return nil
			}))
			assert.Equal(t, "rows that are not counted", total, int64(0))
			if len(rows) > 3 { // a preview shows any three
				return
			}
			for i, row := range rows {
				for j, v := range row {
					if v != nil {
						row[j] = connection.Cell(*v)
					}
					view := want.Rows[i][j]
					if (v == nil && view != nil && column.Cell(*view) != nil) || (v != nil && view == nil) {
						t.Errorf("row %d, %s: %v, and a preview shows %v", i, names[j], v, view)
					}
				}
			}
		})
		t.Run("of "+ref.Name+", by a key, from each row on", func(t *testing.T) {
			for _, c := range want.Columns[:min(len(want.Columns), 3)] {
				q := connection.RowsQuery{Table: ref, Columns: []string{c.Name}, Key: c.Name, Limit: all}
				if !slices.Contains([]connection.Type{connection.Integer, connection.Text, connection.Date}, c.Type) {
					continue
				}
				_, rows := collect(t, w, target, q)
				for i, row := range rows[:min(len(rows), 5)] {
					if row[0] == nil || strings.ContainsRune(*row[0], '\uFFFD') ||
						(i+1 < len(rows) && rows[i+1][0] != nil && *rows[i+1][0] == *row[0]) {
						break
					}
					q.After = row[1]
					_, rest := collect(t, w, target, q)
					if d := cmp.Diff(texts(rows[i+1:]), texts(rest)); d != "" {
						t.Errorf("after row %d of %s (-want +got):\n%s", i, c.Name, d)
					}
				}
			}
		})
	}
	ref := connection.TableRef{}
	for r, p := range harness.Previews {
		if len(p.Rows) > 1 {
			ref = r
		}
	}
	name := harness.Previews[ref].Columns[0].Name
	t.Run("not of a column that is not there", func(t *testing.T) {
		q := connection.RowsQuery{Table: ref, Columns: []string{"no such", name}, Limit: all}
		missing, rows := collect(t, w, target, q)
		if !slices.Equal(missing, []string{"no such"}) || len(rows) != 0 {
			t.Errorf("missing %q, %d rows", missing, len(rows))
		}
	})
	t.Run("as many as are wanted", func(t *testing.T) {
		_, rows := collect(t, w, target, connection.RowsQuery{Table: ref, Columns: []string{name}, Limit: 1})
		assert.Equal(t, "rows", len(rows), 1)
	})
	t.Run("until the reader has enough", func(t *testing.T) {
		quiet(t, harness)
		failure := errors.New("enough")
		if err := w.Rows(t.Context(), target, connection.RowsQuery{Table: ref, Columns: []string{name}, Limit: all},
			func(column.Batch) error { return failure }); !errors.Is(err, failure) {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("not of a table that is not there", func(t *testing.T) {
		absent := connection.TableRef{Schema: ref.Schema, Name: "no such"}
		err := w.Rows(t.Context(), target, connection.RowsQuery{Table: absent, Columns: []string{name}, Limit: all},
			func(column.Batch) error { return nil })
		assert.ErrorIs(t, err, connection.TableNotFound)
	})
}

func texts(rows [][]*string) (out []string) {
	for _, row := range rows {
		if row[0] == nil {
			out = append(out, "NULL")
			continue
		}
		out = append(out, "="+*row[0])
	}
	return out
}
