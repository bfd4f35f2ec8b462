package stripe_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

var plans = payment.Plans{
	{ID: "basic", PriceRef: "price_basic", Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1, CurrencyOptions: []payment.Money{
			{Amount: 800, Currency: "eur"}, {Amount: 130, Currency: "jpy"},
		}},
	{ID: "pro", PriceRef: "price_pro", Price: payment.Money{Amount: 2900, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1, CurrencyOptions: []payment.Money{{Amount: 2700, Currency: "eur"}}},
	{ID: "year", PriceRef: "price_year", Price: payment.Money{Amount: 29000, Currency: "usd"}, Interval: payment.Year,
		IntervalCount: 1},
	{ID: "metered", PriceRef: "price_metered", Price: payment.Money{Amount: 1900, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1,
		Metered: &payment.MeteredPrice{Feature: "messages", Amount: 10, PriceRef: "price_messages"}},
}

// forgetful loses the answers of calls, after they had their effect.
type forgetful struct {
	*stripe.Gateway
	api  *stripeapi.Server
	lose int
}

// loseCalls makes the first change of this call unanswered, and nothing answered after it: else the adapter
// finds out by itself what came of it.
func (f *forgetful) loseCalls() (finish func()) {
	if f.lose == 0 {
		return func() {}
	}
	f.lose--
	lost := false
	f.api.Provoke(func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
		lost = lost || c.Changes()
		if lost {
			return stripeapi.Lost, 0
		}
		return stripeapi.None, 0
	})
	return func() { f.api.Provoke(nil) }
}

func (f *forgetful) CreateCustomer(ctx context.Context, key string, d payment.Details) (payment.CustomerID, error) {
	defer f.loseCalls()()
	return f.Gateway.CreateCustomer(ctx, key, d)
}

func (f *forgetful) UpdateCustomer(ctx context.Context, key string, c payment.CustomerID, d payment.Details) error {
	defer f.loseCalls()()
	return f.Gateway.UpdateCustomer(ctx, key, c, d)
}

func (f *forgetful) Subscribe(ctx context.Context, key string, c payment.CustomerID,
	o payment.Order) (payment.GatewaySubscription, error) {
	defer f.loseCalls()()
	return f.Gateway.Subscribe(ctx, key, c, o)
}

func (f *forgetful) Amend(ctx context.Context, key string, c payment.CustomerID, s payment.SubscriptionID,
	a payment.Amendment) (payment.GatewaySubscription, error) {
	defer f.loseCalls()()
	return f.Gateway.Amend(ctx, key, c, s, a)
}

func (f *forgetful) Grant(
	ctx context.Context, key string, c payment.CustomerID, credit payment.Money, reason string,
) error {
	defer f.loseCalls()()
	return f.Gateway.Grant(ctx, key, c, credit, reason)
}

func (f *forgetful) Buy(
	ctx context.Context, key string, c payment.CustomerID, o payment.PackOrder,
) (payment.InvoicePayment, error) {
	defer f.loseCalls()()
	return f.Gateway.Buy(ctx, key, c, o)
}

func (f *forgetful) ReportUsage(ctx context.Context, e payment.UsageEvent) error {
	defer f.loseCalls()()
	return f.Gateway.ReportUsage(ctx, e)
}

// TestTheContract runs the port's suite on the adapter, with a stand-in for Stripe that keeps books.
func TestTheContract(t *testing.T) {
	contract.Gateway(t, stage)
}

func TestWhatSomeoneElseChanged(t *testing.T) {
	contract.GatewayChangedElsewhere(t, stage)
}

func stage(t *testing.T) contract.GatewayStage {
	api := stripeapi.New(t, canary, catalog())
	g := &forgetful{Gateway: stripe.New(stripe.Config{SecretKey: secret.New(canary), BaseURL: api.URL}), api: api}
	return contract.GatewayStage{
		Gateway: g, Plans: plans,
		AddCard: func(_ *testing.T, c payment.CustomerID, last4 string) payment.MethodID {
			return payment.MethodID(api.AddCard(string(c), last4))
		},
		Confirm: func(_ *testing.T, _ payment.CustomerID, i payment.SetupIntent, last4 string) bool {
			return api.Confirm(i.ClientSecret.Reveal(), last4)
		},
		Authenticate: func(_ *testing.T, _ payment.CustomerID, a *payment.Action) {
			api.Authenticate(a.ClientSecret.Reveal())
		},
		CheckOut: func(_ *testing.T, url, last4 string) bool { return api.CheckOut(url, last4) },
		Advance:  func(_ *testing.T, d time.Duration) { api.Advance(d) },
		Lose:     func(n int) { g.lose = n },
		Keep: func(*testing.T) {
			key := ""
			api.Provoke(func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
				if c.Changes() && key == "" {
					key = c.Key
					return stripeapi.Failed, 0
				}
				return stripeapi.None, 0
			})
		},
		Refund: func(_ *testing.T, i payment.InvoiceID, amount int64) { api.Refund(string(i), amount) },
		Credit: func(_ *testing.T, i payment.InvoiceID, amount int64) { api.Credit(string(i), amount) },
		Dispute: func(_ *testing.T, i payment.InvoiceID, isInquiry bool) string {
			return api.Dispute(string(i), isInquiry)
		},
		CloseDispute: func(_ *testing.T, id string, isWon bool) { api.CloseDispute(id, isWon) },
		Elsewhere: contract.Elsewhere{
			CancelAtPeriodEnd: func(_ *testing.T, _ payment.CustomerID, s payment.SubscriptionID) {
				api.CancelAtPeriodEnd(string(s))
			},
			CancelAt: func(_ *testing.T, s payment.SubscriptionID, moment time.Time) {
				api.CancelAt(string(s), moment)
			},
			AddItem: func(_ *testing.T, s payment.SubscriptionID, price string, quantity int) {
				api.AddItem(string(s), price, int64(quantity))
			},
			MovePrice: func(_ *testing.T, s payment.SubscriptionID, price string) { api.MovePrice(string(s), price) },
			Schedule: func(_ *testing.T, s payment.SubscriptionID, prices []string, periods int, ends bool) {
				api.Plan(string(s), prices, periods, ends)
			},
			Tax: func(_ *testing.T, s payment.SubscriptionID, rate, currency string) {
				api.Tax(string(s), rate, currency)
			},
			Taxes: func(_ *testing.T, s payment.SubscriptionID) []string { return api.Taxes(string(s)) },
			Pause: func(_ *testing.T, s payment.SubscriptionID) { api.PauseCollection(string(s)) },
			Subscribe: func(_ *testing.T, c payment.CustomerID, p payment.Plan) payment.SubscriptionID {
				return payment.SubscriptionID(api.Subscribe(string(c), p.PriceRef))
			},
			Draft: func(_ *testing.T, c payment.CustomerID, amount int64) payment.InvoiceID {
				return payment.InvoiceID(api.Draft(string(c), payment.Money{Amount: amount, Currency: "usd"}))
			},
		},
	}
}

// catalog returns the prices of the account: those of the plans, and others.
func catalog() payment.Plans {
	all := slices.Clone(plans)
	for _, r := range []payment.Rate{contract.AddOn, contract.OldPrice, contract.LaterPrice} {
		all = append(all, payment.Plan{ID: payment.PlanID(r.Ref), PriceRef: r.Ref, Price: r.Price, Interval: r.Interval,
			IntervalCount: r.IntervalCount})
	}
	all = append(all, contract.Pack)
	meter := payment.Plan{ID: "events", PriceRef: "price_unsold", Price: contract.AddOn.Price, Interval: payment.Month,
		IntervalCount: 1}
	meter.Metered = &payment.MeteredPrice{Feature: "events", Amount: 1, PriceRef: contract.OtherMeter.Ref}
	return append(all, meter)
}
