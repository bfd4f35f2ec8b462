package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/test/services"
)

// stripeKey is a secret key as stripe-mock wants it, which knows none.
const stripeKey = "sk_test_123"

// payments compares what Atrium takes for a call to Stripe with what the same call takes through bare
// stripe-go, one request at a time, in turns; and a read of the mirror with the floor's. Stripe is a
// stripe-mock, which answers within a millisecond or two: Stripe itself takes a hundred times as long, so
// that what Atrium adds is best read as milliseconds.
func payments(ctx context.Context, m *machine) error {
	mock, err := services.StartStripeMock()
	if err != nil {
		return fmt.Errorf("stripe-mock: %w", err)
	}
	defer mock.Stop()
	config := filepath.Join(m.dir, "stripe.yaml")
	secrets := filepath.Join(m.dir, "stripe.key") // one file for both: no webhook comes
	if err := os.WriteFile(secrets, []byte(stripeKey), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, "orgs: [{slug: default, payments: {gateway: stripe, webhook_secrets: [%q], stripe: {secret_key: %q, publishable_key: pk_test_1, base_url: %q}}}]\n",
		"file:"+secrets, "file:"+secrets, mock.URL), 0o600); err != nil {
		return err
	}
	section("Payments", "", "compared with", "takes", "Atrium takes", "more", "ratio (aim ≤ 1.3)")
	for _, e := range m.engines {
		data := filepath.Join(m.dir, "payments-"+e.driver)
		if err := e.use(ctx, data, func(d database) error { return m.paymentsOn(ctx, d, data, config, mock.URL) }); err != nil {
			return fmt.Errorf("%s: %w", e.driver, err)
		}
	}
	return nil
}

func (m *machine) paymentsOn(ctx context.Context, d database, data, config, mock string) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	atrium, err := m.serveAtrium(ctx, d, data, "--config", config)
	if err != nil {
		return err
	}
	defer atrium.stop()
	prompt, err := publish(ctx, atrium, owner.Token, "sales/summarise-call")
	if err != nil {
		return err
	}
	floor, err := m.serveFloor(ctx, d)
	if err != nil {
		return err
	}
	defer floor.stop()
	db, err := d.open("")
	if err != nil {
		return err
	}
	defer db.Close()

	intents := atrium.repeats(atrium.request("POST", "/api/payments/setup-intent", owner.Token, `{"usage":"off_session"}`))
	methods := newTarget(atrium, "/api/payments/methods", owner.Token)
	asks := make([]func() (time.Duration, error), 0, 3)
	for _, t := range []target{intents, methods, newTarget(floor, prompt.active(), owner.Token)} {
		c, err := t.dial(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		asks = append(asks, c.ask)
	}
	if _, err := asks[0](); err != nil { // makes the customer
		return err
	}
	customer, err := theCustomer(ctx, d)
	if err != nil {
		return err
	}
	// As if the mirror had been read more than a minute ago.
	aged := func() (time.Duration, error) {
		if _, err := db.ExecContext(ctx, `UPDATE payment_customers SET wallet_at = 0`); err != nil {
			return 0, err
		}
		return asks[1]()
	}
	bare := bareStripe(ctx, mock, customer)
	compared := []struct {
		name, with    string
		floor, atrium func() (time.Duration, error)
	}{
		{"`POST setup-intent`", "stripe-go, its one call", bare.setupIntent, asks[0]},
		{"`GET methods`, read anew", "stripe-go, its two calls", bare.wallet, aged},
		{"`GET methods`, of the mirror", "the floor", asks[2], asks[1]},
	}
	for _, c := range compared {
		medians, err := byTurns(ctx, c.floor, c.atrium)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		row(d.named()+", "+c.name, c.with, ms(medians[0]), ms(medians[1]), ms(medians[1]-medians[0]), ratio(float64(medians[1])/float64(medians[0])))
	}
	return nil
}

func theCustomer(ctx context.Context, d database) (id string, err error) {
	db, err := d.open("")
	if err != nil {
		return "", err
	}
	return id, errors.Join(db.GetContext(ctx, &id, `SELECT external_id FROM payment_customers`), db.Close())
}

// bare is what a program would do that has nothing but stripe-go.
type bare struct {
	setupIntent, wallet func() (time.Duration, error)
}

func bareStripe(ctx context.Context, url, customer string) bare {
	api := stripe.NewClient(stripeKey, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: stripe.String(url), MaxNetworkRetries: stripe.Int64(0), EnableTelemetry: stripe.Bool(false), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})))
	timed := func(call func() error) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			begun := time.Now()
			err := call()
			return time.Since(begun), err
		}
	}
	return bare{
		setupIntent: timed(func() error {
			_, err := api.V1SetupIntents.Create(ctx, &stripe.SetupIntentCreateParams{
				Customer: stripe.String(customer), Usage: stripe.String("off_session"), Metadata: map[string]string{"key": "atrium_1"},
				AutomaticPaymentMethods: &stripe.SetupIntentCreateAutomaticPaymentMethodsParams{Enabled: stripe.Bool(true)},
			})
			return err
		}),
		wallet: timed(func() error {
			if _, err := api.V1Customers.Retrieve(ctx, customer, nil); err != nil {
				return err
			}
			for _, err := range api.V1Customers.ListPaymentMethods(ctx, &stripe.CustomerListPaymentMethodsParams{ListParams: stripe.ListParams{Limit: stripe.Int64(100)}, Customer: stripe.String(customer)}).All(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
