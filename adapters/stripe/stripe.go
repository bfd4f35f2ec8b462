// Package stripe calls an org's account at Stripe. Each call sends the idempotency key that it is given, and also
// stores it in metadata. Stripe repeats the first response to a key, its own failures included
// (https://docs.stripe.com/api/idempotent_requests). After such a failure the metadata show whether the call took
// effect.
package stripe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Config configures the account and how it is reached.
type Config struct {
	SecretKey secret.String
	Account   string // of Stripe Connect, on whose behalf the key is used; empty: the key's own
	BaseURL   string // empty: https://api.stripe.com

	Transport http.RoundTripper // nil: the network
}

// Gateway is an account at Stripe.
type Gateway struct {
	api     *stripe.Client
	backend stripe.Backend // of api
	key     secret.String
	account string
	live    bool // money moves

	meters sync.Map // event names of meters, by the price
}

var _ ports.Gateway = (*Gateway)(nil)

// The metadata keys of objects that Atrium has created or changed.
const (
	madeBy    = "atrium_key"     // the key of the call that made it
	changedBy = "atrium_changed" // of the one that changed it last
	waitsBy   = "atrium_waits"   // of the one whose change last waited for the payer
	planOf    = "atrium_plan"    // the plan that was sold
	planRefOf = "atrium_price"   // the price at which it was sold

	workspaceOf = "atrium_workspace" // whose customer it is
)

// maxAnswer is the most that is read from a response, in bytes.
const maxAnswer = 8 << 20

// New returns an account's gateway. It makes no call.
func New(c Config) *Gateway {
	transport := c.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute,
			ForceAttemptHTTP2: true,
		}
	}
	config := &stripe.BackendConfig{
		// Without a client of our own the library would follow redirects, and wait 80 s.
		HTTPClient: &http.Client{
			Transport:     bounded{transport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		MaxNetworkRetries: stripe.Int64(0), // its waits ignore the context; use cases retry
		EnableTelemetry:   stripe.Bool(false),
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull}, // it would log Stripe's texts about payers
	}
	if c.BaseURL != "" {
		config.URL = stripe.String(c.BaseURL)
	}
	backends := stripe.NewBackendsWithConfig(config)
	return &Gateway{api: stripe.NewClient(c.SecretKey.Reveal(), stripe.WithBackends(backends)), backend: backends.API,
		key: c.SecretKey, account: c.Account, live: Mode(c.SecretKey) == "live"}
}

// Mode returns a secret key's mode: live, in which money moves, or test. The two modes have separate customers.
func Mode(key secret.String) string {
	for _, prefix := range []string{"sk_live_", "rk_live_"} {
		if text := key.Reveal(); len(text) > len(prefix) && text[:len(prefix)] == prefix {
			return "live"
		}
	}
	return "test"
}

// bounded limits the size of responses, returns only those that are Stripe's, and does not repeat calls that change
// something.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper. http.Transport repeats a request with an Idempotency-Key when its connection
// breaks, and returns only the second response: a refusal would hide that the first attempt may have taken effect. It
// looks for the header by its canonical name, so another spelling prevents this.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	const header = "Idempotency-Key"
	if key := r.Header.Get(header); key != "" {
		r = r.Clone(r.Context())
		r.Header.Del(header)
		r.Header["idempotency-key"] = []string{key}
	}
	resp, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && resp.StatusCode < http.StatusBadRequest && !isObject(body):
		return nil, errNoObject
	case err != nil:
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// errNoObject reports a response without an error that Stripe did not send, such as a proxy's page. The library would
// take it for an object without any values. What the call did is unknown.
var errNoObject = errors.New("no object of Stripe's")

// isObject reports whether a body is an object of Stripe's, which has an id, a list of them, or the event of a meter.
func isObject(body []byte) bool {
	var o struct{ ID, Identifier, Object string }
	return json.Unmarshal(body, &o) == nil && (o.ID != "" || o.Identifier != "" || o.Object == "list")
}

// writeParams returns the common parameters of calls that change something.
func (g *Gateway) writeParams(key string) stripe.Params {
	p := g.readParams()
	p.SetIdempotencyKey(key)
	return p
}

func (g *Gateway) readParams() stripe.Params {
	var p stripe.Params
	if g.account != "" {
		p.SetStripeAccount(g.account)
	}
	return p
}

func (g *Gateway) listParams() stripe.ListParams {
	p := stripe.ListParams{Limit: stripe.Int64(100)}
	if g.account != "" {
		p.SetStripeAccount(g.account)
	}
	return p
}

// translate returns the fault for an error of the library. It never contains Stripe's own text, which may quote the
// payer's input.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var failure *stripe.Error
	if errors.As(err, &failure) {
		return faultOf(failure)
	}
	var network net.Error
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.As(err, &network) &&
		network.Timeout():
		return fmt.Errorf("%w: %w", payment.ErrGatewayTimeout, err)
	case errors.As(err, &syntax), errors.As(err, &kind), errors.Is(err, errNoObject):
		return fmt.Errorf("%w: %w", payment.ErrGateway, errNoObject)
	case isNetwork(err):
		return fmt.Errorf("%w: %w", payment.ErrGatewayUnavailable, err)
	}
	return fmt.Errorf("%w: %T", payment.ErrGateway, err)
}

func isNetwork(err error) bool {
	var network net.Error
	var call *url.Error
	return errors.As(err, &network) || errors.As(err, &call) || errors.Is(err, io.EOF)
}

// faultOf returns the fault for an error response of Stripe.
func faultOf(failure *stripe.Error) error {
	reason := string(failure.Code)
	if reason == "" {
		reason = string(failure.Type)
	}
	if right := missingRight.FindString(failure.Msg); right != "" {
		reason += " without " + right
	}
	detail := fmt.Sprintf("%s (%d, %s)", reason, failure.HTTPStatusCode, failure.RequestID)
	switch status := failure.HTTPStatusCode; {
	case failure.Code == stripe.ErrorCodeTaxIDInvalid, failure.Code == stripe.ErrorCodeTaxIDProhibited:
		return payment.ErrTaxIDInvalid
	case failure.Code == stripe.ErrorCodeCustomerTaxLocationInvalid:
		return payment.ErrAddressInvalid
	case failure.Type == stripe.ErrorTypeCard, status == http.StatusPaymentRequired:
		code := string(failure.DeclineCode)
		if code == "" {
			code = reason
		}
		if failure.Code == changeWantsPayer {
			code = "authentication_required"
		}
		return &payment.DeclinedError{DeclineCode: code}
	case status == http.StatusTooManyRequests && failure.Code != stripe.ErrorCodeLockTimeout:
		return &payment.LimitedError{Wait: retryAfter(failure), Reason: detail}
	case status >= http.StatusInternalServerError && isReplay(failure):
		return &payment.KeptFailure{Reason: detail}
	// 409: a request with the same key is running
	case status >= http.StatusInternalServerError, status == http.StatusConflict, status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s", payment.ErrGatewayUnavailable, detail)
	case status == 0:
		return fmt.Errorf("%w: %s", payment.ErrGateway, detail)
	}
	return &payment.Rejection{Reason: detail, Fault: configurationFault(failure)}
}

// configurationFault returns the fault for what an operator or a payer can change; nil for other refusals. A refusal of
// a currency has a text only (https://docs.stripe.com/billing/customer#currency), a refusal of a key a status
// (https://docs.stripe.com/api/errors#errors-http_status_code_summary).
func configurationFault(failure *stripe.Error) *fault.Error {
	switch {
	case failure.HTTPStatusCode == http.StatusUnauthorized, failure.HTTPStatusCode == http.StatusForbidden:
		return payment.ErrGatewayDenied
	case failure.Code == stripe.ErrorCodeAmountTooLarge:
		return payment.ErrAmountTooLarge
	case strings.Contains(failure.Msg, "combine currencies on a single customer"):
		return payment.ErrCurrencyConflict
	}
	return nil
}

// missingRight finds the name of the right in Stripe's text about a restricted key that has not that right.
var missingRight = regexp.MustCompile(`\brak_[a-z0-9_]{1,60}\b`)

// isRefused reports whether a translated error says that Stripe does not accept the call.
func isRefused(err error) bool {
	_, isRefusal := errors.AsType[*payment.Rejection](err)
	return isRefusal
}

// afterEffect returns the error for a call that follows another one, which has taken effect: even if the second one had
// no effect, the outcome of both together is unknown.
func afterEffect(err error) error {
	if payment.NoEffect(err) {
		return &payment.UnsettledError{Refusal: err.Error()}
	}
	return err
}

// isReplay reports whether Stripe repeated the response that it stored under a call's key
// (https://docs.stripe.com/error-low-level#idempotency).
func isReplay(failure *stripe.Error) bool {
	return failure.LastResponse != nil && failure.LastResponse.Header.Get("Idempotent-Replayed") == "true"
}

func retryAfter(failure *stripe.Error) time.Duration {
	if failure.LastResponse == nil {
		return 0
	}
	seconds, err := strconv.Atoi(failure.LastResponse.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 3600 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// isMissing reports whether Stripe does not know the object that a call names.
func isMissing(err error) bool {
	var failure *stripe.Error
	return errors.As(err, &failure) &&
		(failure.Code == stripe.ErrorCodeResourceMissing || failure.HTTPStatusCode == http.StatusNotFound)
}

// isKeyReused reports whether Stripe knows a call's key with other parameters: an older Atrium's.
func isKeyReused(err error) bool {
	var failure *stripe.Error
	return errors.As(err, &failure) && failure.Type == stripe.ErrorTypeIdempotency
}

// isUnanswered reports whether a call's outcome is unknown and there is time left to look it up.
func isUnanswered(ctx context.Context, err error) bool {
	return payment.OutcomeUnknown(translate(err)) && ctx.Err() == nil
}

func fromSeconds(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
