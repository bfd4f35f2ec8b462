package atrium

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Option changes one call.
type Option func(*call)

// IfMatch makes the call fail with CodeRevisionMismatch if the resource has another ETag now.
func IfMatch(etag string) Option { return func(c *call) { c.headers.Set("If-Match", etag) } }

// IfNoneMatch makes the call fail with ErrNotModified if the resource still has this ETag.
func IfNoneMatch(etag string) Option { return func(c *call) { c.headers.Set("If-None-Match", etag) } }

// IdempotencyKey replaces the random key of a call that creates or changes something. With a stored key, a program can
// repeat the call after a restart.
func IdempotencyKey(key string) Option { return func(c *call) { c.key = key } }

// InWorkspace selects the workspace of this call, by its id or slug.
func InWorkspace(workspace string) Option { return func(c *call) { c.workspace = workspace } }

// Credential replaces the credential of this call.
func Credential(token string) Option { return func(c *call) { c.token = &token } }

// Timeout replaces the limit of each attempt of this call. 0 means none.
func Timeout(d time.Duration) Option { return func(c *call) { c.timeout = &d } }

// MaxRetries replaces how often this call is repeated.
func MaxRetries(n int) Option { return func(c *call) { c.retries = &n } }

// Response is what a response says besides its body.
type Response struct {
	Status    int
	ETag      string // for IfMatch; empty if the resource has none
	RequestID string
	Replayed  bool // whether this is the stored response of an earlier call with the same key
	Header    http.Header
}

// Into stores the details of the response in r.
func Into(r *Response) Option { return func(c *call) { c.response = r } }

// call is one call with its options.
type call struct {
	name, method string
	path         []string // the text and the parameters of the path, in turn
	query        url.Values
	body         any
	keyed        bool   // has an Idempotency-Key
	merge        bool   // the body is a merge patch
	repeatable   bool   // a POST that can be repeated without a key
	accept       string // the media type of the response; empty: JSON
	stream       bool   // the response is read as it comes

	headers        http.Header
	key, workspace string
	token          *string
	timeout        *time.Duration
	retries        *int
	response       *Response
}

// optional returns nil for a body that is not given.
func optional[T any](body *T) any {
	if body == nil {
		return nil
	}
	return body
}

// addValue adds a value of a query unless it is the zero value.
func addValue[T any](v url.Values, name string, value T) {
	switch x := any(value).(type) {
	case *int64:
		if x != nil {
			v.Set(name, fmt.Sprint(*x))
		}
	case *int:
		if x != nil {
			v.Set(name, fmt.Sprint(*x))
		}
	case *bool:
		if x != nil {
			v.Set(name, fmt.Sprint(*x))
		}
	case []string:
		v[name] = append(v[name], x...)
	case time.Time:
		if !x.IsZero() {
			v.Set(name, x.UTC().Format(time.RFC3339Nano))
		}
	case map[string]string:
		for member, text := range x {
			field, operator, hasOperator := strings.Cut(member, "[") // amount[gte] is filter[amount][gte]
			if hasOperator {
				operator = "[" + operator
			}
			v.Set(name+"["+field+"]"+operator, text)
		}
	default:
		if s := fmt.Sprint(x); s != "" && s != "0" && s != "false" {
			v.Set(name, s)
		}
	}
}

// url returns the address of the call. A parameter that would lead to another operation is refused.
func (c *call) url(base *url.URL) (string, error) {
	var path strings.Builder
	for i, part := range c.path {
		if i%2 == 0 {
			path.WriteString(part)
			continue
		}
		if part == "" || part == "." || part == ".." {
			return "", fmt.Errorf("atrium: %s: a parameter of the path is empty, . or ..", c.name)
		}
		path.WriteString(url.PathEscape(part))
	}
	target := base.String() + path.String()
	if query := c.query.Encode(); query != "" {
		target += "?" + query
	}
	return target, nil
}

// safe reports whether the call can be repeated although an attempt may have taken effect.
func (c *call) safe() bool {
	return c.keyed || c.repeatable || (c.method != http.MethodPost && c.method != http.MethodPatch)
}

// send makes a call, and decodes the body of its response.
func send[T any](ctx context.Context, client *Client, c *call, options []Option) (*T, error) {
	out, err := sendOptional[T](ctx, client, c, options)
	if err == nil && out == nil {
		err = unexpected(c)
	}
	return out, err
}

// sendOptional is send for a call whose response can have no body: then the result is nil.
func sendOptional[T any](ctx context.Context, client *Client, c *call, options []Option) (out *T, err error) {
	body, err := client.do(ctx, c, options)
	if err == nil && len(body) > 0 && json.Unmarshal(body, &out) != nil {
		err = unexpected(c)
	}
	return out, err
}

// unexpected is the error of a response that is not from Atrium.
func unexpected(c *call) *Error {
	return &Error{Call: c.name, Problem: Problem{Type: "about:blank", Title: "Unexpected response", Status: 200,
		Code: string(CodeUnexpectedResponse), Detail: "The body of the response is not what the API documents."}}
}

// sendOnly makes a call whose response has no body.
func sendOnly(ctx context.Context, client *Client, c *call, options []Option) error {
	_, err := client.do(ctx, c, options)
	return err
}

// do makes a call with its attempts, and returns the body of the response.
func (client *Client) do(ctx context.Context, c *call, options []Option) ([]byte, error) {
	if err := c.prepare(options); err != nil {
		return nil, err
	}
	var body []byte
	_, err := client.attempts(ctx, c, func(res *http.Response) (err error) {
		body, err = io.ReadAll(res.Body)
		return err
	})
	return body, err
}

// prepare applies the options, and encodes the body.
func (c *call) prepare(options []Option) error {
	c.headers = http.Header{}
	for _, o := range options {
		o(c)
	}
	if c.body != nil {
		text, err := json.Marshal(c.body)
		if err != nil {
			return fmt.Errorf("atrium: %s: the body cannot be encoded: %w", c.name, err)
		}
		c.body = json.RawMessage(text)
	}
	if c.keyed {
		c.headers.Set("Idempotency-Key", cmp.Or(c.key, rand.Text())) // one for all attempts
	}
	return nil
}

// attempts repeats an attempt as long as it can help. It gives the response of a success to read.
func (client *Client) attempts(ctx context.Context, c *call, read func(*http.Response) error) (*http.Response, error) {
	retries := client.retries
	if c.retries != nil {
		retries = *c.retries
	}
	lost := false // whether an attempt may have taken effect
	for number := 1; ; number++ {
		res, end, err := client.attempt(ctx, c, number, read)
		if err == nil {
			end(0)
			return res, nil
		}
		failed, isProblem := errors.AsType[*Error](err)
		if isProblem && lost && c.method == http.MethodDelete && isGone(failed) {
			end(0)
			return res, nil // an earlier attempt has deleted it, and its response was lost
		}
		wait, isRetry := c.retryIn(err, number)
		if number > retries || ctx.Err() != nil {
			isRetry = false
		}
		if !isRetry {
			end(0)
			return nil, err
		}
		lost = lost || !isProblem || failed.Status >= 500
		end(wait)
		if err := client.wait(ctx, wait); err != nil {
			return nil, &ConnectionError{c.name, err}
		}
	}
}

func isGone(e *Error) bool {
	return e.Status == http.StatusNotFound && strings.HasSuffix(e.Code, "_not_found")
}

// maxRetryAfter is how long a call waits at most because the server asks for it.
const maxRetryAfter = time.Minute

// retryIn returns whether another attempt can help after err, and when.
func (c *call) retryIn(err error, number int) (time.Duration, bool) {
	backoff := min(8*time.Second, 500*time.Millisecond<<min(number-1, 10))
	wait := backoff/2 + mathrand.N(backoff/2+1)
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		_, isConnection := errors.AsType[*ConnectionError](err)
		return wait, isConnection && c.safe()
	}
	isRetry := false
	switch {
	case failed.Status == http.StatusTooManyRequests, failed.Status == http.StatusServiceUnavailable:
		isRetry = true // the call was refused before it began
	case failed.Status == http.StatusRequestTimeout, failed.Status == http.StatusBadGateway,
		failed.Status == http.StatusGatewayTimeout:
		isRetry = c.safe()
	case failed.Status == http.StatusInternalServerError, failed.Code == string(CodeIdempotencyInFlight):
		isRetry = c.keyed
	}
	return max(wait, failed.RetryAfter), isRetry && failed.RetryAfter <= maxRetryAfter
}

// attempt sends one request. end tells the observer when the next one follows.
func (client *Client) attempt(ctx context.Context, c *call, number int, read func(*http.Response) error,
) (res *http.Response, end func(retryIn time.Duration), err error) {
	end = func(time.Duration) {}
	timeout := client.timeout
	if c.timeout != nil {
		timeout = *c.timeout
	}
	callCtx := ctx
	if timeout > 0 && !c.stream {
		var cancel context.CancelFunc
		callCtx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	req, err := client.request(callCtx, c)
	if err != nil {
		return nil, end, err
	}
	started := time.Now()
	if client.observe != nil {
		attempt := &Attempt{Call: c.name, Method: c.method, Path: req.URL.Path, Number: number, Headers: http.Header{}}
		done := client.observe(attempt)
		for name, values := range attempt.Headers {
			req.Header[name] = values
		}
		if done != nil {
			end = func(retryIn time.Duration) {
				outcome := &Outcome{Err: err, Duration: time.Since(started), RetryIn: retryIn}
				if res != nil {
					outcome.Status, outcome.RequestID = res.StatusCode, res.Header.Get("Request-Id")
				}
				done(outcome)
			}
		}
	}
	res, err = client.http.Do(req)
	if err != nil {
		return nil, end, &ConnectionError{c.name, reason(err)}
	}
	defer func() {
		if !c.stream || err != nil {
			_ = res.Body.Close()
		}
	}()
	if err = c.examine(res); err == nil {
		if err = read(res); err != nil {
			err = &ConnectionError{c.name, err}
		}
	}
	return res, end, err
}

// reason returns the cause of an error of net/http, whose text would contain the URL with its query.
func reason(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// examine returns an error for a response that is not a success.
func (c *call) examine(res *http.Response) error {
	if c.response != nil {
		*c.response = Response{Status: res.StatusCode, ETag: res.Header.Get("ETag"),
			RequestID: res.Header.Get("Request-Id"), Replayed: res.Header.Get("Idempotency-Replayed") == "true",
			Header: res.Header}
	}
	if res.StatusCode == http.StatusNotModified {
		return ErrNotModified
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		body = nil // the status says enough
	}
	return problemOf(c.name, res, body)
}

// request builds the request of an attempt.
func (client *Client) request(ctx context.Context, c *call) (*http.Request, error) {
	target, err := c.url(client.base)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if text, ok := c.body.(json.RawMessage); ok {
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("atrium: %s: %w", c.name, err)
	}
	for name, values := range c.headers {
		req.Header[name] = values
	}
	req.Header.Set("Accept", cmp.Or(c.accept, "application/json"))
	req.Header.Set("User-Agent", userAgent())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.merge {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if workspace := cmp.Or(c.workspace, client.workspace); workspace != "" {
		req.Header.Set("Workspace-Id", workspace)
	}
	token, err := client.credential(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("atrium: %s: %w", c.name, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}
