package postgres_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/services"
)

// pooler is a PgBouncer before the server, which asks for passwords by SCRAM. The pool of a database is in the mode of
// its name. No server is behind the database "dead", for whose users PgBouncer waits as long as impatience says.
const pooler = `
[databases]
transaction = host=127.0.0.1 port=%[1]d dbname=postgres pool_mode=transaction
session = host=127.0.0.1 port=%[1]d dbname=postgres pool_mode=session
statement = host=127.0.0.1 port=%[1]d dbname=postgres pool_mode=statement
missing = host=127.0.0.1 port=%[1]d dbname=nothing
dead = host=127.0.0.1 port=1
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = PORT
unix_socket_dir =
auth_type = scram-sha-256
auth_file = users
ignore_startup_parameters = extra_float_digits
client_login_timeout = %[2]d
server_login_retry = 0.05
client_tls_sslmode = allow
client_tls_cert_file = server.crt
client_tls_key_file = server.key
`

// startPooler starts a PgBouncer that waits for impatience seconds for a server.
func startPooler(impatience int) func() (*services.Server, error) {
	return sync.OnceValues(func() (*services.Server, error) {
		s, err := start()
		if err != nil {
			return nil, err
		}
		certificate, key := s.authority.Sign(fixture.Setup{}, time.Hour, "127.0.0.1")
		return services.StartPgBouncer(fmt.Sprintf(pooler, s.port, impatience), map[string]string{
			"server.crt": certificate, "server.key": key,
			"users": strconv.Quote("reader") + " " + strconv.Quote(warehouses.Canary) + "\n" +
				`"unknown" "p"` + "\n",
		})
	})
}

var (
	impatient = startPooler(1)
	patient   = startPooler(60)
)

// pooled returns the reader's target through a PgBouncer, with some fields changed.
func pooled(start func() (*services.Server, error), changes map[string]any) func(*testing.T) ports.Target {
	return func(t *testing.T) ports.Target {
		position, err := start()
		if err != nil {
			t.Fatalf("this test needs PgBouncer: %v", err)
		}
		all := map[string]any{"port": port(position.URL), "tls": "disable", "tls_ca": nil}
		for name, v := range changes {
			all[name] = v
		}
		return shared(t).target(t, all)
	}
}

func poolerFailures() []warehouses.Failure {
	targetAt := func(changes map[string]any) func(*testing.T) ports.Target {
		if changes["database"] == "dead" {
			return pooled(impatient, changes)
		}
		return pooled(patient, changes) // a busy machine may need a second to sign in
	}
	return []warehouses.Failure{
		{Name: "a wrong password at a pooler", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: targetAt(map[string]any{"database": "transaction", "password": "wrong"})},
		{Name: "a wrong password at a pooler without a server", Code: connection.AuthFailed,
			Step: connection.Authenticate, Target: targetAt(map[string]any{"database": "dead", "password": "wrong"})},
		{Name: "a user whom a pooler does not know", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: targetAt(map[string]any{"database": "transaction", "username": "nobody"})},
		{Name: "a user whom only the pooler knows", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: targetAt(map[string]any{"database": "session", "username": "unknown", "password": "p"})},
		{Name: "a database that a pooler does not know", Code: connection.DatabaseNotFound, Step: connection.Database,
			Target: targetAt(map[string]any{"database": "nothing"})},
		{Name: "a database that only the pooler knows", Code: connection.DatabaseDeniedOrMissing,
			Step: connection.Database, Target: targetAt(map[string]any{"database": "missing"})},
		{Name: "a pooler without a server", Code: connection.BackendUnreachable, Step: connection.Database,
			Target: targetAt(map[string]any{"database": "dead"})},
		{Name: "a pool in statement mode", Code: connection.PoolingUnsupported, Step: connection.Read,
			Target: targetAt(map[string]any{"database": "statement"})},
		{Name: "a table through a pool in statement mode", Code: connection.PoolingUnsupported,
			Target: targetAt(map[string]any{"database": "statement"}), Call: warehouses.Previewing(ref("kinds"))},
	}
}

func TestAPoolerThatKeepsUsWaitingHasNoServer(t *testing.T) {
	target := pooled(patient, map[string]any{"database": "dead"})(t)
	target.Limits.Connect = 4 * time.Second // for the sign-in
	report := direct(t).Probe(t.Context(), target)
	if report.Failure() != connection.BackendUnreachable {
		t.Errorf("%+v", report.Checks)
	}
}

func TestPoolersThatHaveTransactionsAreReadThrough(t *testing.T) {
	for _, mode := range []string{"transaction", "session"} {
		t.Run("in "+mode+" mode", func(t *testing.T) {
			w, target := direct(t), pooled(patient, map[string]any{"database": mode})(t)
			if report := w.Probe(t.Context(), target); report.Failure() != "" || report.Server.CanWrite {
				t.Errorf("%+v", report)
			}
			tables, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: connection.MaxTables})
			if err != nil || len(tables) != len(harness(direct).Tables) {
				t.Errorf("%d tables, %v", len(tables), err)
			}
			for ref, want := range harness(direct).Previews {
				got, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref, Rows: 3})
				want.RowEstimate, want.Total = -1, max(want.Total, len(want.Columns))
				if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
					t.Errorf("%s: %v (-want +got):\n%s", ref.Name, err, d)
				}
			}
			rows := 0
			err = w.Rows(t.Context(), target, connection.RowsQuery{Table: ref("kinds"), Columns: []string{"id"},
				Key:   "id",
				Limit: 10}, func(b column.Batch) error { rows += b.Rows.Len(); return nil })
			if err != nil || rows != 3 {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}
