package warehouse_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// session is a Session with one table, people. It has 77 rows, or fails to say so.
type session struct {
	warehouse.Session
	failure error
}

func (s *session) Preview(connection.PreviewQuery) (connection.Preview, error) {
	return connection.Preview{Columns: []connection.Column{{Name: "Mail"}}}, nil
}

func (s *session) Tables(q connection.TableQuery) ([]connection.Table, error) {
	people := connection.TableRef{Schema: "public", Name: "people"}
	if q.After.Compare(people) >= 0 {
		return nil, nil
	}
	return []connection.Table{{TableRef: connection.TableRef{Schema: "public", Name: "peopl2"}},
		{TableRef: people, RowEstimate: 77}}, s.failure
}

func (s *session) Close() {}

func TestASearchReadsAllPagesUntilItHasEnough(t *testing.T) {
	var all []connection.Table
	for i := range 3 * connection.MaxTables {
		all = append(all, connection.Table{TableRef: connection.TableRef{Name: fmt.Sprintf("Table_%04d", i)}})
	}
	for match, tt := range map[string]struct{ limit, want, calls int }{
		"":           {10, 10, 1},
		"tABLE":      {10, 10, 1},
		"_1499":      {10, 1, 4}, // the last page is full
		"99":         {10, 10, 2},
		"nothing":    {10, 0, 4},
		"table_00":   {1000, 100, 4},
		"table_0001": {1, 1, 1},
	} {
		calls := 0
		got, err := warehouse.Matching(connection.TableQuery{Limit: tt.limit, Match: match},
			func(q connection.TableQuery) ([]connection.Table, error) {
				calls++
				from := 0
				for from < len(all) && q.After != (connection.TableRef{}) && all[from].TableRef.Compare(q.After) <= 0 {
					from++
				}
				return all[from:min(from+q.Limit, len(all))], nil
			})
		if err != nil || len(got) != tt.want || calls != tt.calls {
			t.Errorf("%q: %d tables after %d calls, %v", match, len(got), calls, err)
		}
	}
}

func TestAPreviewWithARowEstimateOpensOneSession(t *testing.T) {
	for name, tt := range map[string]struct {
		table   string
		failure error
		ask     bool
		want    int64
	}{
		"the estimate of the table":         {"people", nil, true, 77},
		"no estimate if no one asks":        {"people", nil, false, -1},
		"no estimate of a table not listed": {"person", nil, true, -1},
		"no estimate if the list fails":     {"people", connection.PermissionDenied, true, -1},
	} {
		t.Run(name, func(t *testing.T) {
			count := 0
			guard := func(ports.Target, time.Time) warehouse.Network { return nil }
			w := warehouse.NewSessions(guard, func(context.Context, warehouse.Network, ports.Target,
				*warehouse.Trace) (*session, error) {
				count++
				return &session{failure: tt.failure}, nil
			})
			target := ports.Target{Limits: ports.DefaultLimits()}
			q := connection.PreviewQuery{Table: connection.TableRef{Schema: "public", Name: tt.table}, Rows: 1,
				Estimate: tt.ask}
			got, err := w.Preview(t.Context(), target, q)
			if err != nil || count != 1 || got.RowEstimate != tt.want || len(got.Columns) != 1 {
				t.Errorf("%+v, %v after %d sessions", got, err, count)
			}
		})
	}
}
