package atrium

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Header sets a header of this call.
func Header(name, value string) Option { return func(c *call) { c.headers.Set(name, value) } }

// Request sends a request for which this version of the client has no method. path begins with / and can have a query.
// body is encoded as JSON unless it is nil, and the response is decoded into out. A POST has an Idempotency-Key, and is
// repeated as other calls are.
func (client *Client) Request(ctx context.Context, method, path string, body, out any, options ...Option) error {
	target, err := url.Parse(path)
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || target.Host != "" {
		return fmt.Errorf("atrium: a path of the API begins with /")
	}
	c := &call{name: "request", method: method, path: []string{target.EscapedPath()}, query: target.Query(), body: body,
		keyed: method == http.MethodPost, merge: method == http.MethodPatch && body != nil}
	text, err := client.do(ctx, c, options)
	if err != nil || len(text) == 0 {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return &Error{Call: c.name, Problem: Problem{Type: "about:blank", Title: "Unexpected response", Status: 200,
			Code: string(CodeUnexpectedResponse), Detail: "The response is not JSON."}}
	}
	return nil
}
