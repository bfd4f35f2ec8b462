package snowflake_test

import (
	"bytes"
	"context"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/snowflake"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

// loopback is the policy of an org that may reach the test's servers.
var loopback = identity.Egress{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("255.255.255.255/32")}}

// guard lets the test's servers have any port.
func guard(to ports.Target, end time.Time) warehouse.Network {
	return egress.New(egress.Rules{Allow: to.Egress.Allow, Port: func(uint16) bool { return true }, Connect: to.Limits.Connect, Deadline: end, Bytes: to.Limits.Bytes})
}

// at reads a server of the test's out of an account's name: "port-8080-x", or "localhost.port-8080-x".
func at(account string) (string, uint16) {
	found := regexp.MustCompile(`^(?:(.+)\.)?port-(\d+)-x$`).FindStringSubmatch(account)
	port, err := strconv.ParseUint(found[2], 10, 16)
	if err != nil {
		panic(err)
	}
	if found[1] == "" {
		return "127.0.0.1", uint16(port)
	}
	return found[1], uint16(port)
}

func direct(*testing.T) ports.Warehouse { return snowflake.NewAt(guard, authority.Pool(), at) }

// target is the reader's at a server of the test's, with some fields changed; a nil value takes one out.
func target(t *testing.T, port uint16, changes map[string]any) ports.Target {
	t.Helper()
	// The suite's canary is in the PEM, whose headers are for whoever wrote it.
	pem := strings.Replace(pemOf(t, key), "KEY-----\n", "KEY-----\nNote: "+contract.WarehouseCanary+"\n\n", 1)
	fields := map[string]any{"account": fmt.Sprintf("port-%d-x", port), "database": "SHOP", "warehouse": "SMALL", "username": "reader", "private_key": pem}
	for name, v := range changes {
		if fields[name] = v; v == nil {
			delete(fields, name)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connection.ParseCredential(connection.Snowflake, text)
	if err != nil {
		t.Fatal(err)
	}
	return ports.Target{Credential: c, Egress: loopback, Limits: ports.Limits{
		Connect: 2 * time.Second, Statement: 2 * time.Second, Total: 4 * time.Second, Bytes: 1 << 20,
	}}
}

func text(s string) *string { return &s }

func ref(name string) connection.TableRef { return connection.TableRef{Schema: "PUBLIC", Name: name} }

const strange = `a "strange" name; DROP TABLE kinds`

// kinds are the columns of all types, and how they are shown.
var kinds = []struct {
	column [5]string
	shown  connection.Column
	values [3]*string
}{
	{[5]string{"ID", "NUMBER", "NO", "38", "0"}, connection.Column{Name: "ID", DatabaseType: "NUMBER(38,0)", Type: connection.Integer}, [3]*string{text("1"), text("2"), text("3")}},
	{[5]string{"NAME", "TEXT", "NO"}, connection.Column{Name: "NAME", DatabaseType: "TEXT", Type: connection.Text},
		[3]*string{text("Ada"), text(strings.Repeat("é", connection.MaxCell)), text("tab\t\"quote\"")}},
	{[5]string{"PRICE", "NUMBER", "YES", "10", "2"}, connection.Column{Name: "PRICE", DatabaseType: "NUMBER(10,2)", Type: connection.Number, Nullable: true}, [3]*string{text("12.50"), nil, text("-1.00")}},
	{[5]string{"RATE", "FLOAT", "YES"}, connection.Column{Name: "RATE", DatabaseType: "FLOAT", Type: connection.Number, Nullable: true}, [3]*string{text("0.5"), nil, text("NaN")}},
	{[5]string{"SOLD", "BOOLEAN", "YES"}, connection.Column{Name: "SOLD", DatabaseType: "BOOLEAN", Type: connection.Boolean, Nullable: true}, [3]*string{text("true"), nil, text("false")}},
	{[5]string{"BORN", "DATE", "YES"}, connection.Column{Name: "BORN", DatabaseType: "DATE", Type: connection.Date, Nullable: true}, [3]*string{text("1815-12-10"), nil, text("9999-12-31")}},
	{[5]string{"AT", "TIMESTAMP_TZ", "YES"}, connection.Column{Name: "AT", DatabaseType: "TIMESTAMP_TZ", Type: connection.DateTime, Nullable: true}, [3]*string{text("2026-01-02 03:04:05.000 +00:00"), nil, nil}},
	{[5]string{"THERE", "TIMESTAMP_NTZ", "YES"}, connection.Column{Name: "THERE", DatabaseType: "TIMESTAMP_NTZ", Type: connection.DateTime, Nullable: true}, [3]*string{text("2026-01-02 03:04:05.000"), nil, nil}},
	{[5]string{"DOC", "VARIANT", "YES"}, connection.Column{Name: "DOC", DatabaseType: "VARIANT", Type: connection.JSON, Nullable: true}, [3]*string{text(`{"a":1}`), nil, text("null")}},
	{[5]string{"RAW", "BINARY", "YES"}, connection.Column{Name: "RAW", DatabaseType: "BINARY", Type: connection.Text, Nullable: true}, [3]*string{text("0x00ff"), nil, text("0x")}},
	{[5]string{"SPOT", "GEOGRAPHY", "YES"}, connection.Column{Name: "SPOT", DatabaseType: "GEOGRAPHY", Type: connection.Text, Nullable: true}, [3]*string{text("POINT(1 2)"), nil, nil}},
}

// newServer holds the suite's sample.
func newServer(t *testing.T) *fixture.Snowflake {
	t.Helper()
	s := fixture.NewSnowflake(t, authority.ServerTLS(t, "127.0.0.1"))
	n := func(i int) *int { return &i }
	id := [][5]string{{"ID", "NUMBER", "YES", "38", "0"}}
	all := fixture.SnowflakeTable{Schema: "PUBLIC", Name: "KINDS", Type: "BASE TABLE", Rows: n(3), Values: make([][]*string, 3)}
	for _, k := range kinds {
		all.Columns = append(all.Columns, k.column)
		for i := range all.Values {
			all.Values[i] = append(all.Values[i], k.values[i])
		}
	}
	wide := fixture.SnowflakeTable{Schema: "PUBLIC", Name: "WIDE", Type: "BASE TABLE", Rows: n(1), Values: make([][]*string, 1)}
	for i := range connection.MaxColumns + 50 {
		wide.Columns = append(wide.Columns, [5]string{fmt.Sprintf("C%d", i), "TEXT", "YES"})
		wide.Values[0] = append(wide.Values[0], text(strings.Repeat(strconv.Itoa(i%10), 300)))
	}
	fails := func(name, state string) fixture.SnowflakeTable {
		return fixture.SnowflakeTable{Schema: "PUBLIC", Name: name, Type: "VIEW", Columns: id, Fails: state}
	}
	s.Databases["SHOP"] = []fixture.SnowflakeTable{
		wide, all,
		{Schema: "PUBLIC", Name: strange, Type: "BASE TABLE", Rows: n(1), Columns: [][5]string{{`a "col", b?`, "TEXT", "YES"}}, Values: [][]*string{{text("here")}}},
		{Schema: "PUBLIC", Name: "EMPTY", Type: "BASE TABLE", Rows: n(0), Columns: id},
		{Schema: "PUBLIC", Name: "KEPT", Type: "MATERIALIZED VIEW", Rows: n(3), Columns: id},
		{Schema: "PUBLIC", Name: "AFAR", Type: "EXTERNAL TABLE", Columns: id},
		{Schema: "OTHER", Name: "KINDS", Type: "VIEW", Columns: id},
		fails("SLOW", "57014"), fails("UNSELECTED", "42S02"), fails("CLOSED", "42501"), fails("LEADS_NOWHERE", "02000"),
	}
	s.Databases["CLOSED"] = nil
	user := func(name string, change func(*fixture.SnowflakeUser)) {
		u := &fixture.SnowflakeUser{Key: &key.PublicKey, Databases: []string{"SHOP"}, Grants: []string{"USAGE", "SELECT"}}
		change(u)
		s.Users[name] = u
	}
	user("READER", func(*fixture.SnowflakeUser) {})
	user("WRITER", func(u *fixture.SnowflakeUser) { u.Grants = append(u.Grants, "INSERT") })
	user("SHY", func(u *fixture.SnowflakeUser) { u.Grants = nil })
	for name, f := range map[string]fixture.SnowflakeUser{
		"LOCKED": {Status: 401, Code: "390102"}, "FAR": {Status: 403, Code: "390422"}, "CROWDED": {Status: 429, Code: "390508"}, "EARLY": {Status: 503, Code: "390506"},
		"SPENT": {Status: 422, Code: "090073", State: "57P03"}, "NEW": {Status: 422, Code: "001003", State: "42000"}, "CONFUSED": {Status: 418},
		"ELSEWHERE": {Status: 422, Code: "390201", State: "08004"},
	} {
		user(name, func(u *fixture.SnowflakeUser) { u.Status, u.Code, u.State = f.Status, f.Code, f.State })
	}
	return s
}

func portOf(address string) uint16 { return netip.MustParseAddrPort(address).Port() }

// as is the target of a user.
func as(name string, changes map[string]any) func(*testing.T) ports.Target {
	return func(t *testing.T) ports.Target {
		all := map[string]any{"username": name}
		for field, v := range changes {
			all[field] = v
		}
		return target(t, portOf(newServer(t).Listener.Addr().String()), all)
	}
}

func rig(open func(*testing.T) ports.Warehouse) contract.WarehouseRig {
	table := func(name string, kind connection.TableKind, rows int64) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: rows}
	}
	return contract.WarehouseRig{
		Kind: connection.Snowflake, Open: open, Reader: as("reader", nil), Writer: as("writer", nil),
		Tables: []connection.Table{
			{TableRef: connection.TableRef{Schema: "OTHER", Name: "KINDS"}, Kind: connection.View, RowEstimate: -1},
			table("AFAR", connection.ExternalTable, -1), table("CLOSED", connection.View, -1), table("EMPTY", connection.BaseTable, 0),
			table("KEPT", connection.MaterializedView, 3), table("KINDS", connection.BaseTable, 3), table("LEADS_NOWHERE", connection.View, -1),
			table("SLOW", connection.View, -1), table("UNSELECTED", connection.View, -1), table("WIDE", connection.BaseTable, 1), table(strange, connection.BaseTable, 1),
		},
		Previews: previews(),
		Failures: failures(),
		Never: map[connection.Code]string{
			connection.TLSUnsupported:   "the host is Snowflake's, which has TLS: what has none is another server",
			connection.TLSRequired:      "TLS is always used",
			connection.DatabaseNotFound: "Snowflake does not tell what is missing from what is not for this role",
		},
	}
}

func previews() map[connection.TableRef]connection.Preview {
	all, wide := connection.Preview{Rows: make([][]*string, 3)}, connection.Preview{Rows: make([][]*string, 1)}
	for _, k := range kinds {
		all.Columns = append(all.Columns, k.shown)
		for i := range all.Rows {
			all.Rows[i] = append(all.Rows[i], k.values[i])
		}
	}
	for i := range connection.MaxColumns {
		wide.Columns = append(wide.Columns, connection.Column{Name: fmt.Sprintf("C%d", i), DatabaseType: "TEXT", Type: connection.Text, Nullable: true})
		wide.Rows[0] = append(wide.Rows[0], text(strings.Repeat(strconv.Itoa(i%10), connection.MaxCell)))
	}
	return map[connection.TableRef]connection.Preview{
		ref("KINDS"): all,
		ref("WIDE"):  wide,
		ref(strange): {
			Columns: []connection.Column{{Name: `a "col", b?`, DatabaseType: "TEXT", Type: connection.Text, Nullable: true}},
			Rows:    [][]*string{{text("here")}},
		},
		ref("EMPTY"): {Columns: []connection.Column{{Name: "ID", DatabaseType: "NUMBER(38,0)", Type: connection.Integer, Nullable: true}}},
	}
}

func failures() []contract.WarehouseFailure {
	preview := func(name string) func(context.Context, ports.Warehouse, ports.Target) error {
		return func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			_, err := w.Preview(ctx, to, ref(name), 1)
			return err
		}
	}
	at := func(port func(*testing.T) uint16) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return target(t, port(t), nil) }
	}
	host := func(name string) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			return target(t, 1, map[string]any{"account": fmt.Sprintf("%s.port-%d-x", name, portOf(newServer(t).Listener.Addr().String()))})
		}
	}
	reads := as("reader", nil)
	limited := func(change func(*ports.Target)) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { to := reads(t); change(&to); return to }
	}
	return []contract.WarehouseFailure{
		{Name: "a network that the org does not allow", Code: connection.NetworkNotAllowed, Step: connection.Policy,
			Target: limited(func(to *ports.Target) { to.Egress = identity.Egress{} })},
		{Name: "a name that does not exist", Code: connection.DNSFailed, Step: connection.Resolve, Target: host("no-such-host.example.com")},
		{Name: "a port where nobody listens", Code: connection.PortClosed, Step: connection.Connect, Target: at(closedPort)},
		{Name: "an address without a route", Code: connection.HostUnreachable, Step: connection.Connect, Target: host("255.255.255.255")},
		{Name: "a server that says nothing", Code: connection.ConnectTimeout, Step: connection.TLS, Target: func(t *testing.T) ports.Target {
			to := target(t, serve(t, func(c net.Conn) { _, _ = bytes.NewBuffer(nil).ReadFrom(c) }), nil)
			to.Limits.Connect = 200 * time.Millisecond
			return to
		}},
		{Name: "a server without TLS", Code: connection.NotThisDatabase, Step: connection.TLS, Target: at(func(t *testing.T) uint16 {
			return serve(t, func(c net.Conn) {
				_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
				_, _ = bytes.NewBuffer(nil).ReadFrom(c)
			})
		})},
		{Name: "an account that there is not", Code: connection.NotThisDatabase, Step: connection.Authenticate, Target: func(t *testing.T) ports.Target {
			s := newServer(t)
			s.Config.Handler = http.NotFoundHandler()
			return target(t, portOf(s.Listener.Addr().String()), nil)
		}},
		{Name: "another authority", Code: connection.TLSUntrusted, Step: connection.TLS, Target: at(func(t *testing.T) uint16 {
			return portOf(fixture.NewSnowflake(t, fixture.NewAuthority(t).ServerTLS(t, "127.0.0.1")).Listener.Addr().String())
		})},
		{Name: "a certificate for another name", Code: connection.TLSNameMismatch, Step: connection.TLS, Target: host("localhost")},
		{Name: "a user that there is not", Code: connection.AuthFailed, Step: connection.Authenticate, Target: as("nobody", nil)},
		{Name: "a user who is locked", Code: connection.AuthRejected, Step: connection.Authenticate, Target: as("locked", nil)},
		{Name: "a user who may not come from here", Code: connection.AuthRejected, Step: connection.Authenticate, Target: as("far", nil)},
		{Name: "a role that is not the user's", Code: connection.AuthRejected, Step: connection.Authenticate, Target: as("reader", map[string]any{"role": "NOT MINE"})},
		{Name: "an unknown database", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database, Target: as("reader", map[string]any{"database": "NOTHING"})},
		{Name: "an unknown database, as some answers have it", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database, Target: as("elsewhere", nil)},
		{Name: "a database that the role may not use", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database, Target: as("reader", map[string]any{"database": "CLOSED"})},
		{Name: "an unknown warehouse", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database, Target: as("reader", map[string]any{"warehouse": "NOTHING"})},
		{Name: "a table that the role may see and not read", Code: connection.PermissionDenied, Target: reads, Call: preview("UNSELECTED")},
		{Name: "a view that the role may not read", Code: connection.PermissionDenied, Target: reads, Call: preview("CLOSED")},
		{Name: "a view of what is gone", Code: connection.PermissionDenied, Target: reads, Call: preview("LEADS_NOWHERE")},
		{Name: "a table that there is not", Code: connection.TableNotFound, Target: reads, Call: preview("NOTHING")},
		{Name: "a table in other letters", Code: connection.TableNotFound, Target: reads, Call: preview("kinds")},
		{Name: "a table of the catalogue", Code: connection.TableNotFound, Target: reads, Call: func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			_, err := w.Preview(ctx, to, connection.TableRef{Schema: "INFORMATION_SCHEMA", Name: "TABLES"}, 1)
			return err
		}},
		{Name: "a view that takes too long", Code: connection.QueryTimeout, Target: reads, Call: preview("SLOW")},
		{Name: "an answer that is larger than allowed", Code: connection.ResponseTooLarge, Target: limited(func(to *ports.Target) { to.Limits.Bytes = 32 << 10 }), Call: preview("WIDE")},
		{Name: "a resource monitor that is spent", Code: connection.QuotaExceeded, Step: connection.Authenticate, Target: as("spent", nil)},
		{Name: "an account with too much to do", Code: connection.TooManyConnections, Step: connection.Authenticate, Target: as("crowded", nil)},
		{Name: "a service that is not ready", Code: connection.ServerStarting, Step: connection.Authenticate, Target: as("early", nil)},
		{Name: "a server that does not read our statements", Code: connection.UnsupportedVersion, Step: connection.Authenticate, Target: as("new", nil)},
		{Name: "an error that nobody knows", Code: connection.Internal, Step: connection.Authenticate, Target: as("confused", nil)},
	}
}

func closedPort(t *testing.T) uint16 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return portOf(l.Addr().String())
}

// serve answers each connection by fn and closes it when fn returns.
func serve(t *testing.T, fn func(net.Conn)) uint16 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fn(c)
			}()
		}
	}()
	return portOf(l.Addr().String())
}

func TestWarehouse(t *testing.T) { contract.Warehouse(t, rig(direct)) }

func TestARoleThatMayNotAskForItsGrantsIsNoFailure(t *testing.T) {
	if r := direct(t).Probe(t.Context(), as("shy", nil)(t)); r.Failure() != "" || r.Server.CanWrite {
		t.Errorf("%+v", r)
	}
}

func TestAccountsAreAtSnowflakesHosts(t *testing.T) {
	for account, want := range map[string]struct{ host, issuer string }{
		"acme-analytics":        {"acme-analytics.snowflakecomputing.com", "ACME-ANALYTICS.READER"},
		"Acme-My_Account":       {"acme-my-account.snowflakecomputing.com", "ACME-MY_ACCOUNT.READER"},
		"xy12345":               {"xy12345.snowflakecomputing.com", "XY12345.READER"},
		"xy12345.us-east-2.aws": {"xy12345.us-east-2.aws.snowflakecomputing.com", "XY12345.READER"},
	} {
		if host, port := snowflake.ServerOf(account); host != want.host || port != 443 {
			t.Errorf("%s is at %s:%d", account, host, port)
		}
		token, err := snowflake.Sign(target(t, 1, map[string]any{"account": account}).Credential, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		claims, _ := fixture.VerifyJWT(token, func(map[string]any) *rsa.PublicKey { return &key.PublicKey })
		issuer, _ := claims["iss"].(string)
		if claims["sub"] != want.issuer || !strings.HasPrefix(issuer, want.issuer+".SHA256:") || !fixture.Lasting(claims) {
			t.Errorf("%s: claims %v", account, claims)
		}
	}
	for _, account := range []string{
		"evil.example.com/", "evil.example.com#", "evil.example.com?", "evil.example.com:443", "a@evil.example.com", "a b", "..", ".a", "a.", "a..b", "-a", "a-", "a\n", "", "ａ", "a%2f", `a\b`,
	} {
		text, err := json.Marshal(map[string]string{"account": account, "database": "D", "warehouse": "W", "username": "U", "private_key": pemOf(t, key)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := connection.ParseCredential(connection.Snowflake, text); err == nil {
			t.Errorf("account %q is taken", account)
		}
	}
}
