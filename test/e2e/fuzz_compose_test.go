package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/require"
)

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
	declaredValues := f.doc["paths"].(object)[op.Path].(object)[strings.ToLower(op.Method)].(object)
	item, _ := f.doc["paths"].(object)[op.Path].(object)["parameters"].([]any)
	ownValues, _ := declaredValues["parameters"].([]any)
	query := url.Values{}
	for _, p := range slices.Concat(item, ownValues) {
		p := f.resolved(p.(object))
		name := p["name"].(string)
		if p["in"] == "path" || (p["required"] != true && f.rnd.IntN(3) > 0) {
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
			v = f.one("", "-1", "0", "101", "\x00", "\xff", "é", "null", "a,b", "true", strings.Repeat("x", 3000),
				"9223372036854775808", "1e3", "[]", "usr_x", "..")
		}
		query.Add(name, v)
	}
	if broken(6) {
		query.Add(f.one("limit", "unknown", "cursor", "", "a[b]", "\x00"), f.one("x", "7", ""))
	}
	if schema, media := f.body(declaredValues); schema != nil {
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
			header.Set("Content-Type", f.one("text/plain", "", "application/json; charset=utf-16", "application/xml",
				"multipart/form-data", "application/json,text/plain", "*/*", ";", strings.Repeat("a/", 200)))
		}
		if op.ID == "receivePaymentEvent" && f.rnd.IntN(3) > 0 {
			header.Set("Stripe-Signature", payment.Sign(secret.New(webhookKey), []byte(body), time.Now()))
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
	if op.Access.Area == "embed" {
		header.Set("Origin", f.one("https://shop.example", "https://a.stores.example", "null", "https://evil.example",
			"http://localhost:3000"))
		header.Set("Referer", f.one("https://shop.example/a", "https://evil.example/", "x",
			"https://a.stores.example/"))
	}
	if broken(20) {
		host = f.one("unknown.example", "RED.example.com", "red.example.com:8080", "red.example.com.", "[::1]",
			"blue.example.com", "xn--red", "red.example.com@evil")
	}
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	} else if broken(30) {
		target += f.one("?", "?%zz", "?a;b", "?&&&=", "?=")
	}
	req, err := http.NewRequestWithContext(t.Context(), method, f.url, strings.NewReader(body))
	require.NoError(t, err)
	address, err := url.Parse(f.url + target)
	if err != nil {
		t.Fatalf("%q: %v", target, err)
	}
	req.URL, req.Header, req.Host = address, header, host
	return req, body, plain
}

// caller chooses who sends a request, and to which host: mostly one where the caller is known.
func (f *fuzzer) caller(op *openapi.Operation) (*client, string) {
	i := f.rnd.IntN(len(f.callers) + 20)
	host := "red.example.com"
	switch {
	case slices.Contains([]string{"getEmbedTemplate", "renewEmbedSession", "sendEmbedMessage"}, op.ID):
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
		return f.one("", "x", "*", `""`, `"1"`, `W/"1-x"`, `"1-x", "2-y"`, `"999999999999999999999-x"`, "\xff", "é",
			"a,b", strings.Repeat("h", 300), strings.Repeat(`"1-x",`, 500))
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
		switch name := f.one("Accept", "Authorization", "Request-Id", "Origin", "X-Forwarded-For", "X-Forwarded-Host",
			"X-Http-Method-Override", "Range", "If-None-Match", "Expect", "Cookie", "Last-Event-ID", "Traceparent",
			"Accept-Encoding", "Content-Encoding", "Access-Control-Request-Method", "Forwarded", "Te", "Workspace-Id",
			"If-Modified-Since"); name {
		case "Accept":
			h.Set(name, f.one("text/html", "*/*;q=0", "application/json;q=0", ",,,", "application/problem+json",
				"a/b;c=\"", strings.Repeat("a/b,", 2000), "text/event-stream"))
		case "Authorization":
			h.Add(name, f.one("Bearer", "Basic eDp5", "Bearer "+strings.Repeat("a.", 5000), "Bearer e30.e30.e30",
				"bearer\tx", "Bearer ate_x"))
		case "Expect":
			h.Set(name, f.one("100-continue", "x"))
		default:
			h.Add(name, f.one("", "x", "*", "null", "https://app.example.com", "127.0.0.1, junk, ::1", "evil.example",
				"bytes=0-1", "DELETE", "gzip", "00-"+strings.Repeat("0", 32)+"-"+strings.Repeat("f", 16)+"-01",
				strings.Repeat("v", 4000), "é\xff"))
		}
	}
}

// path fills in the parameters of an operation's path.
func (f *fuzzer) path(op *openapi.Operation, broken bool) (path string, plain bool) {
	plain, path = true, op.Path
	parent := ""
	for strings.Contains(path, "{") {
		previous, rest, _ := strings.Cut(path, "{")
		name, next, _ := strings.Cut(rest, "}")
		if name == "embed_token" {
			name = "token"
		}
		v := f.text(name, object{})
		if lowerText, ok := f.familiar(name + " of " + parent); ok && f.rnd.IntN(8) > 0 {
			v = lowerText
		}
		parent = v
		switch {
		case name == "version_id" && f.rnd.IntN(3) == 0:
			v = f.one("active", "latest", "v1", "v2", "v0")
		case name == "org" && f.rnd.IntN(2) == 0:
			v = "red"
		case v == "" || strings.ContainsFunc(v,
			func(r rune) bool { return r < '-' || r > 'z' || r == '/' || r == '\\' }):
			v = "x"
		}
		if broken {
			plain = false
			v = f.one("%2F", "..", "%2e%2e", ".", "%00", "%ff", "a%2Fb", "%252F", "%C3%A9", "%0d%0aX:%20y", ";a=b", "~",
				"a:b", "*", "%20", "'", strings.Repeat("z", 5000), "%5c", v+"%2f", v+"/", v+"//", "me", "%E2%80%AE")
		}
		path = previous + v + next
	}
	return path, plain
}

// body is the schema of an operation's body and one of its media types; nil if it has none.
func (f *fuzzer) body(declaredValues object) (schema object, media string) {
	b, ok := declaredValues["requestBody"].(object)
	if !ok {
		return nil, ""
	}
	content := b["content"].(object)
	media = f.one(slices.Sorted(maps.Keys(content))...)
	return content[media].(object)["schema"].(object), media
}
