package mysql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/mysql"
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

func direct(*testing.T) ports.Warehouse { return mysql.New(guard) }

// target is the reader's, with some fields changed; a nil value takes one out.
func (s *server) target(t *testing.T, changes map[string]any) ports.Target {
	t.Helper()
	return warehouses.HostTarget(t, connection.MySQL, map[string]any{
		"host": "127.0.0.1", "port": s.port, "database": "shop", "username": "reader",
		"password": warehouses.Canary,
		"tls":      "verify_full", "tls_ca": s.authority.PEM,
	}, changes)
}

func text(s string) *string { return &s }

func ref(name string) connection.TableRef { return connection.TableRef{Schema: "shop", Name: name} }

const strange = "a `strange` name; DROP TABLE shop.kinds"

// harness leaves the view that writes out of what is listed: within a transaction that cannot, MariaDB
// does not tell its columns.
func harness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	table := func(name string, kind connection.TableKind, rows int64) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: rows}
	}
	target := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return shared(t).target(t, changes) }
	}
	return warehouses.Harness{
		Kind: connection.MySQL, Open: open, Reader: target(nil), Writer: target(map[string]any{"username": "writer"}),
		Tables: []connection.Table{
			table("Kinds_2", connection.BaseTable, warehouses.UnknownRows),
			table(strange, connection.BaseTable, warehouses.UnknownRows),
			table("empty", connection.BaseTable, 0),
			table("half", connection.BaseTable, warehouses.UnknownRows),
			table("kinds", connection.BaseTable, 3),
			table("refusing", connection.View, -1),
			table("seen", connection.View, -1),
			table("several", connection.View, -1),
			table("slow", connection.View, -1),
			table("wide", connection.BaseTable, warehouses.UnknownRows),
		},
		Previews: previews(),
		Failures: failures(target),
		Never: map[connection.Code]string{
			connection.TLSExpired:         "all kinds verify certificates by the same code; PostgreSQL stages it",
			connection.BackendUnreachable: "only PostgreSQL's poolers tell",
			connection.PoolingUnsupported: "only PostgreSQL's poolers have modes",
			connection.ServerStarting: "MariaDB does not listen before it is ready and after it is told to stop; " +
				"a scripted server stages it",
			connection.UnsupportedVersion: "MariaDB 10.11 speaks the protocol that all do; a scripted server stages it",
			connection.Internal:           "it means a bug of ours",
		},
		Slow: ref("slow"),
		SlowRuns: func(t *testing.T) (runs bool) {
			require.NoError(t, shared(t).admin.QueryRow(`SELECT count(*) > 0 FROM information_schema.PROCESSLIST
				WHERE USER = 'reader' AND INFO LIKE '%FROM `+"`shop`.`slow`"+`%'`).Scan(&runs))
			return runs
		},
		Sessions: func(t *testing.T) int {
			var n int
			require.NoError(t, shared(t).admin.QueryRow(`SELECT count(*) FROM information_schema.PROCESSLIST
				WHERE USER = 'reader'`).Scan(&n))
			return n
		},
	}
}

func previews() map[connection.TableRef]connection.Preview {
	return map[connection.TableRef]connection.Preview{
		ref("kinds"): {
			Columns: []connection.Column{
				{Name: "id", DatabaseType: "bigint(20) unsigned", Type: connection.Integer},
				{Name: "name", DatabaseType: "varchar(300)", Type: connection.Text},
				{Name: "price", DatabaseType: "decimal(10,2)", Type: connection.Number, Nullable: true},
				{Name: "rate", DatabaseType: "double", Type: connection.Number, Nullable: true},
				{Name: "sold", DatabaseType: "tinyint(1)", Type: connection.Boolean, Nullable: true},
				{Name: "born", DatabaseType: "date", Type: connection.Date, Nullable: true},
				{Name: "at", DatabaseType: "timestamp", Type: connection.DateTime, Nullable: true},
				{Name: "doc", DatabaseType: "longtext", Type: connection.Text, Nullable: true},
				{Name: "raw", DatabaseType: "blob", Type: connection.Text, Nullable: true},
				{Name: "tags", DatabaseType: "set('x','y')", Type: connection.Text, Nullable: true},
				{Name: "flags", DatabaseType: "bit(4)", Type: connection.Integer, Nullable: true},
				{Name: "spot", DatabaseType: "point", Type: connection.Text, Nullable: true, Unordered: true},
				{Name: "old", DatabaseType: "varchar(10)", Type: connection.Text, Nullable: true},
			},
			Rows: [][]*string{
				{text("1"), text("Ada"), text("12.50"), text("0.5"), text("1"), text("1815-12-10"),
					text("2026-01-02 03:04:05"),
					text(`{"a": 1}`), text("0x00ff"), text("x,y"), text("5"), text("POINT(1 2)"), text("é")},
				{text("2"), text(strings.Repeat("é", connection.MaxCell)), nil, nil, nil, nil, nil, nil, nil, nil,
					nil, nil, nil},
				{text("18446744073709551615"), text("tab\t\"quote\""), text("-1.00"), text("1e300"), text("0"),
					text("0000-00-00"), text("0000-00-00 00:00:00"),
					text("null"), text("0x"), text(""), text("0"), text("POINT(-1 0.5)"), text("")},
			},
		},
		ref(strange): {
			Columns: []connection.Column{{Name: "a `col`, b?", DatabaseType: "text", Type: connection.Text,
				Nullable: true}},
			Rows: [][]*string{{text("here")}},
		},
		ref("empty"): {
			Columns: []connection.Column{{Name: "id", DatabaseType: "int(11)", Type: connection.Integer,
				Nullable: true}}},
		ref("half"): {
			Columns: []connection.Column{{Name: "open", DatabaseType: "text", Type: connection.Text, Nullable: true}},
			Rows:    [][]*string{{text("o")}},
		},
		ref("wide"): warehouses.WidePreview(connection.Column{DatabaseType: "text", Type: connection.Text,
			Nullable: true}),
	}
}

func TestWarehouse(t *testing.T) { warehouses.Warehouse(t, harness(direct)) }

// TestTheServerEndsAStatementThatTakesTooLong checks that the server enforces the limit. Otherwise it would
// go on working long after the call has ended.
func TestTheServerEndsAStatementThatTakesTooLong(t *testing.T) {
	target := shared(t).target(t, nil)
	target.Limits.Statement, target.Limits.Total = 50*time.Millisecond, proof.Patience
	begin := time.Now()
	err := warehouses.Sampled(direct(t).Preview(t.Context(), target,
		connection.PreviewQuery{Table: ref("slow"), Rows: 1}))
	assert.ErrorIs(t, err, connection.QueryTimeout)
	proof.Within(t, "the statement", time.Since(begin), 10*time.Second)
}
