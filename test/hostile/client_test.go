package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
)

type object = map[string]any

// client calls a node as one caller of one org.
type client struct {
	url, host, token string // without a token it is anonymous
	workspace        string // sent as Workspace-Id; empty: not sent
	http             *http.Client
}

// answer is what a request returned.
type answer struct {
	call   string
	status int
	header http.Header
	text   string
}

// try calls the API. A body that is no string is sent as JSON.
func (c *client) try(ctx context.Context, method, path string, body any) (*answer, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, content)
	if err != nil {
		return nil, err
	}
	r.Host = c.host
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.workspace != "" {
		r.Header.Set("Workspace-Id", c.workspace)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return &answer{method + " " + path, resp.StatusCode, resp.Header, string(text)}, err
}

// do is try for calls that must be answered.
func (c *client) do(t *testing.T, method, path string, body any) *answer {
	t.Helper()
	a, err := c.try(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// ask is try for attacks: a call that was cut off has the status 0.
func (c *client) ask(ctx context.Context, method, path string, body any) *answer {
	a, err := c.try(ctx, method, path, body)
	if err != nil {
		return &answer{call: method + " " + path, text: err.Error()}
	}
	return a
}

// status is the status of ask.
func (c *client) status(ctx context.Context, method, path string, body any) int {
	return c.ask(ctx, method, path, body).status
}

// patient is do for a caller who has used up their own limit of requests: it repeats the call until it is not
// rate_limited.
func (c *client) patient(t *testing.T, method, path string, body any) *answer {
	t.Helper()
	for late := time.Now().Add(4 * program.Patience); ; pause(t.Context(), 200*time.Millisecond) {
		a := c.do(t, method, path, body)
		if a.status != http.StatusTooManyRequests || !strings.Contains(a.text, `"code":"rate_limited"`) ||
			time.Now().After(late) {
			return a
		}
	}
}

// in is the same caller in another workspace.
func (c *client) in(workspace string) *client {
	other := *c
	other.workspace = workspace
	return &other
}

// is expects a status.
func (a *answer) is(t *testing.T, status int) *answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("%s returns %d, not %d: %s", a.call, a.status, status, a.text)
	}
	return a
}

// refused expects a problem with a code, and Retry-After where waiting helps.
func (a *answer) refused(t *testing.T, status int, code string) {
	t.Helper()
	if a.status != status || !strings.Contains(a.text, `"code":"`+code+`"`) {
		t.Errorf("%s returns %d, not %d %s: %s", a.call, a.status, status, code, a.text)
	}
	if status == http.StatusTooManyRequests && a.header.Get("Retry-After") == "" {
		t.Errorf("%s returns 429 without Retry-After", a.call)
	}
}

// at returns a string of the JSON answer, by a path such as "data.0.id".
func (a *answer) at(t *testing.T, path string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(a.text), &v); err != nil {
		t.Fatalf("%s: %v: %s", a.call, err, a.text)
	}
	for step := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case object:
			v = in[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(in) {
				t.Fatalf("%s has no %s: %s", a.call, path, a.text)
			}
			v = in[i]
		default:
			t.Fatalf("%s has no %s: %s", a.call, path, a.text)
		}
	}
	return fmt.Sprint(v)
}

// newHTTP returns a client for HTTP that keeps enough connections for every attacker.
func newHTTP() *http.Client {
	return &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 256},
	}
}
