package clickhouse_test

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// failures stages all that ClickHouse can fail with; as changes the reader's credential.
func failures(targetAs func(map[string]any) func(*testing.T) ports.Target) []warehouses.Failure {
	call := func(port func(*testing.T) uint16, changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			all := map[string]any{"port": port(t)}
			for name, v := range changes {
				all[name] = v
			}
			return shared(t).target(t, all)
		}
	}
	plain := func(t *testing.T) uint16 { return shared(t).plain }
	closes := func(t *testing.T) uint16 { return fixture.Listener(t, func(net.Conn) {}) }
	disabledValues := map[string]any{"tls": "disable"}
	limit := func(change func(*ports.Limits)) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			target := shared(t).target(t, nil)
			change(&target.Limits)
			return target
		}
	}
	quickly := func(targetOf func(*testing.T) ports.Target) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			changedTarget := targetOf(t)
			changedTarget.Limits.Connect = warehouses.SilentFor
			return changedTarget
		}
	}
	silence := func(t *testing.T) uint16 { return fixture.Listener(t, fixture.Silence) }
	return slices.Concat(warehouses.HostFailures(targetAs), []warehouses.Failure{
		{Name: "a port that closes without a word", Code: connection.PortClosed, Step: connection.Authenticate,
			Target: call(closes, disabledValues)},
		{Name: "a server that says nothing", Code: connection.ConnectTimeout, Step: connection.Authenticate,
			Target: quickly(call(silence, disabledValues))},
		{Name: "a server that says nothing to TLS", Code: connection.ConnectTimeout, Step: connection.TLS,
			Target: quickly(call(silence, nil))},
		{Name: "a web server", Code: connection.NotThisDatabase, Step: connection.Authenticate,
			Target: call(fixture.WebServer, disabledValues)},
		{Name: "a server without TLS", Code: connection.TLSUnsupported, Step: connection.TLS, Target: call(plain, nil)},
		{Name: "a server that closes when TLS begins", Code: connection.TLSUnsupported, Step: connection.TLS,
			Target: call(closes, nil)},
		{Name: "a server that wants TLS", Code: connection.TLSRequired, Step: connection.Authenticate,
			Target: targetAs(disabledValues)},
		{Name: "a wrong password, without TLS", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: call(plain, map[string]any{"password": warehouses.Canary + "-wrong", "tls": "disable"})},
		{Name: "a user who may not come from here", Code: connection.AuthRejected, Step: connection.Authenticate,
			Target: targetAs(map[string]any{"username": "far"})},
		{Name: "an unknown database, for a user who may see all", Code: connection.DatabaseNotFound,
			Step:   connection.Database,
			Target: targetAs(map[string]any{"username": "auditor", "database": "nothing"})},
		{Name: "an unknown database", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database,
			Target: targetAs(map[string]any{"database": "nothing"})},
		{Name: "a view of what the user may not read", Code: connection.PermissionDenied, Target: targetAs(nil),
			Call: warehouses.Previewing(ref("beyond"))},
		{Name: "a view that casts a text to a number", Code: connection.TableUnreadable, Target: targetAs(nil),
			Call: warehouses.Previewing(ref("bad_cast"))},
		{Name: "a table of another database", Code: connection.TableNotFound, Target: targetAs(nil),
			Call: warehouses.Previewing(ref("what_is_not_read"))},
		{Name: "a table in other letters", Code: connection.TableNotFound, Target: targetAs(nil),
			Call: warehouses.Previewing(ref("Kinds"))},
		{Name: "a table that cannot be read", Code: connection.TableNotFound, Target: targetAs(nil),
			Call: warehouses.Previewing(ref("members"))},
		{Name: "what holds the rows of a materialized view", Code: connection.TableNotFound, Target: targetAs(nil),
			Call: warehouses.Previewing(ref(".inner.kept"))},
		{Name: "a table of the system", Code: connection.TableNotFound, Target: targetAs(nil),
			Call: warehouses.Previewing(connection.TableRef{Schema: "system", Name: "tables"})},
		{Name: "a user with as many statements as allowed", Code: connection.TooManyConnections,
			Step: connection.Authenticate, Target: crowdedUser},
		{Name: "a full server", Code: connection.TooManyConnections, Step: connection.Authenticate, Target: fullServer},
		{Name: "a view that takes too long", Code: connection.QueryTimeout,
			Target: limit(func(l *ports.Limits) { l.Statement = time.Second }),
			Call:   warehouses.Previewing(ref("slow"))},
		{Name: "an answer that is larger than the wire's limit", Code: connection.ResponseTooLarge,
			Target: limit(func(l *ports.Limits) { l.Bytes = 24 << 10 }), Call: warehouses.Previewing(ref("wide"))},
		{Name: "a user without queries left", Code: connection.QuotaExceeded,
			Target: targetAs(map[string]any{"username": "thrifty"}), Call: warehouses.Previewing(ref("kinds"))},
	})
}
