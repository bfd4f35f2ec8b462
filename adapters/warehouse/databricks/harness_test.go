package databricks_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/databricks"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// hosted has a server of the test's in place of a workspace.
var hosted = warehouses.Hosted{Kind: databricks.Kind,
	NewAt: func(roots *x509.CertPool, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
		return databricks.NewAt(func(target ports.Target, end time.Time) warehouse.Network {
			return egress.New(egress.Rules{
				Allow: target.Egress.Allow, Port: func(uint16) bool { return true }, Connect: target.Limits.Connect,
				Deadline: end, Bytes: target.Limits.Bytes, Resolve: lookup,
			})
		}, roots, warehouses.StandIn)
	}}

func TestMain(m *testing.M) { hosted.Main(m) }

// target is the reader's at a server of the test's, with some fields changed. Its token is the suite's canary.
func target(t *testing.T, port uint16, changes map[string]any) ports.Target {
	t.Helper()
	fields := map[string]any{"host": fmt.Sprintf("port-%d-x", port), "catalog": "shop-1",
		"http_path": "/sql/1.0/warehouses/a1b2c3d4e5f60718", "access_token": tokenOf("reader")}
	return warehouses.HostTarget(t, databricks.Kind, fields, changes)
}

func tokenOf(user string) string { return warehouses.Canary + "-" + user }

func text(s string) *string { return &s }

func ref(name string) connection.TableRef { return connection.TableRef{Schema: "public", Name: name} }

const strange = "a `strange` näme; DROP TABLE kinds"

// kinds are the columns of all types, and how they are shown. The server's values are as the expressions for the types
// return them.
var kinds = []struct {
	column [3]string
	kind   connection.Type
	values [3]*string
	shown  [3]*string // if they are others
}{
	{column: [3]string{"id", "bigint", "NO"}, kind: connection.Integer,
		values: [3]*string{text("1"), text("2"), text("9223372036854775807")}},
	{column: [3]string{"name", "string", "YES"}, kind: connection.Text,
		values: [3]*string{text("Ada"), text(strings.Repeat("é", connection.MaxCell)), text("tab\t\"quote\"")}},
	{column: [3]string{"born", "date", "YES"}, kind: connection.Date,
		values: [3]*string{text("1815-12-10"), text("9999-12-31"), nil}},
	{column: [3]string{"price", "decimal(10,2)", "YES"}, kind: connection.Number,
		values: [3]*string{text("12.50"), nil, text("-1.00")}},
	{column: [3]string{"rate", "double", "YES"}, kind: connection.Number,
		values: [3]*string{text("0.5"), nil, text("NaN")}},
	{column: [3]string{"sold", "boolean", "YES"}, kind: connection.Boolean,
		values: [3]*string{text("true"), nil, text("false")}},
	{column: [3]string{"at", "timestamp", "YES"}, kind: connection.DateTime,
		values: [3]*string{text("1767323045123456"), nil, text("-62135596800000000")},
		shown:  [3]*string{text("2026-01-02 03:04:05.123456 UTC"), nil, text("0001-01-01 00:00:00 UTC")}},
	{column: [3]string{"there", "timestamp_ntz", "YES"}, kind: connection.DateTime,
		values: [3]*string{text("2026-01-02 03:04:05"), nil, nil}},
	{column: [3]string{"raw", "binary", "YES"}, kind: connection.Text,
		values: [3]*string{text("0x00ff"), nil, text("0x")}},
	{column: [3]string{"tags", "array<string>", "YES"}, kind: connection.JSON,
		values: [3]*string{text(`["x","y"]`), nil, text("[]")}},
	{column: [3]string{"sizes", "map<string,int>", "YES"}, kind: connection.JSON,
		values: [3]*string{text(`{"s":1}`), nil, text("{}")}},
	{column: [3]string{"line", "struct<n:int,at:timestamp>", "YES"}, kind: connection.JSON,
		values: [3]*string{text(`{"n":1}`), nil, text("{}")}},
	{column: [3]string{"doc", "variant", "YES"}, kind: connection.JSON,
		values: [3]*string{text(`{"a":1}`), nil, text("null")}},
	{column: [3]string{"span", "interval day to second", "YES"}, kind: connection.Text,
		values: [3]*string{text("INTERVAL '1 00:00:00' DAY TO SECOND"), nil, nil}},
}

// started is the server that was started last.
var started atomic.Pointer[fixture.Databricks]

// newServer holds the suite's sample.
func newServer(t *testing.T, authority *fixture.Authority) *fixture.Databricks {
	t.Helper()
	d := fixture.NewDatabricks(t, authority.ServerTLS(t, "127.0.0.1"))
	started.Store(d)
	id := [][3]string{{"id", "bigint", "YES"}}
	all := fixture.DatabricksTable{Schema: "public", Name: "kinds", Type: "MANAGED", Values: make([][]*string, 3)}
	for _, k := range kinds {
		all.Columns = append(all.Columns, k.column)
		for i := range all.Values {
			all.Values[i] = append(all.Values[i], k.values[i])
		}
	}
	wide := fixture.DatabricksTable{Schema: "public", Name: "wide", Type: "EXTERNAL", Values: make([][]*string, 1)}
	for i := range connection.MaxColumns + 50 {
		wide.Columns = append(wide.Columns, [3]string{fmt.Sprintf("c%d", i), "string", "YES"})
		wide.Values[0] = append(wide.Values[0], text(strings.Repeat(strconv.Itoa(i%10), 300)))
	}
	view := func(name string, change func(*fixture.DatabricksTable)) fixture.DatabricksTable {
		v := fixture.DatabricksTable{Schema: "public", Name: name, Type: "VIEW", Columns: id}
		change(&v)
		return v
	}
	fails := func(name, state string) fixture.DatabricksTable {
		return view(name, func(v *fixture.DatabricksTable) { v.State = state })
	}
	d.Catalogs["shop-1"] = []fixture.DatabricksTable{
		wide, all,
		{Schema: "public", Name: strange, Type: "MANAGED", Columns: [][3]string{{"a `col`, b :x", "string", "YES"}},
			Values: [][]*string{{text("here")}}},
		{Schema: "public", Name: "empty", Type: "MANAGED", Columns: id},
		{Schema: "public", Name: "kept", Type: "MATERIALIZED_VIEW", Columns: id},
		{Schema: "public", Name: "afar", Type: "FOREIGN", Columns: id},
		{Schema: "other", Name: "kinds", Type: "VIEW", Columns: id},
		fails("divided", "22012"), fails("closed", "42501"), fails("leads_nowhere", "42P01"), fails("lost", "KD001"),
		view("overflown", func(v *fixture.DatabricksTable) { v.State, v.Message = "22003", true }),
		view("large", func(v *fixture.DatabricksTable) { v.Large = true }),
		view("slow", func(v *fixture.DatabricksTable) {
			v.Slow, v.Columns = true, [][3]string{{"never", "bigint", "YES"}}
		}),
	}
	d.Catalogs["closed"] = nil
	user := func(name string, change func(*fixture.DatabricksUser)) {
		u := &fixture.DatabricksUser{Name: name + "@example.com", Catalogs: []string{"shop-1"},
			Grants: []string{"SELECT", "USE_CATALOG", "USE SCHEMA"}}
		change(u)
		d.Users[tokenOf(name)] = u
	}
	user("reader", func(*fixture.DatabricksUser) {})
	user("writer", func(u *fixture.DatabricksUser) { u.Grants = append(u.Grants, "MODIFY") })
	user("closed", func(u *fixture.DatabricksUser) { u.Closed = true })
	user("cold", func(u *fixture.DatabricksUser) { u.Cold = true })
	user("odd", func(u *fixture.DatabricksUser) { u.Fails, u.Error = [2]string{"FAILED"}, [2]string{"UNKNOWN"} })
	user("new", func(u *fixture.DatabricksUser) {
		u.Fails, u.Error = [2]string{"FAILED", "42883"}, [2]string{"BAD_REQUEST"}
	})
	for name, f := range map[string]fixture.DatabricksUser{
		"lapsed": {Status: 401, Code: "UNAUTHENTICATED"}, "barred": {Status: 403, Code: "CUSTOMER_UNAUTHORIZED"},
		"crowded": {Status: 429, Code: "REQUEST_LIMIT_EXCEEDED"},
		"early":   {Status: 503, Code: "TEMPORARILY_UNAVAILABLE"},
		"spent":   {Status: 400, Code: "QUOTA_EXCEEDED"}, "confused": {Status: 418, Code: "SOMETHING_NEW"},
	} {
		user(name, func(u *fixture.DatabricksUser) { u.Status, u.Code = f.Status, f.Code })
	}
	d.Clients["6a7b8c9d:"+warehouses.Canary+"&="] = tokenOf("reader")
	return d
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
	return target(t, port, map[string]any{"host": fmt.Sprintf("%s.port-%d-x", host, port)})
}

// as is the target of a user.
func as(name string, changes map[string]any) func(*testing.T) ports.Target {
	return func(t *testing.T) ports.Target {
		all := map[string]any{"access_token": tokenOf(name)}
		maps.Copy(all, changes)
		return target(t, serve(t, hosted.Authority), all)
	}
}

// program is the target of a service principal.
func program(secret string) func(*testing.T) ports.Target {
	return as("", map[string]any{"access_token": nil, "client_id": "6a7b8c9d", "client_secret": secret})
}

func harness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	table := func(name string, kind connection.TableKind) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: -1}
	}
	return warehouses.Harness{
		Kind: databricks.Kind, Open: open, Reader: as("reader", nil), Writer: as("writer", nil),
		Tables: []connection.Table{
			{TableRef: connection.TableRef{Schema: "other", Name: "kinds"}, Kind: connection.View, RowEstimate: -1},
			table(strange, connection.BaseTable), table("afar", connection.ExternalTable),
			table("closed", connection.View), table("divided", connection.View),
			table("empty", connection.BaseTable), table("kept", connection.MaterializedView),
			table("kinds", connection.BaseTable), table("large", connection.View),
			table("leads_nowhere", connection.View), table("lost", connection.View),
			table("overflown", connection.View), table("slow", connection.View), table("wide", connection.BaseTable),
		},
		Previews: previews(),
		Failures: failures(),
		Never: map[connection.Code]string{
			connection.TLSExpired:         "all kinds verify certificates by the same code; PostgreSQL stages it",
			connection.BackendUnreachable: "only PostgreSQL's poolers tell",
			connection.PoolingUnsupported: "only PostgreSQL's poolers have modes",
			connection.TLSUnsupported:     "all workspaces have TLS: what has none is another server",
			connection.TLSRequired:        "TLS is always used",
		},
		Slow:     ref("slow"),
		SlowRuns: func(*testing.T) bool { return started.Load().Running() > 0 },
	}
}

func previews() map[connection.TableRef]connection.Preview {
	all := connection.Preview{Rows: make([][]*string, 3)}
	for _, k := range kinds {
		all.Columns = append(all.Columns, connection.Column{Name: k.column[0], DatabaseType: k.column[1], Type: k.kind,
			Nullable: k.column[2] == "YES", Unordered: k.kind == connection.JSON ||
				strings.Contains("double, binary, interval day to second", k.column[1])})
		views := k.values
		if k.shown != [3]*string{} {
			views = k.shown
		}
		for i := range all.Rows {
			all.Rows[i] = append(all.Rows[i], views[i])
		}
	}
	return map[connection.TableRef]connection.Preview{
		ref("kinds"): all,
		ref("wide"): warehouses.WidePreview(connection.Column{DatabaseType: "string", Type: connection.Text,
			Nullable: true}),
		ref(strange): {
			Columns: []connection.Column{{Name: "a `col`, b :x", DatabaseType: "string", Type: connection.Text,
				Nullable: true}},
			Rows: [][]*string{{text("here")}},
		},
		ref("empty"): {Columns: []connection.Column{{Name: "id", DatabaseType: "bigint", Type: connection.Integer,
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
	call := func(targetOf func(*testing.T) ports.Target) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			changedTarget := targetOf(t)
			changedTarget.Limits.Statement = time.Second
			return changedTarget
		}
	}
	path := func(id string) func(*testing.T) ports.Target {
		return as("reader", map[string]any{"http_path": "/sql/1.0/warehouses/" + id})
	}
	return slices.Concat(hosted.Unreached(serve, targetAt), []warehouses.Failure{
		{Name: "a token that there is not", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: as("nobody", nil)},
		{Name: "a token that has expired", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: as("lapsed", nil)},
		{Name: "a service principal with another secret", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: program("other")},
		{Name: "a workspace that refuses its customer", Code: connection.AuthRejected, Step: connection.Authenticate,
			Target: as("barred", nil)},
		{Name: "a user who may not use the warehouse", Code: connection.PermissionDenied, Step: connection.Database,
			Target: as("closed", nil)},
		{Name: "an unknown warehouse", Code: connection.DatabaseNotFound, Step: connection.Database,
			Target: path("a1b2c3d4e5f60719")},
		{Name: "a warehouse whose name cannot be one", Code: connection.DatabaseNotFound, Step: connection.Database,
			Target: path("x")},
		{Name: "a warehouse that is starting", Code: connection.ServerStarting, Step: connection.Database,
			Target: call(as("cold", nil))},
		{Name: "an unknown catalog", Code: connection.DatabaseNotFound, Step: connection.Database,
			Target: as("reader", map[string]any{"catalog": "nothing"})},
		{Name: "a catalog that the user may not use", Code: connection.DatabaseDeniedOrMissing,
			Step: connection.Database, Target: as("reader", map[string]any{"catalog": "closed"})},
		{Name: "a view that the user may not read", Code: connection.PermissionDenied, Target: reads,
			Call: preview("closed")},
		{Name: "a view of a dropped table", Code: connection.TableNotFound, Target: reads,
			Call: preview("leads_nowhere")},
		{Name: "a table that there is not", Code: connection.TableNotFound, Target: reads, Call: preview("nothing")},
		{Name: "a table in other letters", Code: connection.TableNotFound, Target: reads, Call: preview("Kinds")},
		{Name: "a table of the catalogue", Code: connection.TableNotFound, Target: reads,
			Call: func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
				_, err := w.Preview(ctx, target, connection.PreviewQuery{
					Table: connection.TableRef{Schema: "information_schema", Name: "tables"}, Rows: 1})
				return err
			}},
		{Name: "a view that divides by zero", Code: connection.TableUnreadable, State: "22012", Target: reads,
			Call: preview("divided")},
		{Name: "a view whose error has its SQLSTATE only in the message", Code: connection.TableUnreadable,
			State: "22003", Target: reads, Call: preview("overflown")},
		{Name: "a table whose files are gone", Code: connection.TableUnreadable, State: "KD001", Target: reads,
			Call: preview("lost")},
		{Name: "a view that takes too long", Code: connection.QueryTimeout, Target: call(reads), Call: preview("slow")},
		{Name: "a result above the server's limit", Code: connection.ResponseTooLarge, Target: reads,
			Call: preview("large")},
		{Name: "an answer that is larger than allowed", Code: connection.ResponseTooLarge,
			Target: func(t *testing.T) ports.Target {
				target := reads(t)
				target.Limits.Bytes = 32 << 10
				return target
			}, Call: preview("wide")},
		{Name: "a workspace whose quota is spent", Code: connection.QuotaExceeded, Step: connection.Authenticate,
			Target: as("spent", nil)},
		{Name: "a workspace with too much to do", Code: connection.TooManyConnections, Step: connection.Authenticate,
			Target: as("crowded", nil)},
		{Name: "a service that is not ready", Code: connection.ServerStarting, Step: connection.Authenticate,
			Target: as("early", nil)},
		{Name: "a warehouse that does not know our functions", Code: connection.UnsupportedVersion,
			Step: connection.Database, Target: as("new", nil)},
		{Name: "an unknown error", Code: connection.Internal, Step: connection.Authenticate,
			Target: as("confused", nil)},
		{Name: "an unknown error of a statement", Code: connection.Internal, Step: connection.Database,
			Target: as("odd", nil)},
	})
}

func TestWarehouse(t *testing.T) { warehouses.Warehouse(t, harness(hosted.Direct)) }

func TestWarehouseThroughTheChild(t *testing.T) { warehouses.Warehouse(t, harness(hosted.Confined)) }

func TestAServicePrincipalSignsInWithItsSecret(t *testing.T) {
	r := hosted.Direct(t).Probe(t.Context(), program(warehouses.Canary+"&=")(t))
	if r.Failure() != "" || r.Server.Product != "Databricks SQL" || r.Server.Version != "2026.30" {
		t.Errorf("%+v", r)
	}
}

func TestAStatementThatIsGivenUpIsCancelled(t *testing.T) {
	target := as("reader", nil)(t)
	target.Limits.Statement = 100 * time.Millisecond
	_, err := hosted.Direct(t).Preview(t.Context(), target, connection.PreviewQuery{Table: ref("slow"), Rows: 1})
	if n := started.Load().Running(); n != 0 || (err != nil && !errors.Is(err, connection.QueryTimeout)) {
		t.Errorf("%d statements run, error = %v", n, err)
	}
}

func TestACredentialNamesAWorkspaceAndOneWayToSignIn(t *testing.T) {
	if host, port := databricks.ServerOf("dbc-1.cloud.databricks.com."); host != "dbc-1.cloud.databricks.com" ||
		port != 443 {
		t.Errorf("a workspace is at %s:%d", host, port)
	}
	for name, tt := range map[string]struct {
		fields map[string]string
		wrong  []string
	}{
		"a token":                   {map[string]string{"access_token": "x"}, nil},
		"a client":                  {map[string]string{"client_id": "x", "client_secret": "y"}, nil},
		"an old path":               {map[string]string{"access_token": "x", "http_path": "sql/1.0/endpoints/a1"}, nil},
		"neither":                   {nil, []string{"/credential/access_token"}},
		"a client without a secret": {map[string]string{"client_id": "x"}, []string{"/credential/client_secret"}},
		"a secret without a client": {map[string]string{"access_token": "x", "client_secret": "y"},
			[]string{"/credential/client_secret"}},
		"both": {map[string]string{"client_id": "x", "client_secret": "y", "access_token": "z"},
			[]string{"/credential/access_token"}},
		"a token with a line": {map[string]string{"access_token": "x\r\nHost: y"},
			[]string{"/credential/access_token"}},
		"a path to elsewhere": {map[string]string{"access_token": "x", "http_path": "/api/2.0/x"},
			[]string{"/credential/http_path"}},
		"a path with something": {map[string]string{"access_token": "x", "http_path": "/sql/1.0/warehouses/a/b"},
			[]string{"/credential/http_path"}},
	} {
		fields := map[string]string{"host": "https://dbc-1.cloud.databricks.com/", "catalog": "main",
			"http_path": "/sql/1.0/warehouses/a1b2"}
		maps.Copy(fields, tt.fields)
		body, err := json.Marshal(fields)
		require.NoError(t, err)
		c, err := connection.ParseCredential(databricks.Kind, body)
		var positions []string
		if invalid, ok := errors.AsType[*fault.Error](err); ok {
			for _, f := range invalid.Fields {
				positions = append(positions, f.Pointer)
			}
		}
		if !slices.Equal(positions, tt.wrong) || (err == nil && c.Text("host") != "dbc-1.cloud.databricks.com") {
			t.Errorf("%s: wrong %q, host %q", name, positions, c.Text("host"))
		}
	}
}
