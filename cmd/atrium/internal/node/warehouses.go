package node

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/replier"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/bigquery"
	"github.com/atrium-hq/atrium/adapters/warehouse/clickhouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/databricks"
	"github.com/atrium-hq/atrium/adapters/warehouse/mysql"
	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/adapters/warehouse/snowflake"
	"github.com/atrium-hq/atrium/adapters/warehouse/sqlite"
	"github.com/atrium-hq/atrium/adapters/warehouse/sqlserver"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Warehouses returns every kind of warehouse, as it runs in a child.
func Warehouses(folder string) map[connection.Kind]ports.Warehouse {
	return map[connection.Kind]ports.Warehouse{
		bigquery.Kind:         bigquery.New(guard),
		connection.ClickHouse: clickhouse.New(guard),
		databricks.Kind:       databricks.New(guard),
		connection.MySQL:      mysql.New(guard),
		connection.Postgres:   postgres.New(guard),
		connection.Redshift:   postgres.NewRedshift(guard),
		snowflake.Kind:        snowflake.New(guard),
		connection.SQLite:     sqlite.New(folder),
		connection.SQLServer:  sqlserver.New(guard),
	}
}

// guard limits a call to a warehouse to the egress of its org and the ports of its kind, or
// of SSH servers.
func guard(target ports.Target, end time.Time) warehouse.Network {
	return egress.New(egress.Rules{Allow: target.Egress.Allow, Port: target.Credential.AllowsPort,
		Connect:  target.Limits.Connect,
		Deadline: end, Bytes: target.Limits.Bytes})
}

// SheetGuard limits a sheet's fetch to the egress of its org. Its byte budget adds the overhead of TLS, headers and
// redirects to the size of the file.
func SheetGuard(e identity.Egress, allows func(uint16) bool, l sheet.Limits, end time.Time) sheet.Network {
	const around = 1 << 20
	return egress.New(egress.Rules{Allow: e.Allow, Port: allows, Connect: l.Connect, Deadline: end,
		Bytes: l.Bytes + l.Bytes/16 + around})
}

// replyGuard limits a request to a reply endpoint to the egress of its org and the ports of its kind.
func replyGuard(target ports.Target, end time.Time, bytes int64) replier.Network {
	target.Limits.Bytes = bytes
	return guard(target, end)
}

// webhookGuard limits a webhook to the egress of its org, and to the ports that reply endpoints can have.
func webhookGuard(target ports.Target, end time.Time, bytes int64) replier.Network {
	port := func(uint16) bool { return false }
	if d, ok := connection.Describe(connection.ReplyEndpoint); ok {
		port = d.AllowsPort
	}
	return egress.New(egress.Rules{Allow: target.Egress.Allow, Port: port, Connect: target.Limits.Connect,
		Deadline: end,
		Bytes:    bytes})
}
