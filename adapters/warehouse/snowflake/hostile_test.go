package snowflake_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func hostile(t *testing.T, open func(*testing.T) ports.Warehouse) warehouses.HostileHarness {
	isOver := hosted.OverTLS(t)
	rows := func(n int, data string) string {
		return warehouses.HTTPResponse("200 OK", "",
			fmt.Sprintf(`{"resultSetMetaData": {"numRows": %d}, "data": %s}`, n, data))
	}
	welcome := rows(1, `[["9.1", "SHOP", "SMALL", "R"]]`)
	says := func(name string, code connection.Code, answers ...string) warehouses.HostileScript {
		return warehouses.HostileScript{Name: name, Plain: true, Codes: []connection.Code{code},
			Serve: isOver(warehouses.HTTPSays(answers...))}
	}
	return warehouses.HostileHarness{
		Open: open, Target: targetAt,
		Scripts: slices.Concat(hosted.Scripts(t), []warehouses.HostileScript{
			says("it is what it says", "", welcome, rows(0, `[]`), rows(1, `[["", "SELECT"]]`)),
			says("it has too few columns", connection.NotThisDatabase, rows(1, `[["9.1"]]`)),
			says("it has no version", connection.NotThisDatabase, rows(1, `[[null, "SHOP", "SMALL", "R"]]`)),
			says("it keeps rows back", connection.ResponseTooLarge, rows(2, `[["9.1", "SHOP", "SMALL", "R"]]`)),
			says("it works on for ever", connection.ConnectTimeout,
				warehouses.HTTPResponse("202 Accepted", "",
					`{"code": "333334", "statementStatusUrl": "https://127.0.0.2:1/"}`)),
			says("its grants are cut short", connection.NotThisDatabase, welcome, rows(0, `[]`), rows(1, `[[]]`)),
			says("it redirects the second statement", connection.NotThisDatabase, welcome,
				"HTTP/1.1 308 Permanent Redirect\r\nLocation: https://127.0.0.2:1/\r\nContent-Length: 0\r\n\r\n"),
		}),
	}
}

func TestHostileServers(t *testing.T) {
	harness := hostile(t, hosted.Direct)
	harness.Resolving = hosted.Resolving
	warehouses.Hostile(t, harness)
}

func TestHostileServersThroughTheChild(t *testing.T) {
	warehouses.Hostile(t, hostile(t, hosted.Confined))
}
