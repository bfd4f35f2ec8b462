package snowflake_test

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/snowflake"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// hosted has a server of the test's in Snowflake's place.
var hosted = warehouses.Hosted{Kind: snowflake.Kind,
	NewAt: func(roots *x509.CertPool, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
		return snowflake.NewAt(func(target ports.Target, end time.Time) warehouse.Network {
			return egress.New(egress.Rules{
				Allow: target.Egress.Allow, Port: func(uint16) bool { return true }, Connect: target.Limits.Connect,
				Deadline: end, Bytes: target.Limits.Bytes, Resolve: lookup,
			})
		}, roots, warehouses.StandIn)
	}}

func TestMain(m *testing.M) { hosted.Main(m) }

// target is the reader's at a server of the test's, with some fields changed.
func target(t *testing.T, port uint16, changes map[string]any) ports.Target {
	t.Helper()
	// The suite's canary is in a header of the PEM. Such headers are free text of the author.
	pem := strings.Replace(hosted.KeyPEM(t), "KEY-----\n", "KEY-----\nNote: "+warehouses.Canary+"\n\n", 1)
	fields := map[string]any{"account": fmt.Sprintf("port-%d-x", port), "database": "SHOP", "warehouse": "SMALL",
		"username": "reader", "private_key": pem}
	return warehouses.HostTarget(t, snowflake.Kind, fields, changes)
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
	{[5]string{"ID", "NUMBER", "NO", "38", "0"}, connection.Column{Name: "ID", DatabaseType: "NUMBER(38,0)",
		Type: connection.Integer}, [3]*string{text("1"), text("2"), text("3")}},
	{[5]string{"NAME", "TEXT", "NO"}, connection.Column{Name: "NAME", DatabaseType: "TEXT", Type: connection.Text},
		[3]*string{text("Ada"), text(strings.Repeat("é", connection.MaxCell)), text("tab\t\"quote\"")}},
	{[5]string{"PRICE", "NUMBER", "YES", "10", "2"}, connection.Column{Name: "PRICE", DatabaseType: "NUMBER(10,2)",
		Type: connection.Number, Nullable: true}, [3]*string{text("12.50"), nil, text("-1.00")}},
	{[5]string{"RATE", "FLOAT", "YES"}, connection.Column{Name: "RATE", DatabaseType: "FLOAT", Type: connection.Number,
		Unordered: true, Nullable: true}, [3]*string{text("0.5"), nil, text("NaN")}},
	{[5]string{"SOLD", "BOOLEAN", "YES"}, connection.Column{Name: "SOLD", DatabaseType: "BOOLEAN",
		Type: connection.Boolean, Nullable: true}, [3]*string{text("true"), nil, text("false")}},
	{[5]string{"BORN", "DATE", "YES"}, connection.Column{Name: "BORN", DatabaseType: "DATE", Type: connection.Date,
		Nullable: true}, [3]*string{text("1815-12-10"), nil, text("9999-12-31")}},
	{[5]string{"AT", "TIMESTAMP_TZ", "YES"}, connection.Column{Name: "AT", DatabaseType: "TIMESTAMP_TZ",
		Type: connection.DateTime, Nullable: true}, [3]*string{text("2026-01-02 03:04:05.000 +00:00"), nil, nil}},
	{[5]string{"THERE", "TIMESTAMP_NTZ", "YES"}, connection.Column{Name: "THERE", DatabaseType: "TIMESTAMP_NTZ",
		Type: connection.DateTime, Nullable: true}, [3]*string{text("2026-01-02 03:04:05.000"), nil, nil}},
	{[5]string{"DOC", "VARIANT", "YES"}, connection.Column{Name: "DOC", DatabaseType: "VARIANT", Type: connection.JSON,
		Unordered: true, Nullable: true}, [3]*string{text(`{"a":1}`), nil, text("null")}},
	{[5]string{"RAW", "BINARY", "YES"}, connection.Column{Name: "RAW", DatabaseType: "BINARY", Type: connection.Text,
		Unordered: true, Nullable: true}, [3]*string{text("0x00ff"), nil, text("0x")}},
	{[5]string{"SPOT", "GEOGRAPHY", "YES"}, connection.Column{Name: "SPOT", DatabaseType: "GEOGRAPHY", Type: connection.Text,
		Unordered: true, Nullable: true}, [3]*string{text("POINT(1 2)"), nil, nil}},
}

// newServer holds the suite's sample.
func newServer(t *testing.T, authority *fixture.Authority) *fixture.Snowflake {
	t.Helper()
	s := fixture.NewSnowflake(t, authority.ServerTLS(t, "127.0.0.1"))
	n := func(i int) *int { return &i }
	id := [][5]string{{"ID", "NUMBER", "YES", "38", "0"}}
	all := fixture.SnowflakeTable{Schema: "PUBLIC", Name: "KINDS", Type: "BASE TABLE", Rows: n(3),
		Values: make([][]*string, 3)}
	for _, k := range kinds {
		all.Columns = append(all.Columns, k.column)
		for i := range all.Values {
			all.Values[i] = append(all.Values[i], k.values[i])
		}
	}
	wide := fixture.SnowflakeTable{Schema: "PUBLIC", Name: "WIDE", Type: "BASE TABLE", Rows: n(1),
		Values: make([][]*string, 1)}
	for i := range connection.MaxColumns + 50 {
		wide.Columns = append(wide.Columns, [5]string{fmt.Sprintf("C%d", i), "TEXT", "YES"})
		wide.Values[0] = append(wide.Values[0], text(strings.Repeat(strconv.Itoa(i%10), 300)))
	}
	fails := func(name, state string) fixture.SnowflakeTable {
		return fixture.SnowflakeTable{Schema: "PUBLIC", Name: name, Type: "VIEW", Columns: id, Fails: state}
	}
	s.Databases["SHOP"] = []fixture.SnowflakeTable{
		wide, all,
		{Schema: "PUBLIC", Name: strange, Type: "BASE TABLE", Rows: n(1),
			Columns: [][5]string{{`a "col", b?`, "TEXT", "YES"}}, Values: [][]*string{{text("here")}}},
		{Schema: "PUBLIC", Name: "EMPTY", Type: "BASE TABLE", Rows: n(0), Columns: id},
		{Schema: "PUBLIC", Name: "KEPT", Type: "MATERIALIZED VIEW", Rows: n(3), Columns: id},
		{Schema: "PUBLIC", Name: "AFAR", Type: "EXTERNAL TABLE", Columns: id},
		{Schema: "OTHER", Name: "KINDS", Type: "VIEW", Columns: id},
		fails("SLOW", "57014"), fails("DIVIDED", "22012"), fails("UNSELECTED", "42S02"),
		fails("CLOSED", "42501"), fails("LEADS_NOWHERE", "02000"),
	}
	s.Databases["CLOSED"] = nil
	user := func(name string, change func(*fixture.SnowflakeUser)) {
		u := &fixture.SnowflakeUser{Key: &hosted.Key.PublicKey, Databases: []string{"SHOP"},
			Grants: []string{"USAGE", "SELECT"}}
		change(u)
		s.Users[name] = u
	}
	user("READER", func(*fixture.SnowflakeUser) {})
	user("WRITER", func(u *fixture.SnowflakeUser) { u.Grants = append(u.Grants, "INSERT") })
	user("SHY", func(u *fixture.SnowflakeUser) { u.Grants = nil })
	for name, f := range map[string]fixture.SnowflakeUser{
		"LOCKED": {Status: 401, Code: "390102"}, "FAR": {Status: 403, Code: "390422"},
		"CROWDED": {Status: 429, Code: "390508"}, "EARLY": {Status: 503, Code: "390506"},
		"SPENT": {Status: 422, Code: "090073", State: "57P03"}, "NEW": {Status: 422, Code: "001003", State: "42000"},
		"CONFUSED":  {Status: 418},
		"ELSEWHERE": {Status: 422, Code: "390201", State: "08004"},
	} {
		user(name, func(u *fixture.SnowflakeUser) { u.Status, u.Code, u.State = f.Status, f.Code, f.State })
	}
	return s
}

func portOf(s *httptest.Server) uint16 {
	return netip.MustParseAddrPort(s.Listener.Addr().String()).Port()
}

// serve starts a server with the sample, certified by an authority.
func serve(t *testing.T, authority *fixture.Authority) uint16 {
	return portOf(newServer(t, authority).Server)
}

// targetAt is the reader's at an address.
func targetAt(t *testing.T, host string, port uint16) ports.Target {
	return target(t, port, map[string]any{"account": fmt.Sprintf("%s.port-%d-x", host, port)})
}

// as is the target of a user.
func as(name string, changes map[string]any) func(*testing.T) ports.Target {
	return func(t *testing.T) ports.Target {
		all := map[string]any{"username": name}
		maps.Copy(all, changes)
		return target(t, serve(t, hosted.Authority), all)
	}
}

func harness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	table := func(name string, kind connection.TableKind, rows int64) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: rows}
	}
	return warehouses.Harness{
		Kind: snowflake.Kind, Open: open, Reader: as("reader", nil), Writer: as("writer", nil),
		Tables: []connection.Table{
			{TableRef: connection.TableRef{Schema: "OTHER", Name: "KINDS"}, Kind: connection.View, RowEstimate: -1},
			table("AFAR", connection.ExternalTable, -1), table("CLOSED", connection.View, -1),
			table("DIVIDED", connection.View, -1), table("EMPTY", connection.BaseTable, 0),
			table("KEPT", connection.MaterializedView, 3), table("KINDS", connection.BaseTable, 3),
			table("LEADS_NOWHERE", connection.View, -1),
			table("SLOW", connection.View, -1), table("UNSELECTED", connection.View, -1),
			table("WIDE", connection.BaseTable, 1), table(strange, connection.BaseTable, 1),
		},
		Previews: previews(),
		Failures: failures(),
		Never: map[connection.Code]string{
			connection.TLSExpired:         "all kinds verify certificates by the same code; PostgreSQL stages it",
			connection.BackendUnreachable: "only PostgreSQL's poolers tell",
			connection.PoolingUnsupported: "only PostgreSQL's poolers have modes",
			connection.TLSUnsupported:     "the host is Snowflake's, which has TLS: what has none is another server",
			connection.TLSRequired:        "TLS is always used",
			connection.DatabaseNotFound:   "Snowflake does not tell what is missing from what is not for this role",
		},
	}
}

func previews() map[connection.TableRef]connection.Preview {
	all, wide := connection.Preview{Rows: make([][]*string, 3)}, connection.Preview{
		Rows: make([][]*string, 1), Total: warehouses.WideColumns, Truncated: true}
	for _, k := range kinds {
		all.Columns = append(all.Columns, k.shown)
		for i := range all.Rows {
			all.Rows[i] = append(all.Rows[i], k.values[i])
		}
	}
	for i := range connection.MaxColumns {
		wide.Columns = append(wide.Columns, connection.Column{Name: fmt.Sprintf("C%d", i), DatabaseType: "TEXT",
			Type: connection.Text, Nullable: true})
		wide.Rows[0] = append(wide.Rows[0], text(strings.Repeat(strconv.Itoa(i%10), connection.MaxCell)))
	}
	return map[connection.TableRef]connection.Preview{
		ref("KINDS"): all,
		ref("WIDE"):  wide,
		ref(strange): {
			Columns: []connection.Column{{Name: `a "col", b?`, DatabaseType: "TEXT", Type: connection.Text,
				Nullable: true}},
			Rows: [][]*string{{text("here")}},
		},
		ref("EMPTY"): {Columns: []connection.Column{{Name: "ID", DatabaseType: "NUMBER(38,0)", Type: connection.Integer,
			Nullable: true}}},
	}
}

func failures() []warehouses.Failure {
	preview := func(name string) func(context.Context, ports.Warehouse, ports.Target) error {
		return func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
			return warehouses.Sampled(w.Preview(ctx, target, connection.PreviewQuery{Table: ref(name), Rows: 1}))
		}
	}
	reads := as("reader", nil)
	return slices.Concat(hosted.Unreached(serve, targetAt), []warehouses.Failure{
		{Name: "an account that there is not", Code: connection.NotThisDatabase, Step: connection.Authenticate,
			Target: func(t *testing.T) ports.Target {
				s := newServer(t, hosted.Authority)
				s.Config.Handler = http.NotFoundHandler()
				return target(t, portOf(s.Server), nil)
			}},
		{Name: "a user that does not exist", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: as("nobody", nil)},
		{Name: "a user who is locked", Code: connection.AuthRejected, Step: connection.Authenticate,
			Target: as("locked", nil)},
		{Name: "a user who may not come from here", Code: connection.AuthRejected, Step: connection.Authenticate,
			Target: as("far", nil)},
		{Name: "a role that is not the user's", Code: connection.AuthRejected, Step: connection.Authenticate,
			Target: as("reader", map[string]any{"role": "NOT MINE"})},
		{Name: "an unknown database", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database,
			Target: as("reader", map[string]any{"database": "NOTHING"})},
		{Name: "an unknown database, as some answers have it", Code: connection.DatabaseDeniedOrMissing,
			Step: connection.Database, Target: as("elsewhere", nil)},
		{Name: "a database that the role may not use", Code: connection.DatabaseDeniedOrMissing,
			Step: connection.Database, Target: as("reader", map[string]any{"database": "CLOSED"})},
		{Name: "an unknown warehouse", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database,
			Target: as("reader", map[string]any{"warehouse": "NOTHING"})},
		{Name: "a table that the role may see and not read", Code: connection.PermissionDenied, Target: reads,
			Call: preview("UNSELECTED")},
		{Name: "a view that the role may not read", Code: connection.PermissionDenied, Target: reads,
			Call: preview("CLOSED")},
		{Name: "a view of a dropped table", Code: connection.PermissionDenied, Target: reads,
			Call: preview("LEADS_NOWHERE")},
		{Name: "a table that there is not", Code: connection.TableNotFound, Target: reads, Call: preview("NOTHING")},
		{Name: "a table in other letters", Code: connection.TableNotFound, Target: reads, Call: preview("kinds")},
		{Name: "a table of the catalogue", Code: connection.TableNotFound, Target: reads,
			Call: func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
				_, err := w.Preview(ctx, target, connection.PreviewQuery{
					Table: connection.TableRef{Schema: "INFORMATION_SCHEMA", Name: "TABLES"}, Rows: 1})
				return err
			}},
		{Name: "a view that divides by zero", Code: connection.TableUnreadable, State: "22012", Target: reads,
			Call: preview("DIVIDED")},
		{Name: "a view that takes too long", Code: connection.QueryTimeout, Target: reads, Call: preview("SLOW")},
		{Name: "an answer that is larger than allowed", Code: connection.ResponseTooLarge,
			Target: func(t *testing.T) ports.Target {
				target := reads(t)
				target.Limits.Bytes = 32 << 10
				return target
			}, Call: preview("WIDE")},
		{Name: "a resource monitor that is spent", Code: connection.QuotaExceeded, Step: connection.Authenticate,
			Target: as("spent", nil)},
		{Name: "an account with too much to do", Code: connection.TooManyConnections, Step: connection.Authenticate,
			Target: as("crowded", nil)},
		{Name: "a service that is not ready", Code: connection.ServerStarting, Step: connection.Authenticate,
			Target: as("early", nil)},
		{Name: "a server that does not read our statements", Code: connection.UnsupportedVersion,
			Step: connection.Authenticate, Target: as("new", nil)},
		{Name: "an unknown error", Code: connection.Internal, Step: connection.Authenticate,
			Target: as("confused", nil)},
	})
}

func TestWarehouse(t *testing.T) { warehouses.Warehouse(t, harness(hosted.Direct)) }

func TestWarehouseThroughTheChild(t *testing.T) { warehouses.Warehouse(t, harness(hosted.Confined)) }

func TestARoleThatMayNotAskForItsGrantsIsNoFailure(t *testing.T) {
	if r := hosted.Direct(t).Probe(t.Context(), as("shy", nil)(t)); r.Failure() != "" || r.Server.CanWrite {
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
		require.NoError(t, err)
		claims, _ := fixture.VerifyJWT(token, func(map[string]any) *rsa.PublicKey { return &hosted.Key.PublicKey })
		issuer, _ := claims["iss"].(string)
		if claims["sub"] != want.issuer || !strings.HasPrefix(issuer, want.issuer+".SHA256:") ||
			!fixture.Lasting(claims) {
			t.Errorf("%s: claims %v", account, claims)
		}
	}
	for _, account := range []string{
		"evil.example.com/", "evil.example.com#", "evil.example.com?", "evil.example.com:443", "a@evil.example.com",
		"a b", "..", ".a", "a.", "a..b", "-a", "a-", "a\n", "", "ａ", "a%2f", `a\b`,
	} {
		text, err := json.Marshal(map[string]string{"account": account, "database": "D", "warehouse": "W",
			"username": "U", "private_key": hosted.KeyPEM(t)})
		require.NoError(t, err)
		if _, err := connection.ParseCredential(snowflake.Kind, text); err == nil {
			t.Errorf("account %q is taken", account)
		}
	}
}
