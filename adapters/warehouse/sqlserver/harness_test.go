package sqlserver_test

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/sqlserver"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestMain(m *testing.M) {
	warehouses.Main(m, map[connection.Kind]ports.Warehouse{connection.SQLServer: sqlserver.New(guard)})
}

func guard(target ports.Target, end time.Time) warehouse.Network {
	return egress.New(egress.Rules{Allow: target.Egress.Allow, Port: target.Credential.AllowsPort,
		Connect:  target.Limits.Connect,
		Deadline: end, Bytes: target.Limits.Bytes})
}

func direct(*testing.T) ports.Warehouse { return sqlserver.New(guard) }

func ref(name string) connection.TableRef { return connection.TableRef{Schema: "dbo", Name: name} }

func as(changes map[string]any) func(*testing.T) ports.Target {
	return func(t *testing.T) ports.Target { return shared().target(t, changes) }
}

func harness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	var all []connection.Table
	for _, t := range append(tables(), kinds()) {
		found := connection.Table{TableRef: connection.TableRef{Schema: t.Schema, Name: t.Name},
			Kind: connection.BaseTable, RowEstimate: int64(len(t.Values))}
		switch t.Type {
		case "V":
			found.Kind, found.RowEstimate = connection.View, -1
		case "M":
			found.Kind = connection.MaterializedView
		case "X":
			found.Kind, found.RowEstimate = connection.ExternalTable, -1
		}
		if !t.Denied {
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b connection.Table) int { return a.Compare(b.TableRef) })
	return warehouses.Harness{
		Kind: connection.SQLServer, Open: open, Reader: as(nil), Writer: as(map[string]any{"username": "writer"}),
		Tables: all, Previews: previews(), Failures: failures(),
		Never: map[connection.Code]string{
			connection.TLSExpired:         "all kinds verify certificates by the same code; PostgreSQL stages it",
			connection.BackendUnreachable: "only PostgreSQL's poolers tell",
			connection.PoolingUnsupported: "only PostgreSQL's poolers have modes",
			connection.DatabaseNotFound:   "the server does not tell a missing database from a forbidden one",
		},
		Slow:     ref("slow"),
		SlowRuns: func(*testing.T) bool { return shared().Running() > 0 },
		Sessions: func(*testing.T) int { return shared().Sessions() },
	}
}

func previews() map[connection.TableRef]connection.Preview {
	all := connection.Preview{Rows: make([][]*string, 3)}
	for _, k := range columnsOf() {
		c := connection.Column{Name: k.Name, DatabaseType: k.Type, Type: k.is, Nullable: k.Nullable,
			Unordered: slices.Contains(unordered, k.Type)}
		switch {
		case k.Type == "timestamp":
			c.DatabaseType = "rowversion"
		case k.Alias != "":
			c.DatabaseType = k.Alias
		}
		all.Columns = append(all.Columns, c)
		for i, v := range k.shown {
			if k.values[i] == nil {
				all.Rows[i] = append(all.Rows[i], nil)
				continue
			}
			all.Rows[i] = append(all.Rows[i], connection.Cell(v))
		}
	}
	local := "here"
	return map[connection.TableRef]connection.Preview{
		ref("kinds"): all,
		ref("wide"):  warehouses.WidePreview(connection.Column{DatabaseType: "varchar(max)", Type: connection.Text}),
		ref(strange): {Rows: [][]*string{{&local}}, Columns: []connection.Column{{Name: "a ]col], b?",
			DatabaseType: "nvarchar(20)", Type: connection.Text}}},
		ref("empty"): {Columns: []connection.Column{{Name: "id", DatabaseType: "int", Type: connection.Integer}}},
	}
}

// failures stages all that the stand-in can fail with.
func failures() []warehouses.Failure {
	user := func(name string) func(*testing.T) ports.Target { return as(map[string]any{"username": name}) }
	limit := func(change func(*ports.Limits)) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			target := as(nil)(t)
			change(&target.Limits)
			return target
		}
	}
	other := func(encryption fixture.SQLServerEncryption, change func(*server), fields map[string]any,
	) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			s := newServer(t, encryption)
			if change != nil {
				change(s)
			}
			return s.target(t, fields)
		}
	}
	strict := map[string]any{"encrypt": "strict"}
	values := map[string]any{"tls": "disable"}
	preview := func(name string) warehouses.Failure {
		return warehouses.Failure{Target: as(nil), Call: warehouses.Previewing(ref(name))}
	}
	fails := func(name, table string, code connection.Code, state string) warehouses.Failure {
		f := preview(table)
		f.Name, f.Code, f.State = name, code, state
		return f
	}
	const authenticate, tls = connection.Authenticate, connection.TLS
	return slices.Concat(warehouses.HostFailures(as), warehouses.WireFailures(as), []warehouses.Failure{
		{Name: "a login that is locked", Code: connection.AuthRejected, Step: authenticate, Target: user("locked")},
		{Name: "a full server", Code: connection.TooManyConnections, Step: authenticate, Target: user("crowded")},
		{Name: "a database of Azure that is paused", Code: connection.ServerStarting, Step: authenticate,
			Target: user("paused")},
		{Name: "a spent quota of Azure", Code: connection.QuotaExceeded, Step: authenticate, Target: user("spent")},
		{Name: "an unknown error", Code: connection.Internal, Step: authenticate, Target: user("odd")},
		{Name: "an unknown database", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database,
			Target: as(map[string]any{"database": "nothing"})},
		{Name: "tables that the user may not read", Code: connection.PermissionDenied, Step: connection.Read,
			Target: as(map[string]any{"database": "closed_tables"})},
		{Name: "a server that requires TLS", Code: connection.TLSRequired, Step: authenticate, Target: as(values)},
		{Name: "a server without TLS", Code: connection.TLSUnsupported, Step: tls,
			Target: other(fixture.SQLServerPlain, nil, nil)},
		{Name: "a server that closes when TLS begins, strictly", Code: connection.TLSUnsupported, Step: tls,
			Target: func(t *testing.T) ports.Target {
				port := fixture.Listener(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 512)) })
				return as(map[string]any{"port": port, "encrypt": "strict"})(t)
			}},
		{Name: "another authority, strictly", Code: connection.TLSUntrusted, Step: tls,
			Target: func(t *testing.T) ports.Target {
				return newServer(t, fixture.SQLServerStrict).target(t, map[string]any{"encrypt": "strict",
					"tls_ca": fixture.NewAuthority(t).PEM})
			}},
		{Name: "a server that does not know strict encryption", Code: connection.TLSUnsupported, Step: tls,
			Target: as(strict)},
		{Name: "a web server, strictly", Code: connection.NotThisDatabase, Step: tls,
			Target: func(t *testing.T) ports.Target {
				return as(map[string]any{"port": fixture.WebServer(t), "encrypt": "strict"})(t)
			}},
		{Name: "SQL Server 2014", Code: connection.UnsupportedVersion, Step: connection.Read,
			Target: other(fixture.SQLServerMandatory, func(s *server) { s.Version = "12.0.6024.0" }, nil)},
		fails("a view that divides by zero", "divided", connection.TableUnreadable, "22012"),
		fails("a view of a dropped table", "leads_nowhere", connection.TableUnreadable, "42000"),
		fails("a view whose function raises an error", "raised", connection.TableUnreadable, ""),
		fails("a view of a linked server that fails", "remote", connection.TableUnreadable, ""),
		fails("a view of what the user may not read", "beyond", connection.PermissionDenied, ""),
		fails("a locked table", "locked", connection.QueryTimeout, ""),
		fails("a view with a function that the server lacks", "newer", connection.UnsupportedVersion, ""),
		fails("a table that was dropped in between", "dropped", connection.TableNotFound, ""),
		fails("a table in other letters", "Kinds", connection.TableNotFound, ""),
		fails("a table that cannot be read", "members", connection.TableNotFound, ""),
		{Name: "a table of the system", Code: connection.TableNotFound, Target: as(nil),
			Call: warehouses.Previewing(connection.TableRef{Schema: "sys", Name: "objects"})},
		{Name: "a view that takes too long", Code: connection.QueryTimeout, Call: warehouses.Previewing(ref("slow")),
			Target: limit(func(l *ports.Limits) { l.Statement = 300 * time.Millisecond })},
		{Name: "an answer that is larger than the wire's limit", Code: connection.ResponseTooLarge,
			Target: limit(func(l *ports.Limits) { l.Bytes = 32 << 10 }), Call: warehouses.Previewing(ref("wide"))},
	})
}

func TestWarehouse(t *testing.T) { warehouses.Warehouse(t, harness(direct)) }

func TestWarehouseThroughTheChild(t *testing.T) {
	warehouses.Warehouse(t, harness(warehouses.Confined))
}

func TestWarehouseBehindAnSSHServer(t *testing.T) {
	t.Run("directly", func(t *testing.T) { warehouses.Tunnel(t, harness(direct)) })
	t.Run("through the child", func(t *testing.T) { warehouses.Tunnel(t, harness(warehouses.Confined)) })
}

func TestNoTrickMakesTheChildOpenASocket(t *testing.T) {
	warehouses.Tricks(t, connection.SQLServer, direct(t), warehouses.Confined(t), "u;server=tcp:127.0.0.1,1")
}
