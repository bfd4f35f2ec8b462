package bigquery_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func hostile(t *testing.T, open func(*testing.T) ports.Warehouse) warehouses.HostileHarness {
	call := hosted.OverTLS(t)
	foreign := []connection.Code{connection.NotThisDatabase}
	grantedText := warehouses.HTTPResponse("200 OK", "", `{"access_token": "t", "token_type": "Bearer"}`)
	// api lets the account sign in, and then sends the given answers one after the other.
	api := func(name string, code connection.Code, answers ...string) warehouses.HostileScript {
		return warehouses.HostileScript{Name: name, Plain: true, Codes: []connection.Code{code},
			Serve: call(func(c io.ReadWriter) {
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if r.URL.Path == "/token" {
						_, _ = io.WriteString(c, grantedText)
						continue
					}
					if len(answers) == 0 {
						return
					}
					_, _ = io.WriteString(c, answers[0])
					answers = answers[1:]
				}
			})}
	}
	ok := func(body string) string { return warehouses.HTTPResponse("200 OK", "", body) }
	fine, empty, run := ok(`{}`), ok(`{"tables": []}`), ok(`{"jobComplete": true}`)
	return warehouses.HostileHarness{
		Open: open, Target: targetAt,
		Scripts: slices.Concat(hosted.Scripts(t), []warehouses.HostileScript{
			api("it is what it says", "", fine, empty, run),
			{Name: "its token is no token", Plain: true, Codes: foreign,
				Serve: call(warehouses.HTTPSays(ok(`{"access_token": "a\r\nHost: 127.0.0.2"}`)))},
			{Name: "its token is empty", Plain: true, Codes: foreign,
				Serve: call(warehouses.HTTPSays(ok(`{"access_token": ""}`)))},
			{Name: "its token is too long", Codes: []connection.Code{connection.ResponseTooLarge,
				connection.HostUnreachable, connection.ConnectTimeout},
				Serve: call(warehouses.HTTPSays(ok(`{"access_token": "` + strings.Repeat("x", 2<<20) + `"}`)))},
			{Name: "it refuses with an unknown reason", Plain: true, Codes: foreign,
				Serve: call(warehouses.HTTPSays(warehouses.HTTPResponse("400 Bad Request", "", `{"error": "oops"}`)))},
			{Name: "it has no time for tokens", Plain: true, Codes: []connection.Code{connection.QuotaExceeded},
				Serve: call(warehouses.HTTPSays(warehouses.HTTPResponse("429 Too Many Requests", "", `{}`)))},
			api("it goes when it is asked", connection.HostUnreachable),
			api("its dataset is no JSON", connection.NotThisDatabase, ok("nonsense")),
			api("its tables are something else", connection.NotThisDatabase, fine, ok(`{"tables": {"a": 1}}`)),
			api("it redirects the list", connection.NotThisDatabase, fine,
				"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.2:1/\r\nContent-Length: 0\r\n\r\n"),
			api("a table has a path for a name", connection.TableNotFound, fine,
				ok(`{"tables": [{"tableReference": {"tableId": "../../x?y"}, "type": "TABLE"}]}`), run,
				warehouses.HTTPResponse("404 Not Found", "", `{}`)),
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

// TestPagesWithoutAnEnd has a server that repeats its token of the next page.
func TestPagesWithoutAnEnd(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, `{"access_token": "t"}`)
	})
	n := 0
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		n++
		_, _ = fmt.Fprintf(w, `{"nextPageToken": "%d", "tables": []}`, n/3)
	})
	b := fixture.NewBigQuery(t, hosted.Authority.ServerTLS(t, "127.0.0.1"))
	b.Config.Handler = mux
	recipient := target(t, portOf(b.Server), nil)
	recipient.Limits.Total = proof.Patience
	_, err := hosted.Direct(t).Tables(t.Context(), recipient, connection.TableQuery{Limit: 1})
	if err == nil || n > 100 {
		t.Errorf("after %d requests, error = %v", n, err)
	}
}
