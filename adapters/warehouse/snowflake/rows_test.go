package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// people is a server with a table of five rows, of which a partition has two, and a view that does not end.
func people(t *testing.T) *fixture.Snowflake {
	t.Helper()
	s := newServer(t, hosted.Authority)
	s.Partition = 2
	columns := [][5]string{{"NO", "NUMBER", "YES", "38", "0"}, {"NAME", "TEXT", "YES"}}
	table := fixture.SnowflakeTable{Schema: "PUBLIC", Name: "PEOPLE", Type: "BASE TABLE", Columns: columns}
	for _, n := range []int{10, 9, 7, 8} {
		table.Values = append(table.Values, []*string{text(fmt.Sprint(n)), text(fmt.Sprintf("<é%d>", n))})
	}
	table.Values = append(table.Values, []*string{nil, nil})
	s.Databases["SHOP"] = append(s.Databases["SHOP"], table,
		fixture.SnowflakeTable{Schema: "PUBLIC", Name: "ENDLESS", Type: "VIEW", Columns: columns, Fails: "202"})
	return s
}

func TestRowsOfAllPartitionsAreRead(t *testing.T) {
	s := people(t)
	recipient := target(t, portOf(s.Server), nil)
	read := func(q connection.RowsQuery) (all []string, err error) {
		q.Table, q.Columns, q.Limit = ref("PEOPLE"), []string{"NAME", "NO"}, 100
		err = hosted.Direct(t).Rows(t.Context(), recipient, q, func(b column.Batch) error {
			for cells := range b.Rows.All() {
				row := ""
				for _, c := range cells {
					if row += "|"; c != nil {
						row += *c
					}
				}
				all = append(all, row)
			}
			return nil
		})
		return all, err
	}
	next := "8"
	for _, tt := range []struct {
		q    connection.RowsQuery
		want []string
	}{
		{connection.RowsQuery{}, []string{"|<é10>|10", "|<é9>|9", "|<é7>|7", "|<é8>|8", "||"}},
		{connection.RowsQuery{Key: "NO"}, []string{"|<é7>|7|7", "|<é8>|8|8", "|<é9>|9|9", "|<é10>|10|10", "|||"}},
		{connection.RowsQuery{Key: "NO", After: &next}, []string{"|<é9>|9|9", "|<é10>|10|10", "|||"}},
	} {
		if got, err := read(tt.q); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q, %v; want %q", got, err, tt.want)
		}
	}
	inner := s.Config.Handler
	for name, change := range map[string]struct {
		body string
		want connection.Code
	}{
		"that are missing":   {`{"data": []}`, connection.NotThisDatabase},
		"that are too wide":  {`{"data": [["a", "b", "c"]]}`, connection.NotThisDatabase},
		"that are cut short": {`{"data": [["a", "b"]`, connection.NotThisDatabase},
		"that are gone":      {"", connection.Internal},
	} {
		t.Run("not "+name, func(t *testing.T) {
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPost:
					inner.ServeHTTP(w, r)
				case change.body == "":
					w.WriteHeader(http.StatusNotFound)
					_, _ = w.Write([]byte(`{"code": "391902"}`))
				default:
					_, _ = w.Write([]byte(change.body))
				}
			})
			if _, err := read(connection.RowsQuery{}); !errors.Is(err, change.want) {
				t.Errorf("%v, want %s", err, change.want)
			}
		})
	}
	t.Run("not more bytes than allowed", func(t *testing.T) {
		s.Config.Handler = inner
		recipient.Limits.Bytes = 4 << 10
		for i := range s.Databases["SHOP"] {
			if table := &s.Databases["SHOP"][i]; table.Name == "PEOPLE" {
				for n := range 2000 { // compresses well
					table.Values = append(table.Values, []*string{text(fmt.Sprint(100 + n)), text("aaaaaaaaaaaaaaaa")})
				}
			}
		}
		s.Partition = 1000
		if _, err := read(connection.RowsQuery{}); !errors.Is(err, connection.ResponseTooLarge) {
			t.Error(err)
		}
	})
}

func TestTextsThatACollationTakesForEqualAreOnPagesOfTheirOwn(t *testing.T) {
	s := newServer(t, hosted.Authority)
	table := fixture.SnowflakeTable{Schema: "PUBLIC", Name: "FOLDED", Type: "BASE TABLE", Folds: true,
		Columns: [][5]string{{"n", "NUMBER", "YES", "38", "0"}, {"WORD", "TEXT", "YES"}}}
	for i, word := range []string{"a", "A", "b", "B", "ä"} {
		table.Values = append(table.Values, []*string{text(fmt.Sprint(i + 1)), text(word)})
	}
	s.Databases["SHOP"] = append(s.Databases["SHOP"], table)
	warehouses.Keys(t, hosted.Direct(t), target(t, portOf(s.Server), nil), ref("FOLDED"))
}

func TestAStatementThatRunsIsCancelledWithItsRead(t *testing.T) {
	s := people(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		if r.Method == http.MethodGet {
			cancel() // while the read waits to ask again
		}
	})
	start := time.Now()
	err := hosted.Direct(t).Rows(ctx, target(t, portOf(s.Server), nil),
		connection.RowsQuery{Table: ref("ENDLESS"), Columns: []string{"NO"}, Limit: 1},
		func(column.Batch) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	proof.Within(t, "a read that is cancelled", time.Since(start), 2*time.Second)
	proof.Eventually(t, "the statement is cancelled", func() bool { return s.Cancelled.Load() == 1 })
}
