package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/proof"
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
		begun := time.Now()
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
		t.Logf("%d requests in %v, %d of %d operations succeeded at least once, callers were made %d times, the heap took %d MiB at most; statuses: %v",
			requests, time.Since(begun).Round(time.Second), len(f.succeeded), f.distinct, f.admitted, heap>>20, f.statuses)
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
	contract := fixture.Contract(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	f := &fuzzer{server: s, transport: &http.Transport{MaxIdleConnsPerHost: 4}, statuses: map[int]int{}, succeeded: map[string]bool{}}
	t.Cleanup(f.transport.CloseIdleConnections)
	f.generator = generator{rnd: rnd, known: map[string][]string{}}
	if err := json.Unmarshal(contract.JSON(), &f.doc); err != nil {
		t.Fatal(err)
	}
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
	case op.ID == "previewSheet", op.ID == "previewWarehouse", op.ID == "createConnection", op.ID == "verifyConnection", op.ID == "attachSource", op.ID == "mapSource", op.ID == "refreshSource":
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
		a := first.create(t, "/api/api-keys", object{"name": "a program", "kind": "service", "role_ceiling": role}, onRed)
		f.callers = append(f.callers, &client{server: f.server, token: a.at("token"), id: a.at("user_id"), workspace: first.workspace})
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
	for slices.Contains([]string{"deleteWorkspace", "removeMember", "revokeAPIKey"}, op.ID) && f.rnd.IntN(8) > 0 { // which end the callers
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
	if resp.StatusCode >= 500 && !slices.Contains([]string{"upstream_failed", "upstream_timeout", "gateway_error", "gateway_unavailable", "gateway_timeout"}, problem.Code) {
		t.Errorf("%s\nanswered %d %.500s", shown(req, body), resp.StatusCode, text)
	}
	if plain && !stream && req.Method != http.MethodHead && req.Method != http.MethodOptions {
		violations, err := fixture.Violations(req, resp, text)
		if err != nil {
			t.Fatal(err)
		}
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

// compose creates a request for an operation. plain is set if every router routes it to that operation.
func (f *fuzzer) compose(t *testing.T, op *openapi.Operation) (req *http.Request, body string, plain bool) {
	t.Helper()
	breaks := 0
	if f.rnd.IntN(2) == 0 {
		breaks = 1 + f.rnd.IntN(3)
	}
	broken := func(in int) bool { return breaks > 0 && f.rnd.IntN(in) == 0 }
	caller, host := f.caller(op)
	header := http.Header{}
	if caller.token != "" {
		header.Set("Authorization", "Bearer "+caller.token)
	}
	path, plain := f.path(op, broken(6))
	declared := f.doc["paths"].(object)[op.Path].(object)[strings.ToLower(op.Method)].(object)
	item, _ := f.doc["paths"].(object)[op.Path].(object)["parameters"].([]any)
	own, _ := declared["parameters"].([]any)
	query := url.Values{}
	for _, p := range slices.Concat(item, own) {
		p := f.resolved(p.(object))
		name := p["name"].(string)
		if p["in"] == "path" || p["required"] != true && f.rnd.IntN(3) > 0 {
			continue
		}
		if p["in"] == "header" {
			if v := f.header(name, p["schema"].(object), broken(3)); name == "Workspace-Id" && breaks == 0 {
				header.Set(name, caller.workspace)
			} else {
				header.Set(name, v)
			}
			continue
		}
		v := f.parameter(name, p["schema"].(object))
		if broken(3) {
			v = f.one("", "-1", "0", "101", "\x00", "\xff", "é", "null", "a,b", "true", strings.Repeat("x", 3000), "9223372036854775808", "1e3", "[]", "usr_x", "..")
		}
		query.Add(name, v)
	}
	if broken(6) {
		query.Add(f.one("limit", "unknown", "cursor", "", "a[b]", "\x00"), f.one("x", "7", ""))
	}
	if schema, media := f.body(declared); schema != nil {
		v := f.value("", schema, 0)
		if op.ID == "receivePaymentEvent" {
			v = f.paymentEvent()
		}
		for range breaks {
			if f.rnd.IntN(3) > 0 {
				damage(f.rnd, v)
			}
		}
		if body = v.String(); broken(6) {
			body = scramble(f.rnd, body)
		}
		body = body[:min(len(body), 2<<20)]
		header.Set("Content-Type", media)
		if broken(10) {
			header.Set("Content-Type", f.one("text/plain", "", "application/json; charset=utf-16", "application/xml", "multipart/form-data", "application/json,text/plain", "*/*", ";", strings.Repeat("a/", 200)))
		}
		if op.ID == "receivePaymentEvent" && f.rnd.IntN(3) > 0 {
			header.Set("Stripe-Signature", billing.Sign(secret.New(webhookKey), []byte(body), time.Now()))
		}
	} else if broken(6) {
		body = f.one("{}", "x", strings.Repeat("y", 100_000))
	}
	if broken(4) {
		f.oddHeaders(header)
	}
	method := op.Method
	if broken(12) {
		plain = false // validators differ on /resolve, which is an identifier to other methods
		method = f.one("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "get")
	}
	if op.ID == "createEmbedSession" || op.ID == "getEmbedTemplate" || op.ID == "getEmbedPage" {
		header.Set("Origin", f.one("https://shop.example", "https://a.stores.example", "null", "https://evil.example", "http://localhost:3000"))
		header.Set("Referer", f.one("https://shop.example/a", "https://evil.example/", "x", "https://a.stores.example/"))
	}
	if broken(20) {
		host = f.one("unknown.example", "RED.example.com", "red.example.com:8080", "red.example.com.", "[::1]", "blue.example.com", "xn--red", "red.example.com@evil")
	}
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	} else if broken(30) {
		target += f.one("?", "?%zz", "?a;b", "?&&&=", "?=")
	}
	req, err := http.NewRequestWithContext(t.Context(), method, f.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(f.url + target)
	if err != nil {
		t.Fatalf("%q: %v", target, err)
	}
	req.URL, req.Header, req.Host = parsed, header, host
	return req, body, plain
}

// caller chooses who sends a request, and to which host: mostly one where the caller is known.
func (f *fuzzer) caller(op *openapi.Operation) (*client, string) {
	i := f.rnd.IntN(len(f.callers) + 20)
	host := "red.example.com"
	switch {
	case op.ID == "getEmbedTemplate":
		session, _ := f.familiar("session")
		return &client{token: session}, host
	case i == 2:
		host = "blue.example.com"
	case i > len(f.callers):
		i = 0
	case i == len(f.callers):
		return &client{token: f.one("", "garbage", "atk_x", f.callers[0].token+"x", f.callers[2].token)}, host
	}
	return f.callers[i], host
}

func (f *fuzzer) parameter(name string, schema object) string {
	if name == "cursor" {
		if c, ok := f.familiar("cursor"); ok {
			return c
		}
	}
	text := f.value(name, schema, 0).String()
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

func (f *fuzzer) header(name string, schema object, broken bool) string {
	switch {
	case broken:
		return f.one("", "x", "*", `""`, `"1"`, `W/"1-x"`, `"1-x", "2-y"`, `"999999999999999999999-x"`, "\xff", "é", "a,b", strings.Repeat("h", 300), strings.Repeat(`"1-x",`, 500))
	case name == "If-Match":
		return f.one("*", `"1-x"`, `"2-x"`, `"3-x"`)
	case name == "Idempotency-Key":
		return fmt.Sprint("key-", f.rnd.IntN(200))
	}
	v := f.parameter(name, schema)
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "x"
	}
	return v
}

// oddHeaders adds unexpected headers.
func (f *fuzzer) oddHeaders(h http.Header) {
	for range 1 + f.rnd.IntN(3) {
		switch name := f.one("Accept", "Authorization", "Request-Id", "Origin", "X-Forwarded-For", "X-Forwarded-Host", "X-Http-Method-Override", "Range", "If-None-Match", "Expect", "Cookie", "Last-Event-ID", "Traceparent", "Accept-Encoding", "Content-Encoding", "Access-Control-Request-Method", "Forwarded", "Te", "Workspace-Id", "If-Modified-Since"); name {
		case "Accept":
			h.Set(name, f.one("text/html", "*/*;q=0", "application/json;q=0", ",,,", "application/problem+json", "a/b;c=\"", strings.Repeat("a/b,", 2000), "text/event-stream"))
		case "Authorization":
			h.Add(name, f.one("Bearer", "Basic eDp5", "Bearer "+strings.Repeat("a.", 5000), "Bearer e30.e30.e30", "bearer\tx", "Bearer ate_x"))
		case "Expect":
			h.Set(name, f.one("100-continue", "x"))
		default:
			h.Add(name, f.one("", "x", "*", "null", "https://app.example.com", "127.0.0.1, junk, ::1", "evil.example", "bytes=0-1", "DELETE", "gzip", "00-"+strings.Repeat("0", 32)+"-"+strings.Repeat("f", 16)+"-01", strings.Repeat("v", 4000), "é\xff"))
		}
	}
}

// path fills in the parameters of an operation's path.
func (f *fuzzer) path(op *openapi.Operation, broken bool) (path string, plain bool) {
	plain, path = true, op.Path
	parent := ""
	for strings.Contains(path, "{") {
		before, rest, _ := strings.Cut(path, "{")
		name, after, _ := strings.Cut(rest, "}")
		if name == "embed_token" {
			name = "token"
		}
		v := f.text(name, object{})
		if below, ok := f.familiar(name + " of " + parent); ok && f.rnd.IntN(8) > 0 {
			v = below
		}
		parent = v
		switch {
		case name == "version_id" && f.rnd.IntN(3) == 0:
			v = f.one("active", "latest", "v1", "v2", "v0")
		case name == "org" && f.rnd.IntN(2) == 0:
			v = "red"
		case v == "" || strings.ContainsFunc(v, func(r rune) bool { return r < '-' || r > 'z' || r == '/' || r == '\\' }):
			v = "x"
		}
		if broken {
			plain = false
			v = f.one("%2F", "..", "%2e%2e", ".", "%00", "%ff", "a%2Fb", "%252F", "%C3%A9", "%0d%0aX:%20y", ";a=b", "~", "a:b", "*", "%20", "'", strings.Repeat("z", 5000), "%5c", v+"%2f", v+"/", v+"//", "me", "%E2%80%AE")
		}
		path = before + v + after
	}
	return path, plain
}

// body is the schema of an operation's body and one of its media types; nil if it has none.
func (f *fuzzer) body(declared object) (schema object, media string) {
	b, ok := declared["requestBody"].(object)
	if !ok {
		return nil, ""
	}
	content := b["content"].(object)
	media = f.one(slices.Sorted(maps.Keys(content))...)
	return content[media].(object)["schema"].(object), media
}
