package clickhouse_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

// failures stages all that ClickHouse can fail with; as changes the reader's credential.
func failures(as func(map[string]any) func(*testing.T) ports.Target) []contract.WarehouseFailure {
	preview := func(name string) func(context.Context, ports.Warehouse, ports.Target) error {
		return func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			_, err := w.Preview(ctx, to, ref(name), 1)
			return err
		}
	}
	at := func(port func(*testing.T) uint16, changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			all := map[string]any{"port": port(t)}
			for name, v := range changes {
				all[name] = v
			}
			return shared(t).target(t, all)
		}
	}
	plain := func(t *testing.T) uint16 { return shared(t).plain }
	closes := func(t *testing.T) uint16 { return serve(t, func(net.Conn) {}) }
	disabled := map[string]any{"tls": "disable"}
	limited := func(change func(*ports.Limits)) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			to := shared(t).target(t, nil)
			change(&to.Limits)
			return to
		}
	}
	quickly := func(to func(*testing.T) ports.Target) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			changed := to(t)
			changed.Limits.Connect = 200 * time.Millisecond
			return changed
		}
	}
	silence := func(t *testing.T) uint16 { return serve(t, silent) }
	return []contract.WarehouseFailure{
		{Name: "a network that the org does not allow", Code: connection.NetworkNotAllowed, Step: connection.Policy, Target: func(t *testing.T) ports.Target {
			to := shared(t).target(t, nil)
			to.Egress = identity.Egress{}
			return to
		}},
		{Name: "a name that does not exist", Code: connection.DNSFailed, Step: connection.Resolve,
			Target: as(map[string]any{"host": "no-such-host.example.com"})},
		{Name: "a port where nobody listens", Code: connection.PortClosed, Step: connection.Connect,
			Target: at(func(t *testing.T) uint16 { return closedPort(t) }, nil)},
		{Name: "a port that closes without a word", Code: connection.PortClosed, Step: connection.Authenticate, Target: at(closes, disabled)},
		{Name: "an address without a route", Code: connection.HostUnreachable, Step: connection.Connect,
			Target: as(map[string]any{"host": "255.255.255.255"})},
		{Name: "a server that says nothing", Code: connection.ConnectTimeout, Step: connection.Authenticate, Target: quickly(at(silence, disabled))},
		{Name: "a server that says nothing to TLS", Code: connection.ConnectTimeout, Step: connection.TLS, Target: quickly(at(silence, nil))},
		{Name: "a web server", Code: connection.NotThisDatabase, Step: connection.Authenticate, Target: at(webServer, disabled)},
		{Name: "a server without TLS", Code: connection.TLSUnsupported, Step: connection.TLS, Target: at(plain, nil)},
		{Name: "a server that closes when TLS begins", Code: connection.TLSUnsupported, Step: connection.TLS, Target: at(closes, nil)},
		{Name: "a server that wants TLS", Code: connection.TLSRequired, Step: connection.Authenticate, Target: as(disabled)},
		{Name: "an authority that is not trusted", Code: connection.TLSUntrusted, Step: connection.TLS, Target: as(map[string]any{"tls_ca": nil})},
		{Name: "another authority", Code: connection.TLSUntrusted, Step: connection.TLS, Target: func(t *testing.T) ports.Target {
			return shared(t).target(t, map[string]any{"tls_ca": fixture.NewAuthority(t).PEM, "tls": "verify_ca"})
		}},
		{Name: "a certificate for another name", Code: connection.TLSNameMismatch, Step: connection.TLS, Target: as(map[string]any{"host": "localhost"})},
		{Name: "a wrong password", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: as(map[string]any{"password": contract.WarehouseCanary + "-wrong"})},
		{Name: "a wrong password, without TLS", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: at(plain, map[string]any{"password": contract.WarehouseCanary + "-wrong", "tls": "disable"})},
		{Name: "no password", Code: connection.AuthFailed, Step: connection.Authenticate, Target: as(map[string]any{"password": nil})},
		{Name: "an unknown user", Code: connection.AuthFailed, Step: connection.Authenticate, Target: as(map[string]any{"username": "nobody"})},
		{Name: "a user who may not come from here", Code: connection.AuthRejected, Step: connection.Authenticate, Target: as(map[string]any{"username": "far"})},
		{Name: "an unknown database, for a user who may see all", Code: connection.DatabaseNotFound, Step: connection.Database,
			Target: as(map[string]any{"username": "auditor", "database": "nothing"})},
		{Name: "an unknown database", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database, Target: as(map[string]any{"database": "nothing"})},
		{Name: "a database that the user may not use", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database,
			Target: as(map[string]any{"database": "closed_to_all"})},
		{Name: "a view of what the user may not read", Code: connection.PermissionDenied, Target: as(nil), Call: preview("beyond")},
		{Name: "a table of another database", Code: connection.TableNotFound, Target: as(nil), Call: preview("what_is_not_read")},
		{Name: "a table in other letters", Code: connection.TableNotFound, Target: as(nil), Call: preview("Kinds")},
		{Name: "a table that cannot be read", Code: connection.TableNotFound, Target: as(nil), Call: preview("members")},
		{Name: "what holds the rows of a materialized view", Code: connection.TableNotFound, Target: as(nil), Call: preview(".inner.kept")},
		{Name: "a table of the system", Code: connection.TableNotFound, Target: as(nil), Call: func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			_, err := w.Preview(ctx, to, connection.TableRef{Schema: "system", Name: "tables"}, 1)
			return err
		}},
		{Name: "a user with as many statements as allowed", Code: connection.TooManyConnections, Step: connection.Authenticate, Target: crowdedUser},
		{Name: "a full server", Code: connection.TooManyConnections, Step: connection.Authenticate, Target: fullServer},
		{Name: "a view that takes too long", Code: connection.QueryTimeout, Target: limited(func(l *ports.Limits) { l.Statement = time.Second }), Call: preview("slow")},
		{Name: "an answer that is larger than the wire's limit", Code: connection.ResponseTooLarge, Target: limited(func(l *ports.Limits) { l.Bytes = 24 << 10 }), Call: preview("wide")},
		{Name: "a user without queries left", Code: connection.QuotaExceeded, Target: as(map[string]any{"username": "thrifty"}), Call: preview("kinds")},
	}
}
