package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// people counts the created users, so that each has a unique address.
var people atomic.Int64

// client is a user, or a program, with an API key.
type client struct {
	server    *server
	host      string // of the org, if it has one; else that of the server
	token     string
	cookie    string // of a session, with its name
	proof     string // of a session
	id        string // of the user
	workspace string
	email     string
}

// at returns the same client, calling another node or a restarted one.
func (c *client) at(s *server) *client {
	movedClient := *c
	movedClient.server = s
	return &movedClient
}

// anonymous returns a client without a credential.
func (s *server) anonymous() *client { return &client{server: s} }

// do calls the API. A body that is not a string is sent as JSON. Headers have the form "Name: value"; a header without
// a value is omitted.
func (c *client) do(t *testing.T, method, path string, body any, headers ...string) *answer {
	t.Helper()
	a, err := c.try(t, method, path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v\nthe server wrote: %s", method, path, err, c.server.stderr)
	}
	return a
}

// request returns the request of do.
func (c *client) request(ctx context.Context, method, path string, body any, headers ...string) (*http.Request, error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		encoding, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoding)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.server.url+path, content)
	if err != nil {
		return nil, err
	}
	req.Host = cmp.Or(c.host, req.Host)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.cookie != "" {
		req.Header.Set("Cookie", c.cookie)
	}
	if c.proof != "" {
		req.Header.Set("Atrium-Console", c.proof)
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	input := map[string]bool{}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		value = strings.TrimSpace(value)
		if name == "Host" {
			req.Host = value
			continue
		}
		if !input[name] {
			req.Header.Del(name)
		}
		input[name] = true
		if value != "" {
			req.Header.Add(name, value)
		}
	}
	return req, nil
}

// try is do for calls that may find no server, and for goroutines other than the test's.
func (c *client) try(t *testing.T, method, path string, body any, headers ...string) (*answer, error) {
	t.Helper()
	req, err := c.request(t.Context(), method, path, body, headers...)
	if err != nil {
		return nil, err
	}
	return send(&http.Client{
		Transport: conformance.ValidatingTransport(t),
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if strings.HasPrefix(via[0].URL.Path, "/api/auth/oidc/") {
				return http.ErrUseLastResponse // it leads to a provider, or back from one
			}
			return nil
		},
	}, req)
}

// send returns the answer to a request.
func send(excess *http.Client, req *http.Request) (*answer, error) {
	resp, err := excess.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return &answer{call: req.Method + " " + req.URL.RequestURI(), status: resp.StatusCode, header: resp.Header,
		text: string(text), closes: resp.Close}, nil
}

// create sends a POST and expects 201.
func (c *client) create(t *testing.T, path string, body any, headers ...string) *answer {
	t.Helper()
	return c.do(t, "POST", path, body, headers...).is(t, 201)
}

// get sends a GET and expects 200. On a busy machine, a gateway may not answer within the second that a read gives it:
// get asks again until the response is not a stale one.
func (c *client) get(t *testing.T, path string, headers ...string) *answer {
	t.Helper()
	return proof.Await(t, "a response that is not stale", func() *answer {
		return c.do(t, "GET", path, nil, headers...).is(t, 200)
	}, func(a *answer) bool { return !strings.HasPrefix(path, payments) || a.at("stale") != "true" })
}

// template creates a private text template and returns its path.
func (c *client) template(t *testing.T, name string) string {
	t.Helper()
	return templates + "/" + c.create(t, templates, object{"name": name}).at("id")
}

// version creates a version of the template at path and returns its path.
func (c *client) version(t *testing.T, template, text string, labels ...string) string {
	t.Helper()
	body := object{"text": text}
	if len(labels) > 0 {
		body["labels"] = labels
	}
	return template + "/versions/" + c.create(t, template+"/versions", body).at("id")
}

// events lists the whole audit trail under a filter, newest first.
func (c *client) events(t *testing.T, filter string) []any {
	t.Helper()
	return c.get(t, "/api/events?limit=100"+filter).items(t)
}

// recordsJoins expects that events say how the members of c's workspace came into it: they were added, or created it.
func (c *client) recordsJoins(t *testing.T) {
	t.Helper()
	joinedTexts := append(c.get(t, "/api/events?limit=100&type=member.added").each(t, "data.user_id"),
		c.get(t, "/api/events?type=workspace.created").each(t, "actor")...)
	for _, m := range c.get(t, "/api/workspaces/"+c.workspace+"/members?limit=100").items(t) {
		if m := m.(object); m["kind"] == "person" && !slices.Contains(joinedTexts, m["user_id"].(string)) {
			t.Errorf("no event says that %v joined", m)
		}
	}
}

const templates = "/api/prompt-templates"

type object = map[string]any

// answer is a response that has been read.
type answer struct {
	call   string
	status int
	header http.Header
	text   string
	closes bool // the connection, after it

	parse sync.Once // tests ask for many members of one body
	body  any       // of JSON
}

func (a *answer) String() string { return fmt.Sprintf("%s answered %d %s", a.call, a.status, a.text) }

// is expects a status.
func (a *answer) is(t *testing.T, status int) *answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("%s\nwant %d", a, status)
	}
	return a
}

// problem expects a problem with a code; openapi.yaml ties the code to its status.
func (a *answer) problem(t *testing.T, status int, code string) *answer {
	t.Helper()
	if a.status != status || a.at("code") != code {
		t.Fatalf("%s\nwant %d %s", a, status, code)
	}
	return a
}

// at returns a member of the body, such as data.0.id: a string unquoted, other values as JSON, and "" if there is no
// such member.
func (a *answer) at(path string) string {
	v, ok := a.value(path)
	if text, isText := v.(string); !ok || isText {
		return text
	}
	encoding, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(encoding)
}

func (a *answer) value(path string) (v any, ok bool) {
	a.parse.Do(func() {
		decoder := json.NewDecoder(strings.NewReader(a.text))
		decoder.UseNumber()
		if decoder.Decode(&a.body) != nil {
			a.body = nil
		}
	})
	v = a.body
	for step := range strings.SplitSeq(path, ".") {
		switch inner := v.(type) {
		case object:
			if v, ok = inner[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(inner) {
				return nil, false
			}
			v = inner[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// has expects members of the body, by path.
func (a *answer) has(t *testing.T, want map[string]string) *answer {
	t.Helper()
	for path, value := range want {
		if got := a.at(path); got != value {
			t.Errorf("%s: %s is %q, want %q", a.call, path, got, value)
		}
	}
	return a
}

// items returns the entries of a list.
func (a *answer) items(t *testing.T) []any {
	t.Helper()
	v, _ := a.value("data")
	list, ok := v.([]any)
	if !ok {
		t.Fatalf("%s: there is no list in it", a)
	}
	return list
}

// each returns one member of every entry of a list.
func (a *answer) each(t *testing.T, member string) []string {
	t.Helper()
	out := make([]string, len(a.items(t)))
	for i := range out {
		out[i] = a.at(fmt.Sprintf("data.%d.%s", i, member))
	}
	return out
}

// wrong returns the entries of a problem's errors as "pointer code".
func (a *answer) wrong() []string {
	var out []string
	for i := 0; a.at(fmt.Sprintf("errors.%d.code", i)) != ""; i++ {
		out = append(out, a.at(fmt.Sprintf("errors.%d.pointer", i))+" "+a.at(fmt.Sprintf("errors.%d.code", i)))
	}
	return out
}

// same expects that two responses are indistinguishable.
func same(t *testing.T, name string, a, b *answer) {
	t.Helper()
	if a.status < 400 || a.status != b.status || a.text != b.text {
		t.Errorf("%s: not the same:\n%s\n%s", name, a, b)
	}
	for _, h := range []http.Header{a.header, b.header} {
		for _, changing := range []string{"Date", "Ratelimit"} {
			h.Del(changing)
		}
	}
	if !maps.EqualFunc(a.header, b.header, func(x, y []string) bool { return fmt.Sprint(x) == fmt.Sprint(y) }) {
		t.Errorf("%s: the headers are not the same:\n%v\n%v", name, a.header, b.header)
	}
}
