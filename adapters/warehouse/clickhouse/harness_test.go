package clickhouse_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/clickhouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

func guard(target ports.Target, end time.Time) warehouse.Network {
	return egress.New(egress.Rules{Allow: target.Egress.Allow, Port: target.Credential.AllowsPort,
		Connect:  target.Limits.Connect,
		Deadline: end, Bytes: target.Limits.Bytes})
}

func direct(*testing.T) ports.Warehouse { return clickhouse.New(guard) }

func text(s string) *string { return &s }

func ref(name string) connection.TableRef { return connection.TableRef{Schema: "shop", Name: name} }

const strange = "a `strange` name; DROP TABLE shop.kinds"

func harness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	table := func(name string, kind connection.TableKind, rows int64) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: rows}
	}
	call := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return shared(t).target(t, changes) }
	}
	return warehouses.Harness{
		Kind: connection.ClickHouse, Open: open, Reader: call(nil), Writer: call(map[string]any{"username": "writer"}),
		Tables: []connection.Table{
			table("Kinds_2", connection.BaseTable, -1),
			table(strange, connection.BaseTable, -1),
			table("afar", connection.ExternalTable, -1),
			table("bad_cast", connection.View, -1),
			table("beyond", connection.View, -1),
			table("empty", connection.BaseTable, 0),
			table("kept", connection.MaterializedView, -1),
			table("kinds", connection.BaseTable, 3),
			table("leads_nowhere", connection.BaseTable, -1),
			table("seen", connection.View, -1),
			table("slow", connection.View, -1),
			table("wide", connection.BaseTable, -1),
		},
		Previews: previews(),
		Failures: failures(call),
		Never: map[connection.Code]string{
			connection.TLSExpired:         "all kinds verify certificates by the same code; PostgreSQL stages it",
			connection.BackendUnreachable: "only PostgreSQL's poolers tell",
			connection.PoolingUnsupported: "only PostgreSQL's poolers have modes",
			connection.ServerStarting: "ClickHouse does not listen before it is ready and after it is told to " +
				"stop; a scripted server stages the proxy in front of it",
			connection.UnsupportedVersion: "18.16 is the oldest that is supported, and reads all our statements; a " +
				"scripted server stages it",
			connection.Internal: "it means a bug of ours; a scripted server sends an unknown error",
		},
		Slow: ref("slow"),
		SlowRuns: func(t *testing.T) bool {
			text, err := shared(t).ask(`SELECT count() FROM system.processes WHERE user = 'reader'
				AND positionUTF8(query, 'slow') > 0`)
			require.NoError(t, err)
			return text != "0"
		},
		Sessions: func(t *testing.T) int {
			text, err := shared(t).ask(`SELECT count() FROM system.processes WHERE user = 'reader'`)
			require.NoError(t, err)
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			return n
		},
	}
}

func previews() map[connection.TableRef]connection.Preview {
	return map[connection.TableRef]connection.Preview{
		ref("kinds"): {
			Columns: []connection.Column{
				{Name: "id", DatabaseType: "UInt64", Type: connection.Integer},
				{Name: "name", DatabaseType: "String", Type: connection.Text},
				{Name: "price", DatabaseType: "Nullable(Decimal(10, 2))", Type: connection.Number, Nullable: true},
				{Name: "rate", DatabaseType: "Nullable(Float64)", Type: connection.Number, Nullable: true},
				{Name: "sold", DatabaseType: "Nullable(UInt8)", Type: connection.Integer, Nullable: true},
				{Name: "born", DatabaseType: "Date", Type: connection.Date},
				{Name: "at", DatabaseType: "DateTime('UTC')", Type: connection.DateTime},
				{Name: "tags", DatabaseType: "Array(String)", Type: connection.JSON, Unordered: true},
				{Name: "key", DatabaseType: "UUID", Type: connection.Text},
				{Name: "size", DatabaseType: "Enum8('small' = 1, 'large' = 2)", Type: connection.Text},
				{Name: "raw", DatabaseType: "FixedString(4)", Type: connection.Text},
				{Name: "pair", DatabaseType: "Tuple(Int32, String)", Type: connection.JSON, Unordered: true},
				{Name: "lines.n", DatabaseType: "Array(Int8)", Type: connection.JSON, Unordered: true},
				{Name: "lines.what", DatabaseType: "Array(String)", Type: connection.JSON, Unordered: true},
				{Name: "total", DatabaseType: "AggregateFunction(sum, UInt64)", Type: connection.Text, Unordered: true},
			},
			Rows: [][]*string{
				{text("1"), text("Ada"), text("12.50"), text("0.5"), text("1"), text("2015-12-10"),
					text("2026-01-02 03:04:05"), text(`["x","y"]`),
					text("61f0c404-5cb3-11e7-907b-a6006ad3dba0"), text("small"), text("ab"), text(`[1,"q"]`),
					text("[1,2]"), text(`["a","b"]`), text("1")},
				{text("2"), text(strings.Repeat("é", connection.MaxCell)), nil, nil, nil, text("0000-00-00"),
					text("0000-00-00 00:00:00"), text("[]"),
					text("00000000-0000-0000-0000-000000000000"), text("large"), text(""), text(`[0,""]`), text("[]"),
					text("[]"), text("1")},
				{text("18446744073709551615"), text("tab\t\"quote\" 's' \\ \uFFFD"), text("-1.00"), text("nan"),
					text("0"), text("2038-01-19"), text("2038-01-19 03:14:07"), text(`["it's"]`),
					text("61f0c404-5cb3-11e7-907b-a6006ad3dba0"), text("small"), text("abcd"), text(`[-1,""]`),
					text("[-1]"), text(`[""]`), text("1")},
			},
		},
		ref(strange): {
			Columns: []connection.Column{{Name: "a `col`, b?", DatabaseType: "String", Type: connection.Text}},
			Rows:    [][]*string{{text("here")}},
		},
		ref("empty"): {Columns: []connection.Column{{Name: "id", DatabaseType: "Int32", Type: connection.Integer}}},
		ref("wide"):  warehouses.WidePreview(connection.Column{DatabaseType: "String", Type: connection.Text}),
	}
}

func TestWarehouse(t *testing.T) { warehouses.Warehouse(t, harness(direct)) }

// TestAUserWhoMayChooseNoSettingReadsAllTheSame is about readonly = 1, which refuses our limits.
func TestAUserWhoMayChooseNoSettingReadsAllTheSame(t *testing.T) {
	target, w := shared(t).target(t, map[string]any{"username": "locked"}), direct(t)
	if r := w.Probe(t.Context(), target); r.Failure() != "" || r.Server.CanWrite {
		t.Errorf("probe: %+v", r)
	}
	if p, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref("kinds"), Rows: 1}); err != nil ||
		len(p.Rows) != 1 {
		t.Errorf("preview: %+v, %v", p, err)
	}
}

// TestTheServerEndsAStatementThatTakesTooLong checks that the server enforces the limit. Otherwise it would
// go on working long after the call has ended.
func TestTheServerEndsAStatementThatTakesTooLong(t *testing.T) {
	s := shared(t)
	target := s.target(t, nil)
	target.Limits.Statement, target.Limits.Total = time.Second, proof.Patience
	err := warehouses.Sampled(direct(t).Preview(t.Context(), target,
		connection.PreviewQuery{Table: ref("slow"), Rows: 1}))
	assert.ErrorIs(t, err, connection.QueryTimeout)
	proof.Eventually(t, "the server has stopped", func() bool {
		n, err := s.ask(`SELECT count() FROM system.processes WHERE user = 'reader'`)
		require.NoError(t, err)
		return n == "0"
	})
}
