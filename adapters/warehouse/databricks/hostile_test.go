package databricks_test

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
	ok := func(body string) string { return warehouses.HTTPResponse("200 OK", "", body) }
	state := func(state, rest string) string {
		return ok(fmt.Sprintf(`{"statement_id": "01ab", "status": {"state": %q}%s}`, state, rest))
	}
	done := func(rows string) string {
		return state("SUCCEEDED", `, "manifest": {}, "result": {"data_array": `+rows+`}`)
	}
	welcome := done(`[["2026.30", "me", "3"]]`)
	says := func(name string, code connection.Code, answers ...string) warehouses.HostileScript {
		return warehouses.HostileScript{Name: name, Plain: true, Codes: []connection.Code{code},
			Serve: isOver(warehouses.HTTPSays(answers...))}
	}
	foreign := connection.NotThisDatabase
	return warehouses.HostileHarness{
		Open: open, Target: targetAt,
		Scripts: slices.Concat(hosted.Scripts(t), []warehouses.HostileScript{
			says("it is what it says", "", state("RUNNING", ""), welcome, done(`[["t"]]`), done(`[["SELECT"]]`)),
			says("its statement has a path for a name", foreign,
				ok(`{"statement_id": "../x", "status": {"state": "PENDING"}}`)),
			says("its statement has no state", foreign, state("", "")),
			says("it has no manifest", foreign, state("SUCCEEDED", "")),
			says("it has too few columns", foreign, done(`[["2026.30"]]`)),
			says("its chunks do not end", foreign,
				state("SUCCEEDED", `, "manifest": {}, "result": {"next_chunk_index": 1}`),
				ok(`{"next_chunk_index": 1}`)),
			says("it closes the result", connection.Internal, state("CLOSED", "")),
			says("it cancels the statement", connection.QueryTimeout, state("CANCELED", "")),
			says("its privileges are cut short", foreign, welcome, done(`[]`), done(`[[]]`)),
			says("it redirects the second statement", foreign, welcome,
				"HTTP/1.1 308 Permanent Redirect\r\nLocation: https://127.0.0.2:1/\r\nContent-Length: 0\r\n\r\n"),
			{Name: "its statement runs for ever", Codes: []connection.Code{connection.QueryTimeout},
				Serve: isOver(warehouses.HTTPSays(slices.Repeat([]string{state("RUNNING", "")}, 1000)...))},
			{Name: "its token is no token", Plain: true, Codes: []connection.Code{foreign},
				Serve: isOver(warehouses.HTTPSays(ok(`{"access_token": "a\r\nHost: 127.0.0.2"}`))), To: asProgram(t)},
			{Name: "it refuses its token with an unknown reason", Plain: true, Codes: []connection.Code{foreign},
				Serve: isOver(warehouses.HTTPSays(warehouses.HTTPResponse("400 Bad Request", "", `{"error": "oops"}`))),
				To:    asProgram(t)},
		}),
	}
}

// asProgram makes a target that of a service principal.
func asProgram(t *testing.T) func(ports.Target) ports.Target {
	return func(recipient ports.Target) ports.Target {
		changedTarget := target(t, 1, map[string]any{"host": recipient.Credential.Text("host"), "access_token": nil,
			"client_id": "x", "client_secret": "y"})
		recipient.Credential = changedTarget.Credential
		return recipient
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
