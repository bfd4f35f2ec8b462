package stripe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
)

const canary = "sk_test_c4n4ry"

// server answers as a test says, and keeps what it was asked.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string // method, path, and the idempotency key
}

func serve(t *testing.T, answer func(call string, w http.ResponseWriter, r *http.Request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := r.Method + " " + r.URL.Path
		s.mu.Lock()
		s.calls = append(s.calls, strings.TrimSpace(call+" "+r.Header.Get("Idempotency-Key")))
		s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+canary {
			t.Errorf("%s was called by %q", call, r.Header.Get("Authorization"))
		}
		answer(call, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// received is what has been asked by now.
func (s *server) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *server) gateway() *stripe.Gateway {
	return stripe.New(stripe.Config{SecretKey: secret.New(canary), BaseURL: s.URL})
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_1")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func TestWhatStripeSaysIsToldInOurWords(t *testing.T) {
	input := "4000 0000 0000 0002"
	problem := func(kind, code, extra string) string {
		return fmt.Sprintf(`{"error":{"type":%q,"code":%q,"message":"Your card %s and key %s.","param":"x"%s}}`, kind,
			code, input, canary, extra)
	}
	refusal := func(message, code string) string {
		return fmt.Sprintf(`{"error":{"type":"invalid_request_error","code":%q,"message":%q}}`, code, message)
	}
	for name, tt := range map[string]struct {
		answer  func(w http.ResponseWriter)
		silent  bool
		want    error
		unknown bool
		decline string
		after   time.Duration
		log     string // what the error says besides
	}{
		"a declined card": {answer: func(w http.ResponseWriter) {
			reply(w, 402, problem("card_error", "card_declined", `,"decline_code":"insufficient_funds"`))
		}, want: payment.ErrCardDeclined, decline: "insufficient_funds"},
		"a card that is just wrong": {
			answer: func(w http.ResponseWriter) { reply(w, 402, problem("card_error", "expired_card", "")) },
			want:   payment.ErrCardDeclined, decline: "expired_card"},
		"a mistake of ours": {
			answer: func(w http.ResponseWriter) {
				reply(w, 400, problem("invalid_request_error", "parameter_missing", ""))
			}, want: payment.ErrGateway},
		"a key that is not right": {
			answer: func(w http.ResponseWriter) { reply(w, 401, problem("invalid_request_error", "", "")) },
			want:   payment.ErrGatewayDenied},
		"a restricted key without a right": {
			answer: func(w http.ResponseWriter) {
				reply(w, 403, refusal("The provided key '"+canary+"' does not have the required permissions. "+
					"Having the "+
					"'rak_subscription_write' permission would allow this request to continue.", ""))
			}, want: payment.ErrGatewayDenied, log: "rak_subscription_write"},
		"an amount that is too large": {
			answer: func(w http.ResponseWriter) { reply(w, 400, refusal("", "amount_too_large")) },
			want:   payment.ErrAmountTooLarge},
		"another currency than before": {
			answer: func(w http.ResponseWriter) {
				reply(w, 400, refusal("You cannot combine currencies on a single customer. This customer has an "+
					"active subscription, discount, quote, or invoice item with currency eur.", ""))
			}, want: payment.ErrCurrencyConflict},
		"what is not there": {
			answer: func(w http.ResponseWriter) {
				reply(w, 404, problem("invalid_request_error", "resource_missing", ""))
			}, want: payment.ErrGateway},
		"too many calls": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "7")
			reply(w, 429, problem("invalid_request_error", "rate_limit", ""))
		}, want: payment.ErrGatewayUnavailable, unknown: false, after: 7 * time.Second},
		"an object in use": {
			answer: func(w http.ResponseWriter) { reply(w, 429, problem("invalid_request_error", "lock_timeout", "")) },
			want:   payment.ErrGatewayUnavailable, unknown: true},
		"the same key is in use": {
			answer: func(w http.ResponseWriter) {
				reply(w, 409, problem("idempotency_error", "idempotency_key_in_use", ""))
			}, want: payment.ErrGatewayUnavailable, unknown: true},
		"a failure of Stripe's": {
			answer: func(w http.ResponseWriter) { reply(w, 500, problem("api_error", "", "")) },
			want:   payment.ErrGatewayUnavailable, unknown: true},
		"a failure without words": {answer: func(w http.ResponseWriter) { reply(w, 503, "<html>"+input+"</html>") },
			unknown: true},
		"success that cannot be read": {
			answer: func(w http.ResponseWriter) { reply(w, 200, `{"id": "seti_1", "`+input) }, want: payment.ErrGateway,
			unknown: true},
		"another page": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			reply(w, 302, "{}")
		}, want: payment.ErrGateway, unknown: true},
		"a connection that breaks": {answer: func(w http.ResponseWriter) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
		}, want: payment.ErrGatewayUnavailable, unknown: true},
		"no answer": {silent: true, want: payment.ErrGatewayTimeout, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ string, w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if tt.silent {
					<-r.Context().Done()
					return
				}
				tt.answer(w)
			})
			ctx, cancel := context.WithCancel(t.Context())
			if tt.silent {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
			}
			defer cancel()
			_, err := s.gateway().CreateSetupIntent(ctx, "k", "cus_1", payment.OffSession)
			if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) || payment.OutcomeUnknown(err) != tt.unknown {
				t.Fatalf("error = %v, want %v; unknown: %v", err, tt.want, payment.OutcomeUnknown(err))
			}
			d, isDeclined := errors.AsType[*payment.DeclinedError](err)
			assert.That(t, !isDeclined || d.DeclineCode == tt.decline, "declined: %+v", d)
			f, ok := errors.AsType[*fault.Error](err)
			assert.That(t, !ok || f.RetryAfter == tt.after, "wait: %+v", f)
			text := fmt.Sprintf("%v %+v", err, err)
			assert.That(t, !strings.Contains(text, input) && !strings.Contains(text, canary) &&
				strings.Contains(text, tt.log), "the error tells too much or too little: %s", text)
			if len(s.received()) != 1 || s.received()[0] != "POST /v1/setup_intents k" {
				t.Errorf("calls: %v", s.received())
			}
		})
	}
}

// TestAFailureThatIsAnsweredAgainIsLookedInto simulates a call that failed after it took effect: Stripe returns
// the failure again for each retry with the same key.
func TestAFailureThatIsAnsweredAgainIsLookedInto(t *testing.T) {
	const subscription = `{"id":"sub_1","object":"subscription","status":"active","customer":"cus_1","created":1,"metadata":{"atrium_key":"k","atrium_plan":"team","atrium_changed":"k2"},
		"items":{"object":"list","data":[{"id":"si_1","quantity":2,"current_period_start":100,"current_period_end":200,"price":{"id":"price_1"}}]}}`
	list := func(owner string) string { return `{"object":"list","has_more":false,"data":[` + owner + `]}` }
	answers := map[string]string{
		"GET /v1/customers": list(
			`{"id":"cus_0","metadata":{}},{"id":"cus_1","metadata":{"atrium_key":"k"}}`),
		"GET /v1/customers/cus_1":                             `{"id":"cus_1","invoice_settings":{"default_payment_method":"pm_1"}}`,
		"GET /v1/customers/cus_1/payment_methods/pm_1":        `{"id":"pm_1"}`,
		"GET /v1/subscriptions":                               list(`{"id":"sub_0","metadata":{}},` + subscription),
		"GET /v1/subscriptions/sub_1":                         subscription,
		"GET /v1/subscriptions/sub_9":                         `{"id":"sub_9","status":"canceled"}`,
		"GET /v1/invoices":                                    list(""),
		"GET /v1/customers/cus_1/payment_methods/pm_detached": "",
	}
	isDetached := false
	s := serve(t, func(call string, w http.ResponseWriter, r *http.Request) {
		body, exists := answers[call]
		switch {
		case call == "GET /v1/customers/cus_1/payment_methods/pm_detached" && !isDetached:
			isDetached = true // before the call it is there
			reply(w, 200, `{"id":"pm_detached"}`)
		case exists && body == "":
			reply(w, 404, `{"error":{"type":"invalid_request_error","code":"resource_missing"}}`)
		case exists:
			reply(w, 200, body)
		default:
			reply(w, 500, `{"error":{"type":"api_error","message":"again"}}`)
		}
	})
	g, ctx := s.gateway(), t.Context()
	c, err := g.CreateCustomer(ctx, "k", payment.Details{Email: "ann@example.com"})
	assert.That(t, err == nil && c == "cus_1", "CreateCustomer = %q, %v", c, err)
	_, err = g.CreateCustomer(ctx, "another", payment.Details{})
	assert.ErrorIs(t, err, payment.ErrGatewayUnavailable)
	h, err := g.Subscribe(ctx, "k", "cus_1", payment.Order{Plan: plan, Quantity: 2})
	assert.That(t, err == nil && h.ID == "sub_1" && h.Key == "k" && h.Plan == "team" && len(h.Items) == 1 &&
		h.Items[0].Quantity == 2 && h.Items[0].PeriodEnd.Unix() == 200 && h.Customer == "cus_1" &&
		h.Status == payment.Active, "Subscribe = %+v, %v", h, err)
	_, err = g.Subscribe(ctx, "another", "cus_1", payment.Order{Plan: plan, Quantity: 2})
	assert.That(t, payment.OutcomeUnknown(err), "of a key that made nothing: %v", err)
	if h, err := g.Amend(ctx, "k2", "cus_1", "sub_1",
		payment.Amendment{Plan: plan, Quantity: 3, Resell: true}); err != nil || h.ID != "sub_1" {
		t.Errorf("Amend = %+v, %v", h, err)
	}
	_, err = g.Amend(ctx, "k3", "cus_1", "sub_1", payment.Amendment{Plan: plan, Quantity: 3, Resell: true})
	assert.That(t, payment.OutcomeUnknown(err), "of a key that changed nothing: %v", err)
	assert.NoError(t, g.SetDefault(ctx, "k", "cus_1", "pm_1"))
	assert.NoError(t, g.Detach(ctx, "k", "cus_1", "pm_detached"))
	assert.NoError(t, g.Cancel(ctx, "k", "cus_1", "sub_9", payment.Cancellation{}))
	err = g.Cancel(ctx, "k", "cus_1", "sub_1", payment.Cancellation{})
	assert.That(t, payment.OutcomeUnknown(err), "Cancel of one that lives: %v", err)
}

// TestAChangeThatWasChargedIsMadeThoughItsScheduleIsRefused has a schedule of someone else whose later phase Stripe no
// longer accepts, such as one with an archived price.
func TestAChangeThatWasChargedIsMadeThoughItsScheduleIsRefused(t *testing.T) {
	subscription := func(quantity int, changedBy string) string {
		return fmt.Sprintf(`{"id":"sub_1","object":"subscription","status":"active","customer":"cus_1","created":1,
			"metadata":{"atrium_plan":"team","atrium_changed":"%[2]s"},"items":{"object":"list","data":[{"id":"si_1",
			"quantity":%[1]d,"current_period_start":100,"current_period_end":200,"price":{"id":"price_1"}}]},
			"schedule":{"id":"sub_sched_1","object":"subscription_schedule","status":"active","end_behavior":"release",
			"current_phase":{"start_date":100,"end_date":200},"phases":[
			{"start_date":100,"end_date":200,"items":[{"price":"price_1","quantity":2}]},
			{"start_date":200,"end_date":300,"items":[{"price":"price_1","quantity":2}]}]}}`, quantity, changedBy)
	}
	for name, previous := range map[string]string{"at once": subscription(2, ""), "repeated": subscription(3, "k")} {
		current, isRefused := previous, false
		s := serve(t, func(call string, w http.ResponseWriter, _ *http.Request) {
			switch {
			case call == "POST /v1/subscriptions/sub_1":
				current = subscription(3, "k")
				reply(w, 200, current)
			case strings.HasPrefix(call, "POST /v1/subscription_schedules/"):
				isRefused = true
				reply(w, 400, `{"error":{"type":"invalid_request_error","code":"resource_missing","param":"phases"}}`)
			default:
				reply(w, 200, current)
			}
		})
		h, err := s.gateway().Amend(t.Context(), "k", "cus_1", "sub_1", payment.Amendment{Quantity: 3, Resell: true})
		if err != nil || len(h.Items) != 1 || h.Items[0].Quantity != 3 || (name == "at once" && !isRefused) {
			t.Errorf("%s: %+v, %v, %v", name, h, err, s.received())
		}
	}
}

// TestWhatIsGoneIsNoRefusal simulates the retry of a call that took effect, when the result cannot be looked up.
func TestWhatIsGoneIsNoRefusal(t *testing.T) {
	isAsked := false
	s := serve(t, func(call string, w http.ResponseWriter, _ *http.Request) {
		switch {
		case strings.HasSuffix(call, "/pm_1") && !isAsked:
			isAsked = true
			reply(w, 200, `{"id":"pm_1"}`)
		case strings.HasPrefix(call, "GET "):
			reply(w, 500, `{"error":{"type":"api_error"}}`)
		default:
			reply(w, 404, `{"error":{"type":"invalid_request_error","code":"resource_missing"}}`)
		}
	})
	err := s.gateway().Cancel(t.Context(), "k", "cus_1", "sub_1", payment.Cancellation{})
	assert.That(t, payment.OutcomeUnknown(err), "Cancel: %v", err)
	err = s.gateway().Detach(t.Context(), "k", "cus_1", "pm_1")
	assert.That(t, payment.OutcomeUnknown(err), "Detach: %v", err)
}

func TestADeclinedFirstChargeEndsTheSubscription(t *testing.T) {
	incomplete := func(intent string) map[string]string {
		return map[string]string{
			"POST /v1/subscriptions": `{"id":"sub_1","status":"incomplete","latest_invoice":{"id":"in_1","confirmation_secret":{"client_secret":"pi_1_secret_x"},
				"payments":{"object":"list","data":[{"id":"inpay_1","payment":{"type":"payment_intent","payment_intent":"pi_1"}}]}}}`,
			"GET /v1/payment_intents/pi_1":   intent,
			"POST /v1/invoices/in_1/void":    `{"id":"in_1","status":"void"}`,
			"DELETE /v1/subscriptions/sub_1": `{"id":"sub_1","status":"canceled"}`,
		}
	}
	play := func(t *testing.T, answers map[string]string) (payment.GatewaySubscription, error, *server) {
		s := serve(t, func(call string, w http.ResponseWriter, _ *http.Request) {
			body, exists := answers[call]
			assert.That(t, exists, "%s is called", call)
			reply(w, 200, body)
		})
		h, err := s.gateway().Subscribe(t.Context(), "k", "cus_1", payment.Order{Plan: plan, Quantity: 1})
		return h, err, s
	}
	t.Run("declined", func(t *testing.T) {
		_, err, s := play(t, incomplete(
			`{"id":"pi_1","status":"requires_payment_method","last_payment_error":{"code":"card_declined","decline_code":"lost_card","type":"card_error"}}`,
		))
		if d, ok := errors.AsType[*payment.DeclinedError](err); !ok || d.DeclineCode != "lost_card" ||
			(s.received()[len(s.received())-1] != "DELETE /v1/subscriptions/sub_1 k_declined" &&
				!strings.HasPrefix(s.received()[len(s.received())-1], "DELETE /v1/subscriptions/sub_1")) {
			t.Errorf("error = %v, calls %v", err, s.received())
		}
	})
	t.Run("the payer is asked", func(t *testing.T) {
		h, err, _ := play(t, incomplete(`{"id":"pi_1","status":"requires_action"}`))
		assert.That(t, err == nil && h.Status == payment.Incomplete && h.Action != nil &&
			h.Action.Type == payment.ConfirmPayment && h.Action.ClientSecret.Reveal() == "pi_1_secret_x",
			"%+v, %v", h, err)
	})
}

func TestAPriceIsSoldAsItIsConfigured(t *testing.T) {
	const sold = `{"id":"price_1","active":true,"unit_amount":2900,"currency":"usd","recurring":{"interval":"month","interval_count":1}}`
	for name, tt := range map[string]struct {
		price string // "" for none
		want  bool
	}{
		"as it is":             {sold, true},
		"for another amount":   {strings.Replace(sold, "2900", "2901", 1), false},
		"in another currency":  {strings.Replace(sold, "usd", "eur", 1), false},
		"for another interval": {strings.Replace(sold, "month", "year", 1), false},
		"every other month":    {strings.Replace(sold, `count":1`, `count":2`, 1), false},
		"not any more":         {strings.Replace(sold, "true", "false", 1), false},
		"once":                 {strings.Replace(sold, `"recurring"`, `"other"`, 1), false},
		"never":                {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ string, w http.ResponseWriter, _ *http.Request) {
				if tt.price == "" {
					reply(w, 404, `{"error":{"type":"invalid_request_error","code":"resource_missing"}}`)
					return
				}
				reply(w, 200, tt.price)
			})
			plans, err := s.gateway().Prices(t.Context(), payment.Plans{plan})
			assert.That(t, err == nil && plans[0].Unavailable != tt.want, "%+v, %v", plans, err)
		})
	}
	t.Run("and a failure says nothing about it", func(t *testing.T) {
		s := serve(t, func(_ string, w http.ResponseWriter, _ *http.Request) { reply(w, 500, `{}`) })
		_, err := s.gateway().Prices(t.Context(), payment.Plans{plan})
		assert.That(t, err != nil, "no error")
	})
}

func TestMode(t *testing.T) {
	for key, want := range map[string]string{"sk_live_x": "live", "rk_live_x": "live", "sk_test_x": "test",
		"rk_test_x": "test", "": "test", "sk_live_": "test"} {
		got := stripe.Mode(secret.New(key))
		assert.That(t, got == want, "%s: %s", key, got)
	}
}
