package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/test/support/services"
)

// stripeKey is a secret key as stripe-mock wants it, which knows none.
const stripeKey = "sk_test_123"

// payments compares the latency of a call to Stripe through Atrium with that of the same call through bare stripe-go,
// one request at a time, in turns; and a read of the mirror with the floor. Stripe is stripe-mock here, which needs
// 1 to 2 ms per call. Stripe itself needs about a hundred times as long, so what matters is the number of
// milliseconds that Atrium adds.
func payments(ctx context.Context, m *machine) error {
	mock, err := services.StartStripeMock()
	if err != nil {
		return fmt.Errorf("stripe-mock: %w", err)
	}
	defer mock.Stop()
	s, err := newStall(ctx, mock.URL)
	if err != nil {
		return err
	}
	gateway := httptest.NewServer(s)
	defer gateway.Close()
	config := filepath.Join(m.dir, "stripe.yaml")
	secrets := filepath.Join(m.dir, "stripe.key") // one file for both: no webhook comes
	if err := os.WriteFile(secrets, []byte(stripeKey), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(config,
		fmt.Appendf(nil, "orgs: [{slug: default, payments: {gateway: stripe, webhook_secrets: [%q], stripe: "+
			"{secret_key: %q, publishable_key: pk_test_1, base_url: %q}}}]\n",
			"file:"+secrets, "file:"+secrets, gateway.URL), 0o600); err != nil {
		return err
	}
	m.section("Payments", "", "compared with", "takes", "Atrium takes", "more", "ratio (aim ≤ 1.3)")
	var reads []contest
	err = m.onEach(ctx, "payments", func(d database, data string) error {
		found, err := m.paymentsOn(ctx, d, data, config, gateway.URL, s)
		reads = append(reads, found)
		return err
	})
	if err == nil {
		m.tableOfReads(reads)
	}
	return err
}

func (m *machine) paymentsOn(
	ctx context.Context, d database, data, config, mock string, s *stall,
) (reads contest, err error) {
	b, err := m.serveBeside(ctx, d, data, "--config", config)
	if err != nil {
		return reads, err
	}
	defer b.stop()
	db, err := d.open("")
	if err != nil {
		return reads, err
	}
	defer db.Close()

	intents := b.atrium.repeats(b.atrium.request("POST", "/api/payments/setup-intent", b.owner.Token,
		`{"usage":"off_session"}`))
	methods := newTarget(b.atrium, "/api/payments/methods", b.owner.Token)
	if _, _, err := intents.load(ctx, 1, time.Millisecond); err != nil { // makes the customer
		return reads, err
	}
	customer, err := theCustomer(ctx, d)
	if err != nil {
		return reads, err
	}
	age := func() error { // as if the mirror had been read more than a minute ago
		_, err := db.ExecContext(ctx, `UPDATE payment_customers SET wallet_at = 0`)
		return err
	}
	bare := bareStripe(ctx, mock, customer)
	read := newTarget(b.floor, b.prompt.active(), b.owner.Token)
	for _, c := range []comparison{
		{name: "`POST setup-intent`", with: "stripe-go, its one call", bare: bare.setupIntent, atrium: intents},
		{name: "`GET methods`, read again", with: "stripe-go, its two calls", bare: bare.wallet, atrium: methods,
			before: age},
		{name: "`GET methods`, of the mirror", with: "the floor", floor: read, atrium: methods},
	} {
		if err := m.comparePayment(ctx, d, c); err != nil {
			return reads, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if reads, err = m.paymentReads(ctx, d, b); err != nil {
		return reads, err
	}
	return reads, m.whileHanging(ctx, d, s, newTarget(b.atrium, "/api/payments/subscriptions/me", b.owner.Token),
		func() error {
			_, err := db.ExecContext(ctx, `UPDATE payment_customers SET subscription_at = 0`)
			return err
		})
}

// stall is a proxy that can stop answering.
type stall struct {
	http.Handler
	on atomic.Bool
}

// newStall returns a proxy to stripe-mock whose customers have their method as the default. stripe-mock itself forgets
// which default was set, so that Atrium would set it again after each read: three calls, which happen once with Stripe.
func newStall(ctx context.Context, to string) (*stall, error) {
	target, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	method, err := listedMethod(ctx, to)
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		if matched, _ := path.Match("/v1/customers/*", r.Request.URL.Path); !matched {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		body = bytes.Replace(body, []byte(`"default_payment_method":null`),
			[]byte(`"default_payment_method":"`+method+`"`), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return nil
	}
	return &stall{Handler: proxy}, nil
}

// listedMethod returns the payment method that stripe-mock lists for every customer.
func listedMethod(ctx context.Context, mock string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, mock+"/v1/customers/cus_1/payment_methods", nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+stripeKey)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var list struct {
		Data []struct{ ID string }
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return "", err
	}
	if len(list.Data) == 0 {
		return "", errors.New("stripe-mock lists no payment method")
	}
	return list.Data[0].ID, nil
}

// ServeHTTP implements http.Handler.
func (s *stall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.on.Load() {
		<-r.Context().Done()
		return
	}
	s.Handler.ServeHTTP(w, r)
}

// whileHanging measures a read of the mirror, which age makes old, while the gateway does not answer: the first one
// waits for it, the others do not.
func (m *machine) whileHanging(ctx context.Context, d database, s *stall, read target, age func() error) error {
	conn, err := read.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ask(); err != nil { // fills the mirror
		return err
	}
	s.on.Store(true)
	defer s.on.Store(false)
	var all []time.Duration
	for range 301 {
		if err := age(); err != nil {
			return err
		}
		took, err := conn.ask()
		if err != nil {
			return err
		}
		all = append(all, took)
	}
	first, others := all[0], all[1:]
	slices.Sort(others)
	m.row(d.named()+", `GET subscriptions/me`, the gateway hanging", "aims: once ≤ 1050 ms, then p99 ≤ 20 ms",
		"once "+ms(first), "p99 "+ms(others[len(others)*99/100]), "", "")
	return nil
}

// comparison is a request of Atrium's beside what does the same without it.
type comparison struct {
	name, with string
	bare       func() error // nil: the floor
	floor      target
	before     func() error // before each of Atrium's; nil for nothing
	atrium     target
}

// comparePayment measures an operation in turns with the bare call that it makes to Stripe.
func (m *machine) comparePayment(ctx context.Context, d database, c comparison) error {
	conn, err := c.atrium.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	beside := func() (time.Duration, error) {
		begun := time.Now()
		err := c.bare()
		return time.Since(begun), err
	}
	if c.bare == nil {
		floor, err := c.floor.dial(ctx)
		if err != nil {
			return err
		}
		defer floor.Close()
		beside = floor.ask
	}
	medians, err := byTurns(ctx, beside, func() (time.Duration, error) {
		if c.before != nil {
			if err := c.before(); err != nil {
				return 0, err
			}
		}
		return conn.ask()
	})
	if err != nil {
		return err
	}
	m.row(d.named()+", "+c.name, c.with, ms(medians[0]), ms(medians[1]), ms(medians[1]-medians[0]),
		ratio(float64(medians[1])/float64(medians[0])))
	return nil
}

func theCustomer(ctx context.Context, d database) (id string, err error) {
	db, err := d.open("")
	if err != nil {
		return "", err
	}
	return id, errors.Join(db.GetContext(ctx, &id, `SELECT external_id FROM payment_customers`), db.Close())
}

// bare is what a program would call that has nothing but stripe-go.
type bare struct{ setupIntent, wallet, subscriptions func() error }

// bareStripe has the calls to Stripe that Atrium's operations make, without Atrium.
func bareStripe(ctx context.Context, url, customer string) bare {
	api := stripe.NewClient(stripeKey, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: stripe.String(url), MaxNetworkRetries: stripe.Int64(0), EnableTelemetry: stripe.Bool(false),
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})))
	return bare{
		setupIntent: func() error {
			_, err := api.V1SetupIntents.Create(ctx, &stripe.SetupIntentCreateParams{
				Customer: stripe.String(customer), Usage: stripe.String("off_session"),
				Metadata: map[string]string{"key": "atrium_1"},
				AutomaticPaymentMethods: &stripe.SetupIntentCreateAutomaticPaymentMethodsParams{
					Enabled: stripe.Bool(true)},
			})
			return err
		},
		wallet: func() error {
			if _, err := api.V1Customers.Retrieve(ctx, customer, nil); err != nil {
				return err
			}
			for _, err := range api.V1Customers.ListPaymentMethods(ctx,
				&stripe.CustomerListPaymentMethodsParams{ListParams: stripe.ListParams{Limit: stripe.Int64(100)},
					Customer: stripe.String(customer)}).All(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		subscriptions: func() error {
			p := &stripe.SubscriptionListParams{ListParams: stripe.ListParams{Limit: stripe.Int64(100)},
				Customer: stripe.String(customer), Status: stripe.String("all")}
			for _, field := range []string{"latest_invoice.confirmation_secret", "latest_invoice.payments",
				"pending_setup_intent", "schedule", "discounts.source.coupon"} {
				p.AddExpand("data." + field)
			}
			for _, err := range api.V1Subscriptions.List(ctx, p).All(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}
