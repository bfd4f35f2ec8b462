package clickhouse_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestAStreamOutlastsTheTimeLimitOfItsSignIn(t *testing.T) {
	s := shared(t)
	if _, err := s.ask(fmt.Sprintf(`CREATE TABLE shop.long_rows ENGINE = Log AS SELECT toUInt32(number + 1) AS n,
		arrayStringConcat(arrayMap(i -> 'x', range(%d))) AS note FROM system.numbers LIMIT %d`,
		warehouses.LongText, warehouses.LongRows)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.ask(`DROP TABLE shop.long_rows`); err != nil {
			t.Error(err)
		}
	})
	call := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return s.target(t, changes) }
	}
	warehouses.Outlast(t, direct(t), ref("long_rows"), map[string]func(*testing.T) ports.Target{
		"with TLS": call(nil), "without TLS": call(map[string]any{"port": s.plain, "tls": "disable", "tls_ca": nil}),
	})
}

// TestAResultThatTheServerCutsIsNotComplete is about a profile with result_overflow_mode = break, which ends a result
// as if it were complete (ClickHouse's documentation, "Restrictions on query complexity").
func TestAResultThatTheServerCutsIsNotComplete(t *testing.T) {
	s := shared(t)
	if _, err := s.ask(`CREATE TABLE shop.many_rows ENGINE = Log AS SELECT toUInt32(number) AS n
		FROM system.numbers LIMIT 300000`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.ask(`DROP TABLE shop.many_rows`); err != nil {
			t.Error(err)
		}
	})
	target, read := s.target(t, map[string]any{"username": "cutting"}), 0
	target.Limits.Bytes = 64 << 20
	err := direct(t).Rows(t.Context(), target, connection.RowsQuery{Table: ref("many_rows"), Columns: []string{"n"},
		Limit: 1_000_000}, func(b column.Batch) error {
		read += b.Rows.Len()
		return nil
	})
	if !errors.Is(err, connection.ResponseTooLarge) {
		t.Errorf("%d of 300,000 rows, %v", read, err)
	}
}
