package mysql_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestAStreamOutlastsTheTimeLimitOfItsSignIn(t *testing.T) {
	s := shared(t)
	for _, sql := range []string{
		fmt.Sprintf(`CREATE TABLE shop.long_rows AS SELECT seq AS n, repeat('x', %d) AS note FROM seq_1_to_%d`,
			warehouses.LongText, warehouses.LongRows),
		`GRANT SELECT ON shop.long_rows TO reader`,
	} {
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, sql := range []string{`REVOKE SELECT ON shop.long_rows FROM reader`, `DROP TABLE shop.long_rows`} {
			if _, err := s.admin.Exec(sql); err != nil {
				t.Error(err)
			}
		}
	})
	targetAs := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return s.target(t, changes) }
	}
	warehouses.Outlast(t, direct(t), ref("long_rows"), map[string]func(*testing.T) ports.Target{
		"with TLS": targetAs(nil), "without TLS": targetAs(map[string]any{"tls": "disable", "tls_ca": nil}),
	})
}
