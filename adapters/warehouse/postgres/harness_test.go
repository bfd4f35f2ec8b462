package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func guard(target ports.Target, end time.Time) warehouse.Network {
	return egress.New(egress.Rules{Allow: target.Egress.Allow, Port: target.Credential.AllowsPort,
		Connect:  target.Limits.Connect,
		Deadline: end, Bytes: target.Limits.Bytes})
}

func direct(*testing.T) ports.Warehouse { return postgres.New(guard) }

// target is the reader's, with some fields changed; a nil value takes one out.
func (s *server) target(t *testing.T, changes map[string]any) ports.Target {
	t.Helper()
	return warehouses.HostTarget(t, connection.Postgres, map[string]any{
		"host": "127.0.0.1", "port": s.port, "database": "postgres", "username": "reader",
		"password": warehouses.Canary,
		"tls":      "verify_full", "tls_ca": s.authority.PEM,
	}, changes)
}

func text(s string) *string { return &s }

func ref(name string) connection.TableRef { return connection.TableRef{Schema: "shop", Name: name} }

const strange = `a "strange" name; DROP TABLE shop.kinds`

func harness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	table := func(name string, kind connection.TableKind, rows int64) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: rows}
	}
	call := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return shared(t).target(t, changes) }
	}
	unreadable := func(name, table, state string) warehouses.Failure {
		return warehouses.Failure{Name: name, Code: connection.TableUnreadable, State: state, Target: call(nil),
			Call: warehouses.Previewing(ref(table))}
	}
	return warehouses.Harness{
		Kind: connection.Postgres, Open: open, Reader: call(nil), Writer: call(map[string]any{"username": "writer"}),
		Tables: []connection.Table{
			table(strange, connection.BaseTable, warehouses.UnknownRows),
			table("afar", connection.ExternalTable, -1),
			table("away", connection.ExternalTable, -1),
			table("bad_cast", connection.View, -1),
			table("costly", connection.View, -1),
			table("divided", connection.View, -1),
			table("empty", connection.BaseTable, warehouses.UnknownRows),
			table("half", connection.BaseTable, warehouses.UnknownRows),
			table("kinds", connection.BaseTable, 3),
			table("looked", connection.View, -1),
			table("lost", connection.View, -1),
			table("parts", connection.BaseTable, warehouses.UnknownRows),
			table("refusing", connection.View, -1),
			table("refusing_ours", connection.View, -1),
			table("seen", connection.View, -1),
			table("slow", connection.View, -1),
			table("stored", connection.MaterializedView, warehouses.UnknownRows),
			table("unfilled", connection.MaterializedView, warehouses.UnknownRows),
			table("wide", connection.BaseTable, warehouses.UnknownRows),
			table("writing", connection.View, -1),
		},
		Previews: map[connection.TableRef]connection.Preview{
			ref("kinds"): {
				Columns: []connection.Column{
					{Name: "id", DatabaseType: "bigint", Type: connection.Integer},
					{Name: "name", DatabaseType: "text", Type: connection.Text},
					{Name: "price", DatabaseType: "numeric(10,2)", Type: connection.Number, Nullable: true},
					{Name: "rate", DatabaseType: "double precision", Type: connection.Number, Nullable: true},
					{Name: "sold", DatabaseType: "boolean", Type: connection.Boolean, Nullable: true},
					{Name: "born", DatabaseType: "date", Type: connection.Date, Nullable: true},
					{Name: "at", DatabaseType: "timestamp with time zone", Type: connection.DateTime, Nullable: true},
					{Name: "doc", DatabaseType: "jsonb", Type: connection.JSON, Nullable: true},
					{Name: "raw", DatabaseType: "bytea", Type: connection.Text, Nullable: true},
					{Name: "tags", DatabaseType: "text[]", Type: connection.JSON, Nullable: true},
					{Name: "grade", DatabaseType: "shop.grade", Type: connection.Integer, Nullable: true},
					{Name: "code", DatabaseType: "character varying(10)", Type: connection.Text, Nullable: true},
				},
				Rows: [][]*string{
					{text("1"), text("Ada"), text("12.50"), text("0.5"), text("true"), text("1815-12-10"),
						text("2026-01-02 03:04:05+00"),
						text(`{"a": 1}`), text(`\x00ff`), text(`["x","y"]`), text("7"), text("a")},
					{text("2"), text(strings.Repeat("é", connection.MaxCell)), nil, nil, nil, nil, nil, nil, nil,
						nil, nil, nil},
					{text("3"), text("tab\t\"quote\""), text("-1.00"), text("1e+300"), text("false"),
						text("0044-03-15 BC"), text("infinity"),
						text("null"), text(`\x`), text("[]"), text("0"), text("")},
				},
			},
			ref(strange): {
				Columns: []connection.Column{{Name: `a "col", b`, DatabaseType: "text", Type: connection.Text,
					Nullable: true}},
				Rows: [][]*string{{text("here")}},
			},
			ref("looked"): { // by functions that find names in the schemas of the role, where functions shadow ours
				Columns: []connection.Column{
					{Name: "one", DatabaseType: "text", Type: connection.Text, Nullable: true},
					{Name: "two", DatabaseType: "text", Type: connection.Text, Nullable: true},
				},
				Rows: [][]*string{{text("Ada"), text("AdaAda")}},
			},
			ref("empty"): {
				Columns: []connection.Column{{Name: "id", DatabaseType: "integer", Type: connection.Integer,
					Nullable: true}}},
			ref("half"): {
				Columns: []connection.Column{{Name: "open", DatabaseType: "text", Type: connection.Text,
					Nullable: true}},
				Rows: [][]*string{{text("o")}},
			},
			ref("wide"): warehouses.WidePreview(connection.Column{DatabaseType: "text", Type: connection.Text,
				Nullable: true}),
		},
		Failures: slices.Concat(warehouses.HostFailures(call), warehouses.WireFailures(call), []warehouses.Failure{
			{Name: "a server without TLS", Code: connection.TLSUnsupported, Step: connection.TLS,
				Target: func(t *testing.T) ports.Target {
					return shared(t).target(t, map[string]any{"port": full(t).port})
				}},
			{Name: "a certificate that has expired", Code: connection.TLSExpired, Step: connection.TLS, Target: expired},
			{Name: "a user who must use TLS", Code: connection.TLSRequired, Step: connection.Authenticate,
				Target: call(map[string]any{"username": "only_tls", "tls": "disable"})},
			{Name: "a user who is rejected by a rule", Code: connection.AuthRejected, Step: connection.Authenticate,
				Target: call(map[string]any{"username": "rejected"})},
			{Name: "a user who is rejected by a rule without TLS", Code: connection.AuthRejected,
				Step:   connection.Authenticate,
				Target: call(map[string]any{"username": "rejected", "tls": "disable"})},
			{Name: "a server that wants the password in the clear", Code: connection.TLSRequired,
				Step:   connection.Authenticate,
				Target: call(map[string]any{"username": "cleartext", "tls": "disable"})},
			{Name: "an unknown database", Code: connection.DatabaseNotFound, Step: connection.Database,
				Target: call(map[string]any{"database": "nothing"})},
			{Name: "a user who may read no table", Code: connection.PermissionDenied, Step: connection.Read,
				Target: call(map[string]any{"username": "stranger"})},
			{Name: "a table that the user may not read", Code: connection.PermissionDenied, Target: call(nil),
				Call: warehouses.Previewing(ref("what_is_not_read"))},
			{Name: "a table that is not there", Code: connection.TableNotFound, Target: call(nil),
				Call: warehouses.Previewing(ref("Kinds"))},
			{Name: "a table of the system", Code: connection.TableNotFound, Target: call(nil),
				Call: warehouses.Previewing(connection.TableRef{Schema: "pg_catalog", Name: "pg_roles"})},
			{Name: "a database without connections", Code: connection.DatabaseDeniedOrMissing,
				Step: connection.Database, Target: call(map[string]any{"database": "without_connections"})},
			unreadable("a view that divides by zero", "divided", "22012"),
			unreadable("a view that casts a text to a number", "bad_cast", "22P02"),
			unreadable("a view whose function raises", "refusing", "P0001"),
			unreadable("a view whose function raises a state of its own", "refusing_ours", "ATR42"),
			unreadable("a view whose function reads a missing table", "lost", "42P01"),
			unreadable("a materialized view without data", "unfilled", "55000"),
			unreadable("a foreign server that does not answer", "away", "08001"),
			unreadable("a foreign table of a missing file", "afar", "58P01"),
			{Name: "a view that writes", Code: connection.TableUnreadable, State: "25006", Target: call(nil),
				Call: func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
					_, err := w.Preview(ctx, target, connection.PreviewQuery{Table: ref("writing"), Rows: 1})
					var n int
					if s, failure := start(); failure != nil ||
						s.admin.QueryRow(`SELECT count(*) FROM shop.written`).Scan(&n) != nil || n != 0 {
						return fmt.Errorf("%d rows were written, %v", n, err)
					}
					return err
				}},
			{Name: "a user without connections left", Code: connection.TooManyConnections,
				Step:   connection.Authenticate,
				Target: call(map[string]any{"username": "crowded"})},
			{Name: "a full server", Code: connection.TooManyConnections, Step: connection.Authenticate,
				Target: fullServer},
			{Name: "a server that is shutting down", Code: connection.ServerStarting, Step: connection.Authenticate,
				Target: endingServer},
			{Name: "a view that takes too long", Code: connection.QueryTimeout,
				Target: func(t *testing.T) ports.Target {
					target := shared(t).target(t, nil)
					target.Limits.Statement = 50 * time.Millisecond
					return target
				}, Call: warehouses.Previewing(ref("slow"))},
			{Name: "an answer that is larger than allowed", Code: connection.ResponseTooLarge,
				Target: func(t *testing.T) ports.Target {
					target := shared(t).target(t, nil)
					target.Limits.Bytes = 16 << 10
					return target
				}, Call: warehouses.Previewing(ref("wide"))},
			{Name: "a limit on temporary files", Code: connection.QuotaExceeded, Target: call(nil),
				Call: warehouses.Previewing(ref("costly"))},
		}, poolerFailures()),
		Never: map[connection.Code]string{
			connection.UnsupportedVersion: "PostgreSQL 15 speaks the protocol's version 3.0; a scripted server " +
				"stages it",
			connection.Internal: "it means a bug of ours",
		},
		Slow: ref("slow"),
		SlowRuns: func(t *testing.T) (runs bool) {
			if err := shared(t).admin.QueryRow(`SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'reader'
				AND state = 'active' AND query LIKE '%slow%'`).Scan(&runs); err != nil {
				t.Fatal(err)
			}
			return runs
		},
		Sessions: func(t *testing.T) int {
			var n int
			if err := shared(t).admin.QueryRow(`SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'`).Scan(
				&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
	}
}

func TestWarehouse(t *testing.T) { warehouses.Warehouse(t, harness(direct)) }
