package warehouses

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// SilentFor is the limit for connecting to servers that take a connection and say nothing. Within it, a busy machine
// must have connected.
const SilentFor = time.Second

// HostTarget returns a target of a kind with hosts, for an org that may reach the test's servers and unroutable
// addresses. fields replaces some of its fields; a nil value removes one. Its limits of time are for servers that
// answer: a target of one that does not needs shorter ones.
func HostTarget(t testing.TB, kind connection.Kind, fields, changes map[string]any) ports.Target {
	t.Helper()
	for name, v := range changes {
		if fields[name] = v; v == nil {
			delete(fields, name)
		}
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	c, err := connection.ParseCredential(kind, text)
	require.NoError(t, err)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("255.255.255.255/32")}
	return ports.Target{Credential: c, Egress: identity.Egress{Allow: loopback}, Limits: ports.Limits{
		Connect: proof.Patience, Statement: proof.Patience, Total: 2 * proof.Patience, Bytes: 1 << 20,
	}}
}

// HostFailures are the failures of any kind with hosts, TLS, and users with a password. The server is at 127.0.0.1 and
// has a database closed_to_all, which no user may use. as returns Reader's target with some fields changed, as
// HostTarget changes them.
func HostFailures(targetAs func(changes map[string]any) func(*testing.T) ports.Target) []Failure {
	return []Failure{
		{Name: "a network that the org does not allow", Code: connection.NetworkNotAllowed, Step: connection.Policy,
			Target: func(t *testing.T) ports.Target {
				target := targetAs(nil)(t)
				target.Egress = identity.Egress{}
				return target
			}},
		{Name: "a name that does not exist", Code: connection.DNSFailed, Step: connection.Resolve,
			Target: targetAs(map[string]any{"host": "no-such-host.example.com"})},
		{Name: "a port where nobody listens", Code: connection.PortClosed, Step: connection.Connect,
			Target: func(t *testing.T) ports.Target {
				return targetAs(map[string]any{"port": fixture.ClosedPort(t)})(t)
			}},
		{Name: "an address without a route", Code: connection.HostUnreachable, Step: connection.Connect,
			Target: targetAs(map[string]any{"host": "255.255.255.255"})},
		{Name: "an authority that is not trusted", Code: connection.TLSUntrusted, Step: connection.TLS,
			Target: targetAs(map[string]any{"tls_ca": nil})},
		{Name: "another authority", Code: connection.TLSUntrusted, Step: connection.TLS,
			Target: func(t *testing.T) ports.Target {
				return targetAs(map[string]any{"tls_ca": fixture.NewAuthority(t).PEM, "tls": "verify_ca"})(t)
			}},
		{Name: "a certificate for another name", Code: connection.TLSNameMismatch, Step: connection.TLS,
			Target: targetAs(map[string]any{"host": "localhost"})},
		{Name: "a wrong password", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: targetAs(map[string]any{"password": Canary + "-wrong"})},
		{Name: "no password", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: targetAs(map[string]any{"password": nil})},
		{Name: "an unknown user", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: targetAs(map[string]any{"username": "nobody"})},
		{Name: "a database that the user may not use", Code: connection.DatabaseDeniedOrMissing,
			Step:   connection.Database,
			Target: targetAs(map[string]any{"database": "closed_to_all"})},
	}
}

// WireFailures are the failures of kinds with their own protocol, in which they negotiate TLS. as is that of
// HostFailures.
func WireFailures(targetAs func(changes map[string]any) func(*testing.T) ports.Target) []Failure {
	return []Failure{
		{Name: "a port that closes without a word", Code: connection.PortClosed, Step: connection.TLS,
			Target: func(t *testing.T) ports.Target {
				return targetAs(map[string]any{"port": fixture.Listener(t, func(net.Conn) {})})(t)
			}},
		{Name: "a server that says nothing", Code: connection.ConnectTimeout, Step: connection.TLS,
			Target: func(t *testing.T) ports.Target {
				target := targetAs(map[string]any{"port": fixture.Listener(t, fixture.Silence)})(t)
				target.Limits.Connect = SilentFor
				return target
			}},
		{Name: "a web server", Code: connection.NotThisDatabase, Step: connection.TLS,
			Target: func(t *testing.T) ports.Target {
				return targetAs(map[string]any{"port": fixture.WebServer(t)})(t)
			}},
		{Name: "a web server, without TLS", Code: connection.NotThisDatabase, Step: connection.Authenticate,
			Target: func(t *testing.T) ports.Target {
				return targetAs(map[string]any{"port": fixture.WebServer(t), "tls": "disable"})(t)
			}},
	}
}

// Previewing returns a Failure's Call that previews a row of a table.
func Previewing(ref connection.TableRef) func(context.Context, ports.Warehouse, ports.Target) error {
	return func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
		p, err := w.Preview(ctx, target, connection.PreviewQuery{Table: ref, Rows: 1})
		return Sampled(p, err)
	}
}

// Sampled returns why a preview has no rows: its error, or its SampleError, beside which it must have columns.
func Sampled(p connection.Preview, err error) error {
	switch {
	case err != nil || p.SampleError == "":
		return err
	case len(p.Columns) == 0 || p.Total == 0 || p.Rows != nil:
		return fmt.Errorf("%s, with %d columns and %d rows", p.SampleError, len(p.Columns), len(p.Rows))
	}
	return p.SampleError
}

// WideColumns is how many columns the table of WidePreview has.
const WideColumns = connection.MaxColumns + 50

// WidePreview is the preview of a table with one row and WideColumns columns. The columns are like column but
// have the names c0, c1 and so on. Each holds the last digit of its number more than MaxCell times.
func WidePreview(column connection.Column) connection.Preview {
	var wide connection.Preview
	row := make([]*string, connection.MaxColumns)
	for i := range row {
		column.Name = fmt.Sprintf("c%d", i)
		wide.Columns = append(wide.Columns, column)
		text := strings.Repeat(strconv.Itoa(i%10), connection.MaxCell)
		row[i] = &text
	}
	wide.Rows, wide.Total, wide.Truncated = [][]*string{row}, WideColumns, true
	return wide
}
