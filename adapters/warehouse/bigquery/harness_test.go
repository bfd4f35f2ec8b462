package bigquery_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/bigquery"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// hosted has a server of the test's in Google's place.
var hosted = warehouses.Hosted{Kind: bigquery.Kind,
	NewAt: func(roots *x509.CertPool, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
		return bigquery.NewAt(func(target ports.Target, end time.Time) warehouse.Network {
			return egress.New(egress.Rules{
				Allow: target.Egress.Allow, Port: func(uint16) bool { return true }, Connect: target.Limits.Connect,
				Deadline: end, Bytes: target.Limits.Bytes, Resolve: lookup,
			})
		}, roots, func(c connection.Credential) (string, uint16) { return warehouses.StandIn(c.Text("project")) })
	}}

func TestMain(m *testing.M) { hosted.Main(m) }

const reader = "reader@acme.iam.gserviceaccount.com"

// keyFile is what Google hands out, for an account. The id of its key is the suite's canary.
func keyFile(t *testing.T, email string) string {
	t.Helper()
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "acme", "private_key_id": warehouses.Canary,
		"private_key":  hosted.KeyPEM(t),
		"client_email": email, "client_id": "1", "auth_uri": "https://accounts.google.com/o/oauth2/auth",
		"token_uri":       "https://127.0.0.2:1/token",
		"universe_domain": "example.com",
	})
	require.NoError(t, err)
	return string(text)
}

// target is the reader's at a server of the test's, with some fields changed.
func target(t *testing.T, port uint16, changes map[string]any) ports.Target {
	t.Helper()
	fields := map[string]any{"project": fmt.Sprintf("port-%d-x", port), "dataset": "shop",
		"service_account_key": keyFile(t, reader)}
	return warehouses.HostTarget(t, bigquery.Kind, fields, changes)
}

func text(s string) *string { return &s }

func ref(name string) connection.TableRef { return connection.TableRef{Schema: "shop", Name: name} }

// strange has all that a name may have which needs quoting; the quote itself is not among it.
const strange = "a strange-näme_1"

const kindsSchema = `[{"name": "id", "type": "INTEGER", "mode": "REQUIRED"}, {"name": "name", "type": "STRING"}, {"name": "price", "type": "NUMERIC", "precision": "10", "scale": "2"},
	{"name": "rate", "type": "FLOAT"}, {"name": "sold", "type": "BOOLEAN"}, {"name": "born", "type": "DATE"}, {"name": "at", "type": "TIMESTAMP"}, {"name": "there", "type": "DATETIME"},
	{"name": "doc", "type": "JSON"}, {"name": "raw", "type": "BYTES"}, {"name": "tags", "type": "STRING", "mode": "REPEATED"}, {"name": "spot", "type": "GEOGRAPHY"},
	{"name": "lines", "type": "RECORD", "mode": "REPEATED", "fields": [{"name": "n", "type": "INTEGER"}, {"name": "at", "type": "TIMESTAMP"}]}]`

// newServer holds the suite's sample.
func newServer(t *testing.T, authority *fixture.Authority) *fixture.BigQuery {
	t.Helper()
	b := fixture.NewBigQuery(t, authority.ServerTLS(t, "127.0.0.1"))
	long, null := strings.Repeat("é", 300), `{"v": null}`
	rows := `[
		{"f": [{"v": "1"}, {"v": "Ada"}, {"v": "12.5"}, {"v": "0.5"}, {"v": "true"}, {"v": "1815-12-10"}, {"v": "1767323045123456"}, {"v": "2026-01-02T03:04:05"},
			{"v": "{\"a\":1}"}, {"v": "AP8="}, {"v": [{"v": "x"}, {"v": "y"}]}, {"v": "POINT(1 2)"}, {"v": [{"v": {"f": [{"v": "1"}, {"v": "0"}]}}]}]},
		{"f": [{"v": "2"}, {"v": "` + long + `"}` + strings.Repeat(", "+null, 8) + `, {"v": []}, ` + null + `, {"v": []}]},
		{"f": [{"v": "9223372036854775807"}, {"v": "tab\t\"quote\""}, {"v": "-1"}, {"v": "NaN"}, {"v": "false"}, {"v": "9999-12-31"}, {"v": "-62135596800000000"}, {"v": "0001-01-01T00:00:00"},
			{"v": "null"}, {"v": ""}, {"v": [{"v": ""}]}, {"v": "POINT(-1 0.5)"}, {"v": [{"v": {"f": [` + null + `, ` + null + `]}}]}]}]`
	var wide, values []string
	for i := range connection.MaxColumns + 50 {
		wide = append(wide, fmt.Sprintf(`{"name": "c%d", "type": "STRING"}`, i))
		values = append(values, fmt.Sprintf(`{"v": "%s"}`, strings.Repeat(strconv.Itoa(i%10), 300)))
	}
	small := fixture.BigQueryTable{Type: "TABLE", Schema: `[{"name": "id", "type": "INTEGER"}]`, Rows: `[]`}
	tableAs := func(change func(*fixture.BigQueryTable)) fixture.BigQueryTable {
		table := small
		change(&table)
		return table
	}
	b.Datasets["shop"] = map[string]fixture.BigQueryTable{
		"kinds": {Type: "TABLE", Schema: kindsSchema, Rows: rows}, "Kinds_2": small, "empty": small,
		"seen":  {Type: "VIEW", Schema: kindsSchema, Rows: rows},
		"kept":  tableAs(func(t *fixture.BigQueryTable) { t.Type = "MATERIALIZED_VIEW" }),
		strange: {Type: "VIEW", Schema: `[{"name": "a col, b", "type": "STRING"}]`, Rows: `[{"f": [{"v": "here"}]}]`},
		"wide": {Type: "TABLE", Schema: "[" + strings.Join(wide, ", ") + "]",
			Rows: `[{"f": [` + strings.Join(values, ", ") + `]}]`},
		"afar":  tableAs(func(t *fixture.BigQueryTable) { t.Type = "EXTERNAL" }),
		"slow":  tableAs(func(t *fixture.BigQueryTable) { t.Type, t.Slow = "VIEW", true }),
		"large": tableAs(func(t *fixture.BigQueryTable) { t.Type, t.Reads = "VIEW", 1<<40 }),
		"guess": tableAs(func(t *fixture.BigQueryTable) { t.Type = "MODEL" }),
	}
	b.Datasets["closed"] = map[string]fixture.BigQueryTable{"what_is_not_read": small}
	account := func(name string, change func(*fixture.BigQueryAccount)) {
		a := &fixture.BigQueryAccount{Key: &hosted.Key.PublicKey, Datasets: []string{"shop"}}
		change(a)
		b.Accounts[name+"@acme.iam.gserviceaccount.com"] = a
	}
	account("reader", func(*fixture.BigQueryAccount) {})
	account("writer", func(a *fixture.BigQueryAccount) { a.Writes = true })
	account("disabled", func(a *fixture.BigQueryAccount) { a.Disabled = true })
	account("idle", func(a *fixture.BigQueryAccount) { a.NoJobs = true })
	for name, fails := range map[string]struct {
		reason string
		status int
	}{"off": {"accessNotConfigured", 403}, "spent": {"quotaExceeded", 403}, "unlucky": {"backendError", 503},
		"confused": {"somethingNew", 418}} {
		account(name, func(a *fixture.BigQueryAccount) { a.Fails, a.Status = fails.reason, fails.status })
	}
	return b
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
	return target(t, port, map[string]any{"project": fmt.Sprintf("%s:port-%d-x", host, port)})
}

// as is the target of an account.
func as(name string, changes map[string]any) func(*testing.T) ports.Target {
	return func(t *testing.T) ports.Target {
		all := map[string]any{"service_account_key": keyFile(t, name+"@acme.iam.gserviceaccount.com")}
		maps.Copy(all, changes)
		return target(t, serve(t, hosted.Authority), all)
	}
}

func harness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	table := func(name string, kind connection.TableKind) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: -1}
	}
	return warehouses.Harness{
		Kind: bigquery.Kind, Open: open, Reader: as("reader", nil), Writer: as("writer", nil),
		Tables: []connection.Table{
			table("Kinds_2", connection.BaseTable), table(strange, connection.View),
			table("afar", connection.ExternalTable), table("empty", connection.BaseTable),
			table("kept", connection.MaterializedView), table("kinds", connection.BaseTable),
			table("large", connection.View), table("seen", connection.View),
			table("slow", connection.View), table("wide", connection.BaseTable),
		},
		Previews: previews(),
		Failures: failures(),
		Never: map[connection.Code]string{
			connection.TLSExpired:         "all kinds verify certificates by the same code; PostgreSQL stages it",
			connection.BackendUnreachable: "only PostgreSQL's poolers tell",
			connection.PoolingUnsupported: "only PostgreSQL's poolers have modes",
			connection.TLSUnsupported:     "the host is Google's, which has TLS: what has none is another server",
			connection.TLSRequired:        "TLS is always used",
			connection.TooManyConnections: "the API has quotas in its place",
			connection.TableUnreadable:    "the API has one reason for all errors of a view",
			connection.UnsupportedVersion: "version 2 of the API is the only one",
		},
	}
}

func previews() map[connection.TableRef]connection.Preview {
	var wide connection.Preview
	row := make([]*string, connection.MaxColumns)
	for i := range connection.MaxColumns {
		wide.Columns = append(wide.Columns, connection.Column{Name: fmt.Sprintf("c%d", i), DatabaseType: "STRING",
			Type: connection.Text, Nullable: true})
		row[i] = text(strings.Repeat(strconv.Itoa(i%10), connection.MaxCell))
	}
	wide.Rows, wide.Total, wide.Truncated = [][]*string{row}, warehouses.WideColumns, true
	kinds := connection.Preview{
		Columns: []connection.Column{
			{Name: "id", DatabaseType: "INT64", Type: connection.Integer},
			{Name: "name", DatabaseType: "STRING", Type: connection.Text, Nullable: true},
			{Name: "price", DatabaseType: "NUMERIC(10, 2)", Type: connection.Number, Nullable: true},
			{Name: "rate", DatabaseType: "FLOAT64", Type: connection.Number, Nullable: true, Unordered: true},
			{Name: "sold", DatabaseType: "BOOL", Type: connection.Boolean, Nullable: true},
			{Name: "born", DatabaseType: "DATE", Type: connection.Date, Nullable: true},
			{Name: "at", DatabaseType: "TIMESTAMP", Type: connection.DateTime, Nullable: true},
			{Name: "there", DatabaseType: "DATETIME", Type: connection.DateTime, Nullable: true},
			{Name: "doc", DatabaseType: "JSON", Type: connection.JSON, Nullable: true, Unordered: true},
			{Name: "raw", DatabaseType: "BYTES", Type: connection.Text, Nullable: true, Unordered: true},
			{Name: "tags", DatabaseType: "ARRAY<STRING>", Type: connection.JSON, Unordered: true},
			{Name: "spot", DatabaseType: "GEOGRAPHY", Type: connection.Text, Nullable: true, Unordered: true},
			{Name: "lines", DatabaseType: "ARRAY<STRUCT>", Type: connection.JSON, Unordered: true},
		},
		Rows: [][]*string{
			{text("1"), text("Ada"), text("12.5"), text("0.5"), text("true"), text("1815-12-10"),
				text("2026-01-02 03:04:05.123456 UTC"), text("2026-01-02T03:04:05"),
				text(`{"a":1}`), text("0x00ff"), text(`["x","y"]`), text("POINT(1 2)"),
				text(`[{"at":"1970-01-01 00:00:00 UTC","n":1}]`)},
			{text("2"), text(strings.Repeat("é", connection.MaxCell)), nil, nil, nil, nil, nil, nil, nil, nil,
				text("[]"), nil, text("[]")},
			{text("9223372036854775807"), text("tab\t\"quote\""), text("-1"), text("NaN"), text("false"),
				text("9999-12-31"), text("0001-01-01 00:00:00 UTC"), text("0001-01-01T00:00:00"),
				text("null"), text("0x"), text(`[""]`), text("POINT(-1 0.5)"), text(`[{"at":null,"n":null}]`)},
		},
	}
	return map[connection.TableRef]connection.Preview{
		ref("kinds"): kinds,
		ref("seen"):  kinds,
		ref(strange): {
			Columns: []connection.Column{{Name: "a col, b", DatabaseType: "STRING", Type: connection.Text,
				Nullable: true}},
			Rows: [][]*string{{text("here")}},
		},
		ref("empty"): {
			Columns: []connection.Column{{Name: "id", DatabaseType: "INT64", Type: connection.Integer,
				Nullable: true}}},
		ref("wide"): wide,
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
		{Name: "an account that does not exist", Code: connection.AuthFailed, Step: connection.Authenticate,
			Target: as("nobody", nil)},
		{Name: "an account that may have no token", Code: connection.AuthRejected, Step: connection.Authenticate,
			Target: as("disabled", nil)},
		{Name: "a project whose API is off", Code: connection.AuthRejected, Step: connection.Authenticate,
			Target: as("off", nil)},
		{Name: "an unknown dataset", Code: connection.DatabaseNotFound, Step: connection.Database,
			Target: as("reader", map[string]any{"dataset": "nothing"})},
		{Name: "a dataset that the account may not use", Code: connection.DatabaseDeniedOrMissing,
			Step: connection.Database, Target: as("reader", map[string]any{"dataset": "closed"})},
		{Name: "an account that may not run statements", Code: connection.PermissionDenied, Step: connection.Read,
			Target: as("idle", nil)},
		{Name: "a view, for an account that may not run statements", Code: connection.PermissionDenied,
			Target: as("idle", nil), Call: preview("seen")},
		{Name: "a table that there is not", Code: connection.TableNotFound, Target: reads, Call: preview("nothing")},
		{Name: "a table in other letters", Code: connection.TableNotFound, Target: reads, Call: preview("Kinds")},
		{Name: "a model", Code: connection.TableNotFound, Target: reads, Call: preview("guess")},
		{Name: "a table as it was", Code: connection.TableNotFound, Target: reads, Call: preview("kinds$20260101")},
		{Name: "a table above", Code: connection.TableNotFound, Target: reads,
			Call: preview("../../closed/tables/what_is_not_read")},
		{Name: "a view that takes too long", Code: connection.QueryTimeout, Target: reads, Call: preview("slow")},
		{Name: "a view that reads more than a preview may cost", Code: connection.ResponseTooLarge, Target: reads,
			Call: preview("large")},
		{Name: "an answer that is larger than allowed", Code: connection.ResponseTooLarge,
			Target: func(t *testing.T) ports.Target {
				target := reads(t)
				target.Limits.Bytes = 32 << 10
				return target
			}, Call: preview("wide")},
		{Name: "a project without quota left", Code: connection.QuotaExceeded, Step: connection.Database,
			Target: as("spent", nil)},
		{Name: "a service that fails", Code: connection.ServerStarting, Step: connection.Database,
			Target: as("unlucky", nil)},
		{Name: "an unknown error", Code: connection.Internal, Step: connection.Database, Target: as("confused", nil)},
	})
}

func TestWarehouse(t *testing.T) { warehouses.Warehouse(t, harness(hosted.Direct)) }

func TestWarehouseThroughTheChild(t *testing.T) { warehouses.Warehouse(t, harness(hosted.Confined)) }

func TestACredentialDoesNotSayWhereGoogleIs(t *testing.T) {
	elsewhere := fixture.NewProxy(t, "127.0.0.1:1")
	target := as("reader", map[string]any{"service_account_key": strings.ReplaceAll(keyFile(t, reader), "127.0.0.2:1",
		elsewhere.Addr())})(t)
	if r := hosted.Direct(t).Probe(t.Context(), target); r.Failure() != "" || elsewhere.Accepted() != 0 {
		t.Errorf("failure = %q, and the address in the key was asked %d times", r.Failure(), elsewhere.Accepted())
	}
	api, token, ports := bigquery.Servers()
	if api != "bigquery.googleapis.com" || token != "oauth2.googleapis.com" || ports[0] != 443 || ports[1] != 443 {
		t.Errorf("calls go to %s and %s, ports %d", api, token, ports)
	}
}
