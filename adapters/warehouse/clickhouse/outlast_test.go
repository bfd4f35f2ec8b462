package clickhouse_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract/warehouses"
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
	as := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return s.target(t, changes) }
	}
	warehouses.Outlast(t, direct(t), ref("long_rows"), map[string]func(*testing.T) ports.Target{
		"with TLS": as(nil), "without TLS": as(map[string]any{"port": s.plain, "tls": "disable", "tls_ca": nil}),
	})
}
