package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// mostHeap is the maximum size of the server's heap during random requests, in bytes. 50,000 requests used 74 MiB. With
// the race detector, which slows the garbage collector down, 1,000 requests used 326 MiB.
const mostHeap = 512 << 20

// TestRandomRequests generates requests from openapi.yaml and earlier responses, and damages every other one. Every
// response must be a documented one, and never a server error.
func TestRandomRequests(t *testing.T) {
	requests := proof.Sample(1000, 50_000) // on each engine
	seed := proof.Seed(t)
	onEach(t, func(t *testing.T, engine string) {
		f := newFuzzer(t, engine, seed)
		begin := time.Now()
		for i := range requests {
			f.request(t, i)
			if i%100 == 0 {
				f.lookAround(t)
			}
			if t.Failed() {
				t.Fatalf("request %d of them", i)
			}
		}
		heap := f.heap(t)
		t.Logf("%d requests in %v, %d of %d operations succeeded at least once, callers were made %d times, the heap "+
			"took %d MiB at most; statuses: %v",
			requests, time.Since(begin).Round(time.Second), len(f.succeeded), f.distinct, f.admitted,
			heap>>20, f.statuses)
		if heap > mostHeap {
			t.Errorf("the heap took %d MiB", heap>>20)
		}
		if proof.Running() {
			for _, op := range slices.Compact(f.operations) {
				if !f.succeeded[op.ID] {
					t.Logf("%s never succeeded", op.ID)
				}
			}
		}
		if good := f.statuses[200] + f.statuses[201] + f.statuses[204]; good*10 < requests {
			t.Errorf("%d of %d requests succeeded: the test says little", good, requests)
		}
	})
}

// fuzzer sends random requests to a server of its own.
type fuzzer struct {
	*server
	generator
	transport  *http.Transport
	operations []*openapi.Operation // each as often as its weight says
	distinct   int
	admitted   int // how often callers were made
	callers    []*client
	bystander  *client // not affected by any of the requests
	statuses   map[int]int
	succeeded  map[string]bool
}

func newFuzzer(t *testing.T, engine string, seed uint64) *fuzzer {
	t.Helper()
	s := start(t, engine, configured(fmt.Sprintf(`
orgs:
  - {slug: red, hosts: [red.example.com], base_url: "https://red.example.com", cors_origins: ["https://app.example.com"], registry: {workflows: [{id: hand-over}],
      tools: [{id: create-ticket, config_schema: {type: object, properties: {queue: {type: string}}}}]}, connection_kinds: [postgres], egress: {allow: [127.0.0.0/8]}, %[1]s}
  - {slug: blue, hosts: [blue.example.com], connection_kinds: [postgres], %[1]s}
`, onlyPayments())), toShops, knowsWebhookKey, set("metrics.addr", "127.0.0.1:0"), set("log.level", "info"))
	contract := conformance.Contract(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	f := &fuzzer{server: s, transport: &http.Transport{MaxIdleConnsPerHost: 4}, statuses: map[int]int{},
		succeeded: map[string]bool{}}
	t.Cleanup(f.transport.CloseIdleConnections)
	f.generator = generator{rnd: rnd, known: map[string][]string{}}
	require.NoError(t, json.Unmarshal(contract.JSON(), &f.doc))
	f.distinct = len(contract.Operations())
	for _, op := range contract.Operations() {
		for range weight(op) {
			f.operations = append(f.operations, op)
		}
	}
	shop := newShop(t)
	for name, v := range shop.credential("secret") {
		f.learn(name, fmt.Sprint(v))
	}
	f.bystander = s.user(t, "owner", "--org", "red", "--workspace", "quiet")
	f.admit(t)
	return f
}

// weight returns how often an operation is chosen. Operations that start another process are expensive.
func weight(op *openapi.Operation) int {
	switch {
	case op.ID == "previewSheet", op.ID == "previewWarehouse", op.ID == "createConnection", op.ID == "verifyConnection",
		op.ID == "attachSource", op.ID == "mapSource", op.ID == "refreshSource":
		return 1
	case op.Method == "POST":
		return 6
	}
	return 3
}

// admit creates the callers: owners of three workspaces in two orgs, and service keys of the first owner.
func (f *fuzzer) admit(t *testing.T) {
	t.Helper()
	f.admitted++
	in := func(org string) *client { // in a workspace that is new: those of before may be deleted
		return f.user(t, "owner", "--org", org, "--workspace", fmt.Sprint("w", people.Add(1)))
	}
	first := in("red")
	f.callers = []*client{first, in("red"), in("blue")}
	for _, role := range []string{"admin", "member", "viewer"} {
		a := first.create(t, "/api/api-keys", object{"name": "a program", "kind": "service", "role_ceiling": role},
			onRed)
		f.callers = append(f.callers, &client{server: f.server, token: a.at("token"), id: a.at("user_id"),
			workspace: first.workspace})
	}
}

// lookAround checks that the server still serves other clients, and replaces callers that have lost their access.
func (f *fuzzer) lookAround(t *testing.T) {
	t.Helper()
	f.bystander.get(t, "/api/me", onRed)
	for i, c := range f.callers {
		host := onRed
		if i == 2 {
			host = onBlue
		}
		if c.do(t, "GET", "/api/me", nil, host).status == 401 { // one of them has ended it
			f.admit(t)
			return
		}
	}
}

// request sends one request and checks the response.
func (f *fuzzer) request(t *testing.T, i int) {
	t.Helper()
	op := f.operations[f.rnd.IntN(len(f.operations))]
	// which end the callers
	for slices.Contains([]string{"deleteWorkspace", "removeMember", "revokeAPIKey"}, op.ID) && f.rnd.IntN(8) > 0 {
		op = f.operations[f.rnd.IntN(len(f.operations))]
	}
	req, body, plain := f.compose(t, op)
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		t.Errorf("%s: %v", shown(req, body), err)
		return
	}
	defer resp.Body.Close()
	var text []byte
	stream := resp.Header.Get("Content-Type") == "text/event-stream"
	if !stream { // which does not end
		if text, err = io.ReadAll(resp.Body); err != nil {
			t.Errorf("%s: %v", shown(req, body), err)
			return
		}
	}
	f.statuses[resp.StatusCode]++
	if resp.Header.Get("Request-Id") == "" { // net/http has refused it before any of ours saw it
		if !slices.Contains([]int{400, 417, 431}, resp.StatusCode) {
			t.Errorf("%s\nanswered %d without a Request-Id: %.300s", shown(req, body), resp.StatusCode, text)
		}
		return
	}
	if resp.StatusCode < 300 && plain {
		f.succeeded[op.ID] = true
	}
	var problem struct{ Code string }
	if resp.StatusCode >= 400 && req.Method != http.MethodHead {
		if err := json.Unmarshal(text, &problem); err != nil && !strings.HasPrefix(req.URL.Path, "/embed/") {
			t.Errorf("%s\nanswered %d, which is no problem document: %.300s", shown(req, body), resp.StatusCode, text)
		}
	}
	if resp.StatusCode >= 500 && !slices.Contains([]string{"upstream_failed", "upstream_timeout", "gateway_error",
		"gateway_unavailable", "gateway_timeout"}, problem.Code) {
		t.Errorf("%s\nanswered %d %.500s", shown(req, body), resp.StatusCode, text)
	}
	if plain && !stream && req.Method != http.MethodHead && req.Method != http.MethodOptions {
		violations, err := conformance.Violations(req, resp, text)
		require.NoError(t, err)
		for _, v := range violations {
			t.Errorf("%s\nanswered %d %.500s\n%s", shown(req, body), resp.StatusCode, text, v)
		}
	}
	f.study(string(text), req.URL.Path)
}

// shown is a request for people to repeat.
func shown(req *http.Request, body string) string {
	header := req.Header.Clone()
	if header.Get("Authorization") != "" {
		header.Set("Authorization", "…")
	}
	if len(body) > 2000 {
		body = fmt.Sprintf("%s… (%d bytes)", body[:2000], len(body))
	}
	return fmt.Sprintf("%s %s, Host %s, %v\n%q\n", req.Method, req.URL.RequestURI(), req.Host, header, body)
}
