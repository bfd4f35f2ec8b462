package snowflake_test

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/snowflake"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

func hostile(t *testing.T, open func(*testing.T) ports.Warehouse) contract.HostileRig {
	config := authority.ServerTLS(t, "127.0.0.1")
	over := func(then func(io.ReadWriter)) func(io.ReadWriter) { return contract.OverTLS(config, then) }
	rows := func(n int, data string) string {
		return contract.HTTPResponse("200 OK", "", fmt.Sprintf(`{"resultSetMetaData": {"numRows": %d}, "data": %s}`, n, data))
	}
	welcome := rows(1, `[["9.1", "SHOP", "SMALL", "R"]]`)
	says := func(name string, code connection.Code, answers ...string) contract.HostileScript {
		return contract.HostileScript{Name: name, Plain: true, Codes: []connection.Code{code}, Serve: over(contract.HTTPSays(answers...))}
	}
	return contract.HostileRig{
		Open: open,
		Target: func(t *testing.T, host string, port uint16) ports.Target {
			return target(t, port, map[string]any{"account": fmt.Sprintf("%s.port-%d-x", host, port)})
		},
		Scripts: slices.Concat(contract.HTTPScripts(over), []contract.HostileScript{
			says("it is what it says", "", welcome, rows(0, `[]`), rows(1, `[["", "SELECT"]]`)),
			says("it has too few columns", connection.NotThisDatabase, rows(1, `[["9.1"]]`)),
			says("it has no version", connection.NotThisDatabase, rows(1, `[[null, "SHOP", "SMALL", "R"]]`)),
			says("it keeps rows back", connection.ResponseTooLarge, rows(2, `[["9.1", "SHOP", "SMALL", "R"]]`)),
			says("it works on for ever", connection.ConnectTimeout, contract.HTTPResponse("202 Accepted", "", `{"code": "333334", "statementStatusUrl": "https://127.0.0.2:1/"}`)),
			says("its grants are cut short", connection.NotThisDatabase, welcome, rows(0, `[]`), rows(1, `[[]]`)),
			says("it redirects the second statement", connection.NotThisDatabase, welcome, "HTTP/1.1 308 Permanent Redirect\r\nLocation: https://127.0.0.2:1/\r\nContent-Length: 0\r\n\r\n"),
			{Name: "it has TLS of another authority", Plain: true, Codes: []connection.Code{connection.TLSUntrusted},
				Serve: contract.OverTLS(fixture.NewAuthority(t).ServerTLS(t, "127.0.0.1"), func(io.ReadWriter) {})},
			{Name: "it has TLS for another name", Plain: true, Codes: []connection.Code{connection.TLSNameMismatch},
				Serve: contract.OverTLS(authority.ServerTLS(t, "db.example.com"), func(io.ReadWriter) {})},
		}),
	}
}

func TestHostileServers(t *testing.T) {
	rig := hostile(t, direct)
	rig.Resolving = func(_ *testing.T, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
		return snowflake.NewAt(func(to ports.Target, end time.Time) warehouse.Network {
			return egress.New(egress.Rules{
				Allow: to.Egress.Allow, Port: func(uint16) bool { return true }, Connect: to.Limits.Connect, Deadline: end, Bytes: to.Limits.Bytes, Resolve: lookup,
			})
		}, authority.Pool(), at)
	}
	contract.HostileWarehouse(t, rig)
}

func TestHostileServersThroughTheChild(t *testing.T) {
	contract.HostileWarehouse(t, hostile(t, confined))
}
