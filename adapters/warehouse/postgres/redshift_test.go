package postgres_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/require"
)

func directRedshift(*testing.T) ports.Warehouse { return postgres.NewRedshift(guard) }

// redshiftTarget is the target of kind at a server.
func redshiftTarget(t *testing.T, s *server, kind connection.Kind, changes map[string]any) ports.Target {
	t.Helper()
	return warehouses.HostTarget(t, kind, map[string]any{
		"host": "127.0.0.1", "port": s.port, "database": "postgres", "username": "reader",
		"password": warehouses.Canary, "tls": "verify_full", "tls_ca": s.authority.PEM,
	}, changes)
}

const redshiftStrange = `a "strange" name; drop table shop.kinds`

func redshiftHarness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	table := func(name string, kind connection.TableKind) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: -1}
	}
	call := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			return redshiftTarget(t, sharedRedshift(t), connection.Redshift, changes)
		}
	}
	unreadable := func(name, table, state string) warehouses.Failure {
		return warehouses.Failure{Name: name, Code: connection.TableUnreadable, State: state, Target: call(nil),
			Call: warehouses.Previewing(ref(table))}
	}
	mixedRef := connection.TableRef{Schema: "Shop", Name: "Mixed"}
	sameWire := "the code for it is that of PostgreSQL, whose tests produce it"
	return warehouses.Harness{
		Kind: connection.Redshift, Open: open, Reader: call(nil), Writer: call(map[string]any{"username": "writer"}),
		Tables: []connection.Table{
			{TableRef: mixedRef, Kind: connection.View, RowEstimate: -1},
			table(redshiftStrange, connection.BaseTable),
			table("divided", connection.View),
			table("empty", connection.BaseTable),
			table("half", connection.BaseTable),
			table("kinds", connection.BaseTable),
			table("late", connection.View),
			table("leading", connection.View),
			table("scanned", connection.View),
			table("slow", connection.View),
			table("wide", connection.BaseTable),
		},
		Previews: redshiftPreviews(mixedRef),
		Failures: slices.Concat(warehouses.HostFailures(call), []warehouses.Failure{
			{Name: "PostgreSQL", Code: connection.NotThisDatabase, Step: connection.Read,
				Target: func(t *testing.T) ports.Target {
					return redshiftTarget(t, shared(t), connection.Redshift, nil)
				}},
			{Name: "an unknown database", Code: connection.DatabaseNotFound, Step: connection.Database,
				Target: call(map[string]any{"database": "nothing"})},
			{Name: "a user who may read no table", Code: connection.PermissionDenied, Step: connection.Read,
				Target: call(map[string]any{"username": "stranger"})},
			{Name: "a table that the user may not read", Code: connection.PermissionDenied, Target: call(nil),
				Call: warehouses.Previewing(ref("secret"))},
			{Name: "a table that is not there", Code: connection.TableNotFound, Target: call(nil),
				Call: warehouses.Previewing(ref("Kinds"))},
			{Name: "a table of the system", Code: connection.TableNotFound, Target: call(nil),
				Call: warehouses.Previewing(connection.TableRef{Schema: "pg_catalog", Name: "pg_user"})},
			unreadable("a view that divides by zero", "divided", "22012"),
			unreadable("a view with functions that only the leader node has", "leading", "0A000"),
			unreadable("an external table that cannot be scanned", "scanned", "XX000"),
			{Name: "a view that takes too long", Code: connection.QueryTimeout,
				Target: func(t *testing.T) ports.Target {
					target := call(nil)(t)
					target.Limits.Statement = 50 * time.Millisecond
					return target
				}, Call: warehouses.Previewing(ref("slow"))},
			{Name: "an answer that is larger than allowed", Code: connection.ResponseTooLarge,
				Target: func(t *testing.T) ports.Target {
					target := call(nil)(t)
					target.Limits.Bytes = 16 << 10
					return target
				}, Call: warehouses.Previewing(ref("wide"))},
			{Name: "a server that wants TLS", Code: connection.TLSRequired, Step: connection.Authenticate,
				Target: call(map[string]any{"username": "only_tls", "tls": "disable"})},
			{Name: "a user who is rejected by a rule", Code: connection.AuthRejected, Step: connection.Authenticate,
				Target: call(map[string]any{"username": "rejected"})},
		}),
		Never: map[connection.Code]string{
			connection.TLSUnsupported: sameWire, connection.TLSExpired: sameWire, connection.ConnectTimeout: sameWire,
			connection.TooManyConnections: sameWire, connection.ServerStarting: sameWire,
			connection.BackendUnreachable: sameWire, connection.PoolingUnsupported: sameWire,
			connection.QuotaExceeded: sameWire, connection.UnsupportedVersion: sameWire,
			connection.Internal: "it means a bug of ours",
		},
		Slow: ref("slow"),
		SlowRuns: func(t *testing.T) (runs bool) {
			require.NoError(t, sharedRedshift(t).admin.QueryRow(`SELECT count(*) > 0 FROM pg_stat_activity WHERE
				usename LIKE '%reader' AND state = 'active' AND query LIKE '%slow%'`).Scan(&runs))
			return runs
		},
		Sessions: func(t *testing.T) (n int) {
			require.NoError(t, sharedRedshift(t).admin.QueryRow(`SELECT count(*) FROM pg_stat_activity
				WHERE usename LIKE '%reader'`).Scan(&n))
			return n
		},
	}
}

func redshiftPreviews(mixedRef connection.TableRef) map[connection.TableRef]connection.Preview {
	return map[connection.TableRef]connection.Preview{
		ref("kinds"): {
			Columns: []connection.Column{
				{Name: "id", DatabaseType: "bigint", Type: connection.Integer},
				{Name: "name", DatabaseType: "character varying(1000)", Type: connection.Text},
				{Name: "code", DatabaseType: "character(5)", Type: connection.Text, Nullable: true},
				{Name: "price", DatabaseType: "numeric(10,2)", Type: connection.Number, Nullable: true},
				{Name: "rate", DatabaseType: "double precision", Type: connection.Number, Nullable: true, Unordered: true},
				{Name: "sold", DatabaseType: "boolean", Type: connection.Boolean, Nullable: true},
				{Name: "born", DatabaseType: "date", Type: connection.Date, Nullable: true},
				{Name: "at", DatabaseType: "timestamp with time zone", Type: connection.DateTime, Nullable: true},
				{Name: "doc", DatabaseType: "super", Type: connection.JSON, Nullable: true, Unordered: true},
				{Name: "raw", DatabaseType: "varbyte", Type: connection.Text, Nullable: true, Unordered: true},
				{Name: "place", DatabaseType: "geometry", Type: connection.Text, Nullable: true, Unordered: true},
				{Name: "sketch", DatabaseType: "hllsketch", Type: connection.Text, Nullable: true, Unordered: true},
			},
			Rows: [][]*string{
				{text("1"), text("Ada"), text("ab"), text("12.50"), text("0.5"), text("true"), text("1815-12-10"),
					text("2026-01-02 03:04:05+00"), text(`{"a": 1}`), text("0x00ff"), text("POINT(1 2)"), text("2")},
				{text("2"), text(strings.Repeat("é", connection.MaxCell)), nil, nil, nil, nil, nil, nil, nil, nil, nil,
					nil},
				{text("3"), text("tab\t\"quote\""), text(""), text("-1.00"), text("1e+300"), text("false"),
					text("2026-02-03"), text("2026-01-02 03:04:05.6+00"), text("null"), text("0x"), text("POINT(0 0)"),
					text("1")},
			},
		},
		ref(redshiftStrange): {
			Columns: []connection.Column{{Name: `a "col", b`, DatabaseType: "character varying(10)",
				Type: connection.Text, Nullable: true}},
			Rows: [][]*string{{text("here")}},
		},
		mixedRef: {
			Columns: []connection.Column{{Name: "Id", DatabaseType: "integer", Type: connection.Integer,
				Nullable: true}},
			Rows: [][]*string{{text("1")}},
		},
		ref("late"): { // a late-binding view
			Columns: []connection.Column{
				{Name: "id", DatabaseType: "bigint", Type: connection.Integer, Nullable: true},
				{Name: "name", DatabaseType: "character varying(1000)", Type: connection.Text, Nullable: true},
			},
			Rows: [][]*string{{text("1"), text("Ada")}},
		},
		ref("half"): { // of which the user may read one column
			Columns: []connection.Column{{Name: "open", DatabaseType: "character varying(10)", Type: connection.Text,
				Nullable: true}},
			Rows: [][]*string{{text("o")}},
		},
		ref("empty"): {
			Columns: []connection.Column{{Name: "id", DatabaseType: "integer", Type: connection.Integer,
				Nullable: true}}},
		ref("wide"): warehouses.WidePreview(connection.Column{DatabaseType: "character varying(300)",
			Type: connection.Text, Nullable: true}),
	}
}

func TestRedshift(t *testing.T) { warehouses.Warehouse(t, redshiftHarness(directRedshift)) }

func TestRedshiftThroughTheChild(t *testing.T) {
	warehouses.Warehouse(t, redshiftHarness(warehouses.Confined))
}

func TestRedshiftBehindAnSSHServer(t *testing.T) {
	warehouses.Tunnel(t, redshiftHarness(directRedshift))
}

func TestAUserOfRedshiftWhoCanCreateTablesCanWrite(t *testing.T) {
	target := redshiftTarget(t, sharedRedshift(t), connection.Redshift, map[string]any{"username": "maker"})
	if r := directRedshift(t).Probe(t.Context(), target); r.Failure() != "" || !r.Server.CanWrite {
		t.Errorf("failure %q, server %+v", r.Failure(), r.Server)
	}
}

func TestRedshiftSaysWhatItIs(t *testing.T) {
	s := sharedRedshift(t)
	r := directRedshift(t).Probe(t.Context(), redshiftTarget(t, s, connection.Redshift, nil))
	if r.Server.Product != "Amazon Redshift" || r.Server.Version != "1.0.48805" {
		t.Errorf("server %+v", r.Server)
	}
	t.Run("to a connection of the kind PostgreSQL too", func(t *testing.T) {
		target := redshiftTarget(t, s, connection.Postgres, nil)
		trial := connection.Trial{Report: direct(t).Probe(t.Context(), target), At: time.Unix(1, 0)}
		failure, ok := errors.AsType[*connection.ProbeError](trial.Failure(target.Credential))
		if !ok || failure.Failure.Code != connection.NotThisDatabase ||
			failure.Failure.Answered != connection.ServiceRedshift ||
			!strings.HasPrefix(failure.Failure.Hint, "Amazon Redshift responds at this address, and not PostgreSQL.") {
			t.Errorf("failure %+v", failure)
		}
	})
	t.Run("and PostgreSQL to a connection of the kind Redshift", func(t *testing.T) {
		target := redshiftTarget(t, shared(t), connection.Redshift, nil)
		trial := connection.Trial{Report: directRedshift(t).Probe(t.Context(), target), At: time.Unix(1, 0)}
		failedFault, ok := errors.AsType[*connection.ProbeError](trial.Failure(target.Credential))
		if !ok || failedFault.Failure.Answered != connection.ServicePostgres {
			t.Errorf("failure %+v", failedFault)
		}
	})
}

func TestConditionsOfRedshiftLoseNoRow(t *testing.T) {
	s := sharedRedshift(t)
	for _, sql := range []string{`CREATE TABLE shop.compared (n integer, small smallint, big bigint,
			price numeric(10,2), share numeric(2,2), rate real, wide double precision, sold boolean, born date,
			stamp timestamp, moment timestamptz, name varchar(40), padded char(5))`,
		`INSERT INTO shop.compared VALUES
			(1, -32768, 9223372036854775807, 7.50, 0.10, 0.1, 0.1, true, '2024-02-29', '2024-02-29 12:00:00',
				'2024-02-29 12:00:00+02', 'a', 'a'),
			(2, 32767, -9223372036854775808, -0.01, -0.99, 2.5, 1e300, false, '1969-12-31',
				'2024-02-29 12:00:00.000001', '1969-07-20 20:17:40-05', 'ä%_', 'b'),
			(3, 0, 7, 99999999.99, 0, 16777216, 0.3, true, '9999-12-31', '1969-07-20 20:17:40', '2099-01-01', '', ''),
			(4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		`GRANT SELECT ON shop.compared TO reader`} {
		if _, err := s.admin.Exec(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		if _, err := s.admin.Exec(`DROP TABLE shop.compared`); err != nil {
			t.Error(err)
		}
	})
	warehouses.Finds(t, directRedshift(t), redshiftTarget(t, s, connection.Redshift, nil), ref("compared"),
		"n", "small", "big", "price", "share", "sold", "born", "stamp", "moment", "name")
}
