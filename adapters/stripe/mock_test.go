package stripe_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

var plan = payment.Plan{ID: "team", PriceRef: "price_1", Price: payment.Money{Amount: 2900, Currency: "usd"},
	Interval: payment.Month, IntervalCount: 1}

// rewritingProxy returns the address of a proxy for stripe-mock that replaces a text in its responses. The objects of
// stripe-mock have one state each.
func rewritingProxy(t *testing.T, mock, previous, current string) string {
	t.Helper()
	target, err := url.Parse(mock)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	direct := proxy.Director
	proxy.Director = func(r *http.Request) {
		direct(r)
		r.Header.Set("Accept-Encoding", "identity")
	}
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		body = bytes.ReplaceAll(body, []byte(previous), []byte(current))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return nil
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL
}

// TestEveryRequestIsOneThatStripeDescribes sends each kind of request to stripe-mock, which refuses parameters
// that the API does not have.
func TestEveryRequestIsOneThatStripeDescribes(t *testing.T) {
	ctx, yes, mock := t.Context(), true, services.StripeMock(t)
	g := stripe.New(stripe.Config{SecretKey: secret.New("sk_test_123"), Account: "acct_123", BaseURL: mock})
	made := func(_ any, err error) error { return err }
	pack := payment.Plan{ID: "pack", PriceRef: "price_3", Price: payment.Money{Amount: 500, Currency: "usd"},
		Limits: map[string]int64{"messages": 10}}
	calls := map[string][]func() error{
		"CreateCustomer": {func() error {
			id, err := g.CreateCustomer(ctx, "k", payment.Details{Name: "Acme", Email: "ann@example.com"})
			assert.That(t, id != "", "no id")
			return err
		}},
		"UpdateCustomer": {func() error {
			return g.UpdateCustomer(ctx, "k", "cus_1", payment.Details{
				Name: "Acme", Workspace: "wsp_1", Taxed: true, Address: payment.Address{City: "Köln", Country: "DE"},
				TaxIDs: []payment.TaxID{{Type: "eu_vat", Value: "DE123456789"}},
			})
		}},
		"CustomerOf": {func() error {
			var errs []error
			for _, kind := range []string{"charge", "checkout.session", "credit_note", "dispute", "invoice",
				"payment_intent", "payment_method", "refund", "setup_intent", "subscription"} {
				_, err := g.CustomerOf(ctx, payment.Reference{Kind: kind, ID: "x_1"}) // many of its objects have none
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}},
		"CreateSetupIntent": {func() error {
			i, err := g.CreateSetupIntent(ctx, "k", "cus_1", payment.OffSession)
			assert.That(t, i.ID != "" && !i.ClientSecret.IsZero(), "%+v", i)
			return err
		}},
		"CancelSetupIntents": {func() error { return g.CancelSetupIntents(ctx, "cus_1") }},
		"Wallet": {func() error {
			w, err := g.Wallet(ctx, "cus_1")
			assert.That(t, len(w.Methods) != 0, "%+v", w)
			return err
		}},
		"SetDefault": {func() error { return g.SetDefault(ctx, "k", "cus_1", "pm_1") }},
		"Detach":     {func() error { return g.Detach(ctx, "k", "cus_1", "pm_1") }},
		"Prices":     {func() error { return made(g.Prices(ctx, payment.Plans{plan})) }},
		"Subscribe": {
			func() error {
				h, err := g.Subscribe(ctx, "k", "cus_1", payment.Order{Plan: plan, Quantity: 2})
				assert.That(t, h.ID != "" && len(h.Items) != 0 && !h.Items[0].PeriodEnd.IsZero() &&
					h.Items[0].Rate.Ref != "", "%+v", h)
				return err
			},
			func() error {
				return made(g.Subscribe(ctx, "k", "cus_1", payment.Order{Plan: plan, Quantity: 1, TrialDays: 14,
					AutomaticTax: true, AddOns: []payment.ItemOrder{{Ref: "price_2", Quantity: 3}},
					Promotion: &payment.Promotion{ID: "promo_1", Code: "SUMMER"}}))
			},
		},
		"Amend": {
			func() error {
				return made(g.Amend(ctx, "k", "cus_1", "sub_1",
					payment.Amendment{Plan: plan, Quantity: 2, Resell: true}))
			},
			func() error {
				const ends, goesOn = `"cancel_at":1234567890,"cancel_at_period_end":true`, `"cancel_at":null`
				g := stripe.New(stripe.Config{SecretKey: secret.New("sk_test_123"),
					BaseURL: rewritingProxy(t, mock, ends, goesOn)})
				return made(g.Amend(ctx, "k", "cus_1", "sub_1", payment.Amendment{Plan: plan, Quantity: 1, Resell: true,
					AtRenewal: true}))
			},
			func() error {
				return made(g.Amend(ctx, "k", "cus_1", "sub_1", payment.Amendment{Plan: plan, CancelAtPeriodEnd: &yes,
					Cancellation: &payment.Cancellation{Feedback: "unused"}}))
			},
			func() error {
				return made(g.Amend(ctx, "k", "cus_1", "sub_1", payment.Amendment{Plan: plan, Pause: &yes}))
			},
			func() error {
				no := false
				return made(g.Amend(ctx, "k", "cus_1", "sub_1", payment.Amendment{Plan: plan, Pause: &no,
					PaidUntil: time.Unix(1, 0), Cancellation: &payment.Cancellation{}}))
			},
			func() error {
				with := plan
				with.Metered = &payment.MeteredPrice{PriceRef: "price_2"}
				return made(g.Amend(ctx, "k", "cus_1", "sub_1", payment.Amendment{Plan: with, Quantity: 1, Resell: true,
					Promotion: &payment.Promotion{ID: "promo_1"}}))
			},
		},
		"Preview": {func() error {
			up := payment.Amendment{Plan: plan, Quantity: 2, Resell: true, ProrateAt: time.Now()}
			p, err := g.Preview(ctx, "cus_1", "sub_1", up)
			assert.That(t, p.Today.Currency != "", "%+v", p)
			return err
		}},
		"Portal": {func() error { return made(g.Portal(ctx, "cus_1", "https://app.example.com")) }},
		"Checkout": {func() error {
			return made(g.Checkout(ctx, "k", "cus_1", payment.CheckoutOrder{
				Plan: plan, Quantity: 2, TrialDays: 14, AutomaticTax: true,
				SuccessURL: "https://app.example.com", CancelURL: "https://app.example.com",
			}))
		}, func() error {
			o := payment.CheckoutOrder{Plan: plan, Quantity: 2, TrialDays: 14, SuccessURL: "https://app.example.com"}
			o.Show(payment.CheckoutPage{PromotionCodes: true, Address: true, TaxIDs: true, IsMethodOptional: true,
				Locale: "es-419"}, payment.TrialRules{})
			return made(g.Checkout(ctx, "k", "cus_1", o))
		}, func() error {
			o := payment.CheckoutOrder{Plan: pack, Quantity: 2, SuccessURL: "https://app.example.com"}
			o.Show(payment.CheckoutPage{PromotionCodes: true, Address: true, TaxIDs: true}, payment.TrialRules{})
			return made(g.Checkout(ctx, "k", "cus_1", o))
		}},
		"Free": {func() error { // the coupon of stripe-mock has other terms
			_, err := g.Free(ctx, 3)
			if _, isRefused := errors.AsType[*payment.Rejection](err); isRefused &&
				strings.Contains(err.Error(), "atrium_free_3_months") {
				return nil
			}
			return err
		}},
		"Subscribe by transfer": {func() error {
			wire := plan
			wire.DaysUntilDue = 30
			return made(g.Subscribe(ctx, "k", "cus_1", payment.Order{Plan: wire, Quantity: 2}))
		}},
		"Grant": {func() error {
			return g.Grant(ctx, "k", "cus_1", payment.Money{Amount: 500, Currency: "usd"}, "Sorry")
		}},
		"EndCheckouts": {func() error { return g.EndCheckouts(ctx, "cus_1") }},
		"GiveUp": {func() error {
			// it is active there
			if err := g.GiveUp(ctx, "k", "cus_1", "sub_1"); !errors.Is(err, payment.ErrSubscriptionExists) {
				return err
			}
			return nil
		}},
		"Pay": {func() error {
			invoice := read(t, mock+"/v1/invoices/in_1")
			customer, _ := invoice["customer"].(string)
			status, _ := invoice["status"].(string)
			open := stripe.New(stripe.Config{SecretKey: secret.New("sk_test_123"),
				BaseURL: rewritingProxy(t, mock, `"status":"`+status+`"`, `"status":"open"`)})
			return made(open.Pay(ctx, "k", payment.CustomerID(customer), "in_1"))
		}},
		"Buy": {func() error {
			invoice := read(t, mock+"/v1/invoices/in_1")
			customer, _ := invoice["customer"].(string)
			status, _ := invoice["status"].(string)
			open := stripe.New(stripe.Config{SecretKey: secret.New("sk_test_123"),
				BaseURL: rewritingProxy(t, mock, `"status":"`+status+`"`, `"status":"open"`)})
			return made(open.Buy(ctx, "k", payment.CustomerID(customer), payment.PackOrder{Pack: pack, Quantity: 2,
				Method: "pm_1", AutomaticTax: true}))
		}},
		"Promotion": {func() error {
			_, err := g.Promotion(ctx, "cus_1", "SUMMER", payment.Sale{Plan: plan, Quantity: 1})
			if errors.Is(err, payment.ErrPromotionInvalid) { // it has a code of another customer
				err = nil
			}
			return err
		}},
		"ReportUsage": {func() error {
			metered := stripe.New(stripe.Config{SecretKey: secret.New("sk_test_123"),
				BaseURL: rewritingProxy(t, mock, `"meter":null`, `"meter":"mtr_1"`)})
			return metered.ReportUsage(ctx, payment.UsageEvent{
				ID: "use_1", Customer: "cus_1", Feature: "messages", PriceRef: "price_metered", Quantity: 3,
				At: time.Now(),
			})
		}},
		"Cancel": {func() error {
			return g.Cancel(ctx, "k", "cus_1", "sub_1", payment.Cancellation{Feedback: "other", Comment: "Bye."})
		}},
		"Subscriptions": {func() error { return made(g.Subscriptions(ctx, "cus_1")) }},
		"Invoices":      {func() error { return made(g.Invoices(ctx, "cus_1", "")) }},
	}
	port := reflect.TypeFor[ports.Gateway]()
	for i := range port.NumMethod() {
		name := port.Method(i).Name
		assert.That(t, len(calls[name]) != 0, "%s is not exercised", name)
	}
	for name, each := range calls {
		t.Run(name, func(t *testing.T) {
			for _, call := range each {
				assert.NoError(t, call())
			}
		})
	}
	t.Run("and what it does not describe is refused", func(t *testing.T) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, mock+"/v1/customers",
			strings.NewReader("nonsense=1"))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer sk_test_123")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		assert.That(t, resp.StatusCode == http.StatusBadRequest,
			"stripe-mock lets an unknown parameter through: %s", resp.Status)
	})
}
