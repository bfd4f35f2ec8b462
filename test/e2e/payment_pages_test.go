package e2e

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

const (
	portalPath   = payments + "/portal-session"
	checkoutPath = payments + "/checkout-session"
	shopOrigin   = "http://localhost:3000"
)

// visited is a page as a browser gets it.
type visited struct {
	status int
	header http.Header
	text   string
}

// visit opens a page of the sandbox as a browser does, and submits a form to it if there is one.
func (s *server) visit(t *testing.T, address string, form url.Values) visited {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Path, "/sandbox/pages/") {
		t.Fatalf("%q: %v", address, err)
	}
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+u.EscapedPath(), body)
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return visited{resp.StatusCode, resp.Header, string(text)}
}

func (v visited) has(t *testing.T, status int, texts ...string) visited {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(v.text, text) {
			t.Errorf("no %q in %s", text, v.text)
		}
	}
	if v.status != status {
		t.Errorf("status %d, want %d: %s", v.status, status, v.text)
	}
	return v
}

func payForm(number string) url.Values {
	return url.Values{"action": {"pay"}, "number": {number}, "exp_month": {"12"}, "exp_year": {"2040"}}
}

func TestHostedPagesOfTheSandbox(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann, member := s.user(t, "owner"), s.user(t, "member")
		order := object{
			"plan_id": "basic", "quantity": 2, "success_url": shopOrigin + "/yes", "cancel_url": shopOrigin + "/no",
		}
		member.do(t, "POST", checkoutPath, order).problem(t, 403, "billing_role_required")
		member.do(t, "POST", portalPath, object{"return_url": shopOrigin}).problem(t, 403, "billing_role_required")
		t.Run("addresses of other origins are refused", func(t *testing.T) {
			for _, address := range []string{
				"https://evil.example.com", "http://app.example.com", "javascript:alert(1)", "//localhost",
				"https://a@localhost", "x",
			} {
				ann.do(t, "POST", portalPath, object{"return_url": address}).problem(t, 422, "invalid_fields").
					has(t, map[string]string{"errors.0.pointer": "/return_url"})
				bad := object{"plan_id": "basic", "success_url": address, "cancel_url": address}
				ann.do(t, "POST", checkoutPath, bad).problem(t, 422, "invalid_fields").
					has(t, map[string]string{"errors.0.pointer": "/success_url", "errors.1.pointer": "/cancel_url"})
			}
			other := object{"plan_id": "other", "success_url": shopOrigin, "cancel_url": shopOrigin}
			ann.do(t, "POST", checkoutPath, other).problem(t, 404, "plan_not_found")
		})
		first := ann.create(t, checkoutPath, order, "Idempotency-Key: once")
		first.has(t, map[string]string{"gateway": "sandbox"})
		if repeat := ann.create(t, checkoutPath, order, "Idempotency-Key: once"); repeat.text != first.text {
			t.Errorf("%s\n%s", first, repeat)
		}
		second := ann.create(t, checkoutPath, order).at("url")
		t.Run("a page ends with the next one", func(t *testing.T) {
			s.visit(t, first.at("url"), nil).has(t, 404, "no longer valid")
			s.visit(t, first.at("url"), payForm(cardNumber)).has(t, 404)
			s.visit(t, second+"x", nil).has(t, 404)
		})
		t.Run("a page shows the plan and runs no script", func(t *testing.T) {
			v := s.visit(t, second, nil)
			v.has(t, 200, "Basic", "2 × 9.00 USD every month", "4242 4242 4242 4242", "Sandbox")
			policy := v.header.Get("Content-Security-Policy")
			if strings.Contains(v.text, "<script") || strings.Contains(policy, "script-src") ||
				!strings.Contains(policy, "default-src 'none'") ||
				!strings.Contains(policy, "form-action 'self' "+shopOrigin+";") {
				t.Error(policy)
			}
		})
		t.Run("cards that fail", func(t *testing.T) {
			s.visit(t, second, payForm("4000000000009995")).has(t, 402, "declined", "4242 4242 4242 4242")
			s.visit(t, second, payForm("4111111111111111")).has(t, 422, "test cards")
			ann.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
		})
		t.Run("a finished checkout is adopted", func(t *testing.T) {
			v := s.visit(t, second, payForm(cardNumber)).has(t, 303)
			if v.header.Get("Location") != shopOrigin+"/yes" {
				t.Error(v.header)
			}
			ann.becomes(t, "active")
			ann.get(t, mine).has(t, map[string]string{"plan_id": "basic", "quantity": "2", "entitled": "true"})
			ann.get(t, payments+"/methods").has(t, map[string]string{"data.0.last4": "4242"})
			s.await(t, func() bool { return ann.get(t, payments+"/methods").at("data.0.is_default") == "true" })
			s.visit(t, second, payForm(cardNumber)).has(t, 303)
			s.visit(t, second, nil).has(t, 200, "Done", shopOrigin+"/yes")
			ann.get(t, payments+"/invoices").
				has(t, map[string]string{"data.0.amount_paid.amount": "1800", "data.1": ""})
			ann.do(t, "POST", checkoutPath, order).problem(t, 409, "subscription_exists")
		})
		t.Run("the portal", func(t *testing.T) {
			page := ann.create(t, portalPath, object{"return_url": shopOrigin + "/back"}).at("url")
			s.visit(t, page, nil).has(t, 200, "2 × Basic, 9.00 USD every month: active", "4242", shopOrigin+"/back")
			s.visit(t, page, url.Values{"action": {"end"}}).has(t, 200, "Keep the subscription")
			s.await(t, func() bool { return ann.get(t, mine).at("cancel_at_period_end") == "true" })
			s.visit(t, page, url.Values{"action": {"keep"}}).has(t, 200, "End it on")
			s.await(t, func() bool { return ann.get(t, mine).at("cancel_at_period_end") == "false" })
			s.must(t, "payments", "sandbox", "advance", "2h")
			s.visit(t, page, nil).has(t, 404)
		})
		t.Run("a purchase ends open pages", func(t *testing.T) {
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			page := ann.create(t, checkoutPath, order).at("url")
			ann.subscribe(t, "basic")
			s.visit(t, page, payForm(cardNumber)).has(t, 404)
		})
		t.Run("the card of a checkout is shown as the one that is charged", func(t *testing.T) {
			ann.get(t, payments+"/methods").has(t,
				map[string]string{"data.0.last4": "4242", "data.0.is_default": "true"})
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			page := ann.create(t, checkoutPath, order).at("url")
			s.visit(t, page, payForm("5555555555554444")).has(t, 303)
			ann.becomes(t, "active")
			s.await(t, func() bool { return ann.get(t, payments+"/methods").at("data.0.last4") == "4444" })
			ann.get(t, payments+"/methods").has(t, map[string]string{
				"data.0.last4": "4444", "data.0.is_default": "true", "data.1.is_default": "false",
			})
			chargedID := ann.get(t, payments+"/methods").at("data.0.id")
			ann.get(t, mine).has(t, map[string]string{"default_payment_method_id": chargedID})
		})
		s.stop(t)
		log := s.stderr.String() + s.stdout.String()
		if strings.Contains(log, second[strings.LastIndex(second, "/")+1:]) {
			t.Error("the log holds the address of a page")
		}
	})
}

func TestHostedPagesOfAGatewayThatFails(t *testing.T) {
	t.Parallel()
	api, stripe := newStripe(t)
	s := start(t, sqlite, stripe)
	ann := s.user(t, "owner")
	ann.customer(t)
	ann.do(t, "POST", portalPath, object{"return_url": shopOrigin}).problem(t, 422, "invalid_fields") // no sandbox
	const app = "https://app.example.com"
	responses := object{"return_url": app + "/billing"}
	order := object{"plan_id": "basic", "success_url": app + "/yes", "cancel_url": app}
	ann.create(t, portalPath, responses).has(t, map[string]string{"gateway": "stripe"})
	for _, tt := range []struct {
		fault  stripeapi.Fault
		status int
		code   string
	}{
		{stripeapi.Garbage, 502, "gateway_error"}, {stripeapi.Dropped, 503, "gateway_unavailable"},
		{stripeapi.Silent, 504, "gateway_timeout"}, {stripeapi.Denied, 502, "gateway_access_denied"},
	} {
		api.Provoke(whose(tt.fault, "POST /v1/billing_portal", "POST /v1/checkout"))
		ann.do(t, "POST", portalPath, responses).problem(t, tt.status, tt.code)
		ann.do(t, "POST", checkoutPath, order).problem(t, tt.status, tt.code)
	}
	api.Provoke(nil)
	page := ann.create(t, checkoutPath, order).at("url")
	if !api.CheckOut(page, "4242") {
		t.Fatal(page)
	}
	ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "pro"}).problem(t, 409, "subscription_exists")
	ann.get(t, mine).has(t, map[string]string{"plan_id": "basic", "status": "active"})
	if charges := api.Charges(); len(charges) != 1 {
		t.Errorf("%+v", charges)
	}
}

func TestACheckoutPageAsksForWhatItsCallerWants(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann := s.user(t, "owner")
		order := object{
			"plan_id": "try", "success_url": shopOrigin + "/yes", "cancel_url": shopOrigin, "locale": "de",
			"allow_promotion_codes": true, "collect_address": true, "collect_tax_ids": true,
			"payment_method_optional": true,
		}
		withoutCard := url.Values{"action": {"without_card"}}
		page := ann.create(t, checkoutPath, order).at("url")
		s.visit(t, page, nil).has(t, 200, "Subscribe without a card")
		s.visit(t, page, withoutCard).has(t, 303)
		ann.becomes(t, "trialing")
		ann.get(t, payments+"/methods").has(t, map[string]string{"data": "[]"})
		ann.do(t, "DELETE", mine, nil).is(t, 204)

		order["plan_id"] = "basic"
		page = ann.create(t, checkoutPath, order).at("url")
		s.visit(t, page, withoutCard).has(t, 422, "test cards")
		ann.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")

		order["locale"] = "tlh"
		ann.do(t, "POST", checkoutPath, order).problem(t, 422, "invalid_fields").
			has(t, map[string]string{"errors.0.pointer": "/locale"})
	})
}

// TestInvoicePagesOfTheSandbox pays an invoice on its page, and downloads it.
func TestInvoicePagesOfTheSandbox(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann := s.user(t, "owner")
		ann.card(t, cardNumber)
		ann.subscribe(t, "basic")
		ann.makeDefault(t, ann.card(t, "4000000000000341"))
		s.must(t, "payments", "sandbox", "advance", "32d")
		ann.becomes(t, "past_due")
		open := ann.get(t, payments+"/invoices?status=open")
		page, number := open.at("data.0.hosted_url"), open.at("data.0.number")
		if !strings.HasPrefix(page, "http") || open.at("data.0.pdf_url") != page+"/pdf" {
			t.Fatal(open)
		}
		t.Run("it shows the invoice", func(t *testing.T) {
			s.visit(t, page, nil).has(t, 200, number, "9.00 USD: open", "Pay 9.00 USD", "1 × basic")
			s.visit(t, page+"x", nil).has(t, 404, "no longer valid")
			s.visit(t, page+"x/pdf", nil).has(t, 404, "no longer valid")
		})
		t.Run("cards that fail leave it open", func(t *testing.T) {
			s.visit(t, page, payForm("4000000000009995")).has(t, 402, "declined", "Pay 9.00 USD")
			s.visit(t, page, payForm("4111111111111111")).has(t, 422, "test cards")
			s.visit(t, page, payForm("DE89370400440532013000")).has(t, 422, "test cards")
			ann.becomes(t, "past_due")
		})
		t.Run("a card pays it once, and the subscription is active again", func(t *testing.T) {
			for range 2 {
				s.visit(t, page, payForm(cardNumber)).has(t, 200, "9.00 USD: paid")
			}
			ann.becomes(t, "active")
			ann.get(t, payments+"/invoices").has(t, map[string]string{
				"data.0.status": "paid", "data.0.amount_paid.amount": "900", "data.1.amount_paid.amount": "900",
				"data.2": "",
			})
			ann.get(t, payments+"/methods").has(t, map[string]string{"data.2": ""}) // the card is not kept
		})
		t.Run("the PDF has it", func(t *testing.T) {
			v := s.visit(t, page+"/pdf", nil).has(t, 200, "%PDF-1.4", "Invoice "+number, "Status: paid", "%%EOF")
			if v.header.Get("Content-Type") != "application/pdf" {
				t.Error(v.header)
			}
		})
		t.Run("a page for checkouts has no PDF", func(t *testing.T) {
			portal := ann.create(t, portalPath, object{"return_url": shopOrigin}).at("url")
			s.visit(t, portal, nil).has(t, 200, "Subscription")
			s.visit(t, portal+"/pdf", nil).has(t, 404, "no longer valid")
		})
	})
}
