package postgres_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestAStreamOutlastsTheTimeLimitOfItsSignIn(t *testing.T) {
	s := shared(t)
	long := longRows(t, s)
	targetAs := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return s.target(t, changes) }
	}
	warehouses.Outlast(t, direct(t), long, map[string]func(*testing.T) ports.Target{
		"with TLS":              targetAs(nil),
		"without TLS":           targetAs(map[string]any{"tls": "disable", "tls_ca": nil}),
		"by a pooler":           pooled(patient, map[string]any{"database": "transaction"}),
		"by a pooler, with TLS": pooled(patient, map[string]any{"database": "session", "tls": "require"}),
	})
}

func TestAStreamOfRedshiftOutlastsTheTimeLimitOfItsSignIn(t *testing.T) {
	s := sharedRedshift(t)
	warehouses.Outlast(t, directRedshift(t), longRows(t, s), map[string]func(*testing.T) ports.Target{
		"with TLS": func(t *testing.T) ports.Target { return redshiftTarget(t, s, connection.Redshift, nil) },
	})
}

// longRows makes the table of warehouses.Outlast.
func longRows(t *testing.T, s *server) connection.TableRef {
	t.Helper()
	for _, sql := range []string{
		`CREATE SCHEMA long`,
		fmt.Sprintf(`CREATE TABLE long.rows AS SELECT n, repeat('x', %d) AS note FROM generate_series(1, %d) AS n`,
			warehouses.LongText, warehouses.LongRows),
		`GRANT USAGE ON SCHEMA long TO reader`, `GRANT SELECT ON long.rows TO reader`,
	} {
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := s.admin.Exec(`DROP SCHEMA long CASCADE`); err != nil {
			t.Error(err)
		}
	})
	return connection.TableRef{Schema: "long", Name: "rows"}
}
