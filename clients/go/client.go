// Package atrium calls the HTTP API of Atrium.
//
//	client, err := atrium.New("https://atrium.example.com", os.Getenv("ATRIUM_KEY"))
//	template, err := client.PromptTemplates.Get(ctx, "support/greeting")
//
// Every method of a resource is one operation of the API. Calls that may be repeated are repeated: a call that creates
// or changes something has an Idempotency-Key, the same for each attempt, so that it takes effect once. Errors that
// the API returns are *Error; compare their codes with errors.Is.
package atrium

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"
)

// Version is the version of this client.
const Version = "0.1.0"

// Client calls one Atrium server with one credential. It is safe for concurrent use.
type Client struct {
	API

	// Prompts returns prompts from memory, as applications need them.
	Prompts *Prompts

	base      *url.URL
	token     func(context.Context) (string, error) // not a field that fmt would print
	workspace string
	retries   int
	timeout   time.Duration
	http      *http.Client
	observe   func(*Attempt) func(*Outcome)
	wait      func(context.Context, time.Duration) error
	logger    *slog.Logger
}

// ClientOption changes a client.
type ClientOption func(*Client)

// WithWorkspace selects the workspace by its id or slug, if the credential gives access to several.
func WithWorkspace(workspace string) ClientOption { return func(c *Client) { c.workspace = workspace } }

// WithToken asks for the credential before each attempt, for tokens that expire.
func WithToken(token func(context.Context) (string, error)) ClientOption {
	return func(c *Client) { c.token = token }
}

// WithMaxRetries limits how often a call is repeated: 2 times by default.
func WithMaxRetries(n int) ClientOption { return func(c *Client) { c.retries = n } }

// WithTimeout limits each attempt of a call: 30 seconds by default. Streams have no limit.
func WithTimeout(d time.Duration) ClientOption { return func(c *Client) { c.timeout = d } }

// WithHTTPClient sends requests with h, for its Transport: proxies, certificates, tracing such as otelhttp's. Redirects
// are never followed, because the API has none and they would show the credential to others.
func WithHTTPClient(h *http.Client) ClientOption { return func(c *Client) { c.http = h } }

// WithObserver calls observe before each attempt, and the function that it returns, unless it is nil, after it: for
// logs, metrics and traces. It can add headers to the attempt, such as traceparent.
func WithObserver(observe func(*Attempt) func(*Outcome)) ClientOption {
	return func(c *Client) { c.observe = observe }
}

// WithLogger logs to logger instead of the default one: a warning when a prompt is replaced by its fallback, once in an
// outage, and each attempt of a call at the level Debug if the variable ATRIUM_CLIENT_LOG is debug. Without WithLogger,
// this variable also writes the log to the standard error.
func WithLogger(logger *slog.Logger) ClientOption { return func(c *Client) { c.logger = logger } }

// Attempt is one HTTP request of a call. It contains no credential.
type Attempt struct {
	Call    string      // the name of the call: promptTemplates.versions.activate
	Method  string      // POST
	Path    string      // without the query, which can hold secrets
	Number  int         // 1 for the first attempt
	Headers http.Header // further headers to send
}

// Outcome is how an attempt ended.
type Outcome struct {
	Status    int           // 0 if there was no response
	RequestID string        // of the response
	Err       error         // nil for a success
	Duration  time.Duration // until the response was read; of a stream, until its headers were
	RetryIn   time.Duration // until the next attempt; 0 if this was the last one
}

// New returns a client of the server at base, such as https://atrium.example.com, with an API key or a token of an
// issuer. The token is empty if WithToken is given, or for calls that need no credential. Spaces and line breaks around
// it are ignored. New returns ErrSecret for a token that cannot be one.
func New(base, token string, options ...ClientOption) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return nil, fmt.Errorf("atrium: the address of the server must be an http or https URL, such as " +
			"https://atrium.example.com")
	}
	if parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, fmt.Errorf("atrium: the address of the server must have no user, query or fragment")
	}
	parsed.Path = strings.TrimSuffix(parsed.Path, "/")
	c := &Client{base: parsed, retries: 2, timeout: 30 * time.Second, http: http.DefaultClient, wait: sleep}
	token, err = checked("credential", token)
	if err != nil {
		return nil, err
	}
	c.token = func(context.Context) (string, error) { return token, nil }
	for _, o := range options {
		o(c)
	}
	isDebug := os.Getenv("ATRIUM_CLIENT_LOG") == "debug"
	switch {
	case c.logger == nil && isDebug:
		c.logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	case c.logger == nil:
		c.logger = slog.Default()
	}
	if isDebug {
		c.observe = logged(c.observe, c.logger)
	}
	plain := *c.http
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &plain
	c.API = newAPI(c)
	c.Prompts = newPrompts(c)
	return c, nil
}

// logged returns an observer that logs each attempt, beside another one, which may be nil.
func logged(observe func(*Attempt) func(*Outcome), logger *slog.Logger) func(*Attempt) func(*Outcome) {
	return func(a *Attempt) func(*Outcome) {
		var done func(*Outcome)
		if observe != nil {
			done = observe(a)
		}
		return func(o *Outcome) {
			logger.Debug("atrium: attempt", "call", a.Call, "method", a.Method, "path", a.Path, "number", a.Number,
				"status", o.Status, "error", o.Err, "duration", o.Duration)
			if done != nil {
				done(o)
			}
		}
	}
}

// String tells where the client calls, without the credential.
func (c *Client) String() string { return "atrium.Client(" + c.base.Redacted() + ")" }

// GoString is String.
func (c *Client) GoString() string { return c.String() }

func userAgent() string {
	return "atrium-go/" + Version + " (" + runtime.Version() + "; " + runtime.GOOS + "/" + runtime.GOARCH + ")"
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
