package mysql_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

// failures stages all that MariaDB can fail with; as changes the reader's credential.
func failures(as func(map[string]any) func(*testing.T) ports.Target) []contract.WarehouseFailure {
	preview := func(name string) func(context.Context, ports.Warehouse, ports.Target) error {
		return func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			_, err := w.Preview(ctx, to, ref(name), 1)
			return err
		}
	}
	return []contract.WarehouseFailure{
		{Name: "a network that the org does not allow", Code: connection.NetworkNotAllowed, Step: connection.Policy, Target: func(t *testing.T) ports.Target {
			to := shared(t).target(t, nil)
			to.Egress = identity.Egress{}
			return to
		}},
		{Name: "a name that does not exist", Code: connection.DNSFailed, Step: connection.Resolve,
			Target: as(map[string]any{"host": "no-such-host.example.com"})},
		{Name: "a port where nobody listens", Code: connection.PortClosed, Step: connection.Connect, Target: func(t *testing.T) ports.Target {
			return shared(t).target(t, map[string]any{"port": closedPort(t)})
		}},
		{Name: "a port that closes without a word", Code: connection.PortClosed, Step: connection.TLS, Target: func(t *testing.T) ports.Target {
			return shared(t).target(t, map[string]any{"port": serve(t, func(c net.Conn) {})})
		}},
		{Name: "an address without a route", Code: connection.HostUnreachable, Step: connection.Connect,
			Target: as(map[string]any{"host": "255.255.255.255"})},
		{Name: "a server that says nothing", Code: connection.ConnectTimeout, Step: connection.TLS, Target: func(t *testing.T) ports.Target {
			to := shared(t).target(t, map[string]any{"port": serve(t, silent)})
			to.Limits.Connect = 200 * time.Millisecond
			return to
		}},
		{Name: "a web server", Code: connection.NotThisDatabase, Step: connection.TLS, Target: func(t *testing.T) ports.Target {
			return shared(t).target(t, map[string]any{"port": webServer(t)})
		}},
		{Name: "a web server, without TLS", Code: connection.NotThisDatabase, Step: connection.Authenticate, Target: func(t *testing.T) ports.Target {
			return shared(t).target(t, map[string]any{"port": webServer(t), "tls": "disable"})
		}},
		{Name: "a server without TLS", Code: connection.TLSUnsupported, Step: connection.TLS, Target: func(t *testing.T) ports.Target {
			return shared(t).target(t, map[string]any{"port": small(t).port})
		}},
		{Name: "a user who must use TLS, whom the server refuses like any other", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: as(map[string]any{"username": "only_tls", "tls": "disable"})},
		{Name: "an authority that is not trusted", Code: connection.TLSUntrusted, Step: connection.TLS, Target: as(map[string]any{"tls_ca": nil})},
		{Name: "another authority", Code: connection.TLSUntrusted, Step: connection.TLS, Target: func(t *testing.T) ports.Target {
			return shared(t).target(t, map[string]any{"tls_ca": fixture.NewAuthority(t).PEM, "tls": "verify_ca"})
		}},
		{Name: "a certificate for another name", Code: connection.TLSNameMismatch, Step: connection.TLS, Target: as(map[string]any{"host": "localhost"})},
		{Name: "a wrong password", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: as(map[string]any{"password": contract.WarehouseCanary + "-wrong"})},
		{Name: "no password", Code: connection.AuthFailed, Step: connection.Authenticate, Target: as(map[string]any{"password": nil})},
		{Name: "an unknown user", Code: connection.AuthFailed, Step: connection.Authenticate, Target: as(map[string]any{"username": "nobody"})},
		{Name: "a user who is locked out", Code: connection.AuthRejected, Step: connection.Authenticate, Target: as(map[string]any{"username": "locked"})},
		{Name: "a user who signs in by a socket alone", Code: connection.AuthRejected, Step: connection.Authenticate, Target: as(map[string]any{"username": "local"})},
		{Name: "an unknown database, for a user who may see all", Code: connection.DatabaseNotFound, Step: connection.Database,
			Target: as(map[string]any{"username": "auditor", "database": "nothing"})},
		{Name: "an unknown database", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database, Target: as(map[string]any{"database": "nothing"})},
		{Name: "a database that the user may not use", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database,
			Target: as(map[string]any{"database": "closed_to_all"})},
		{Name: "a user who may read no table", Code: connection.PermissionDenied, Step: connection.Read, Target: as(map[string]any{"username": "stranger"})},
		{Name: "a table that the user may fill and not read", Code: connection.PermissionDenied, Target: as(map[string]any{"username": "stranger"}), Call: preview("empty")},
		{Name: "a table that the user cannot see", Code: connection.TableNotFound, Target: as(nil), Call: preview("what_is_not_read")},
		{Name: "a table in other letters", Code: connection.TableNotFound, Target: as(nil), Call: preview("Kinds")},
		{Name: "a table of the system", Code: connection.TableNotFound, Target: as(nil), Call: func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			_, err := w.Preview(ctx, to, connection.TableRef{Schema: "information_schema", Name: "TABLES"}, 1)
			return err
		}},
		{Name: "a view that writes", Code: connection.PermissionDenied, Target: as(nil), Call: func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			_, err := w.Preview(ctx, to, ref("writing"), 1)
			var n int
			if s, failed := start(); failed != nil || s.admin.QueryRow(`SELECT count(*) FROM shop.written`).Scan(&n) != nil || n != 0 {
				return fmt.Errorf("%d rows were written, %v", n, err)
			}
			return err
		}},
		{Name: "a user without connections left", Code: connection.TooManyConnections, Step: connection.Authenticate, Target: crowdedUser},
		{Name: "a full server", Code: connection.TooManyConnections, Step: connection.Authenticate, Target: fullServer},
		{Name: "a view that takes too long", Code: connection.QueryTimeout, Target: func(t *testing.T) ports.Target {
			to := shared(t).target(t, nil)
			to.Limits.Statement = 50 * time.Millisecond
			return to
		}, Call: preview("slow")},
		{Name: "an answer that is larger than allowed", Code: connection.ResponseTooLarge, Target: func(t *testing.T) ports.Target {
			to := shared(t).target(t, nil)
			to.Limits.Bytes = 16 << 10
			return to
		}, Call: preview("wide")},
		{Name: "a user without queries left", Code: connection.QuotaExceeded, Step: connection.Read, Target: as(map[string]any{"username": "thrifty"})},
	}
}
