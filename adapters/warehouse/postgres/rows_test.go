package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestLongValuesOfRowsAreCutAndNamesOfColumnsDoNotMatter(t *testing.T) {
	s := shared(t)
	for _, sql := range []string{
		`CREATE SCHEMA cut`, `CREATE TABLE cut.texts (name text, size numeric)`,
		`INSERT INTO cut.texts VALUES (repeat('é', 70000), repeat('9', 70000)::numeric), ('a', NULL)`,
		`CREATE TABLE cut.names (c1 integer, c0 text)`, `INSERT INTO cut.names VALUES (10, 'a'), (2, 'b')`,
		`GRANT USAGE ON SCHEMA cut TO reader`, `GRANT SELECT ON ALL TABLES IN SCHEMA cut TO reader`,
	} {
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := s.admin.Exec(`DROP SCHEMA cut CASCADE`); err != nil {
			t.Error(err)
		}
	})
	target := s.target(t, nil)
	target.Limits.Bytes = 1 << 20
	read := func(q connection.RowsQuery) (got []string) {
		q.Table.Schema, q.Limit = "cut", 10
		require.NoError(t, direct(t).Rows(t.Context(), target, q, func(b column.Batch) error {
			for cells := range b.Rows.All() {
				for _, c := range cells {
					if c == nil {
						c = new("NULL")
					}
					got = append(got, *c)
				}
			}
			return nil
		}))
		return got
	}
	got := read(connection.RowsQuery{Table: connection.TableRef{Name: "texts"}, Columns: []string{"name", "size"}})
	if len(got) != 4 || got[0] != strings.Repeat("é", column.MaxValue) || len(got[1]) != column.MaxValue ||
		got[2] != "a" || got[3] != "NULL" {
		t.Errorf("%d values", len(got))
	}
	got = read(connection.RowsQuery{Table: connection.TableRef{Name: "names"}, Columns: []string{"c0", "c1"},
		Key: "c1"})
	if !slices.Equal(got, []string{"b", "2", "2", "a", "10", "10"}) {
		t.Errorf("%q", got)
	}
}
