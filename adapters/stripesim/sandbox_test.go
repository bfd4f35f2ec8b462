package stripesim_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func mac(text string) string {
	h := hmac.New(sha256.New, []byte("the deployment's own"))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// post gathers what is delivered, and refuses all while it is closed.
type post struct {
	mu     sync.Mutex
	closed bool
	bodies []string
	t      *testing.T
	key    secret.String
}

func (p *post) deliver(_ context.Context, body []byte, signature string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("closed")
	}
	if err := payment.CheckSignature([]secret.String{p.key}, signature, body, time.Now()); err != nil {
		p.t.Errorf("the signature of %s: %v", body, err)
	}
	p.bodies = append(p.bodies, string(body))
	return nil
}

func (p *post) types(t *testing.T) []string {
	var all []string
	for _, body := range p.bodies {
		e, err := payment.ParseEvent([]byte(body))
		require.That(t, err == nil && strings.HasPrefix(string(e.Customer), "cus_"), "%s: %v", body, err)
		all = append(all, e.Type)
	}
	return all
}

// gateway is the adapter in front of a simulator. Each call has a context of its own, as the calls of use cases have.
type gateway struct {
	ports.Gateway
	*stripesim.Simulator
}

func newGateway(t *testing.T, c stripesim.Config) (gateway, *post) {
	p := &post{t: t}
	if c.Objects == nil {
		c.Objects = fixture.NewSandboxObjects()
	}
	c.Org, c.Plans, c.MAC, c.Unknown = "org", plans, mac, func(call string) { t.Errorf("%s is not known", call) }
	if c.Deliver == nil {
		c.Deliver = p.deliver
	}
	s := stripesim.New(c)
	p.key = s.WebhookKey()
	return gateway{stripe.New(stripe.Config{SecretKey: secret.New(stripesim.Key), Transport: s.Transport()}), s}, p
}

var plans = payment.Plans{
	{ID: "basic", PriceRef: "price_basic",
		Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1},
	{ID: "pro", PriceRef: "price_pro",
		Price: payment.Money{Amount: 2900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1},
	{ID: "year", PriceRef: "price_year",
		Price: payment.Money{Amount: 29000, Currency: "usd"}, Interval: payment.Year, IntervalCount: 1},
	{ID: "metered", PriceRef: "price_metered", Price: payment.Money{Amount: 1900, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1,
		Metered: &payment.MeteredPrice{Feature: "messages", Amount: 10, PriceRef: "price_messages"}},
	{ID: "week", PriceRef: "price_week", Price: payment.Money{Amount: 2000, Currency: "usd"},
		Interval: payment.Week, IntervalCount: 1},
	{ID: "euros", PriceRef: "price_euros", Price: payment.Money{Amount: 1900, Currency: "eur"},
		Interval: payment.Month, IntervalCount: 1},
}

var numbers = map[string]string{
	"4242": "4242 4242 4242 4242", "4444": "5555-5555-5555-4444", "0002": "4000000000000002",
	"9995": "4000000000009995",
	"0341": "4000000000000341", "3155": "4000002500003155",
}

func card(last4 string) payment.Card {
	return payment.Card{Number: secret.New(numbers[last4]), CVC: secret.New("123"), ExpMonth: 12,
		ExpYear: time.Now().Year() + 9}
}

func addCard(t *testing.T, g gateway, c payment.CustomerID, last4 string) payment.MethodID {
	t.Helper()
	usage := payment.OffSession
	if last4 == "3155" {
		usage = payment.OnSession // so that its bank asks again at the first payment
	}
	count, err := g.Wallet(t.Context(), c)
	require.NoError(t, err)
	intent, err := g.CreateSetupIntent(t.Context(), last4+time.Now().String(), c, usage)
	require.NoError(t, err)
	done, err := g.Confirm(t.Context(), c, intent.ID, intent.ClientSecret, card(last4))
	if err == nil && done.Status == "requires_action" {
		done, err = g.Authenticate(t.Context(), c, intent.ID, intent.ClientSecret, true)
	}
	require.That(t, err == nil && done.Status == "succeeded", "%+v, %v", done, err)
	cursor, err := g.Wallet(t.Context(), c)
	require.That(t, err == nil && len(cursor.Methods) == len(count.Methods)+1, "%+v, %v", cursor, err)
	return cursor.Methods[len(cursor.Methods)-1].ID
}

func TestObjectsInMemory(t *testing.T) {
	contract.SandboxObjects(t, func(*testing.T) (objects, second ports.SandboxObjects, orgs [2]identity.OrgID) {
		o := fixture.NewSandboxObjects()
		return o, o, [2]identity.OrgID{"one", "two"}
	})
}

func TestCards(t *testing.T) {
	objects := fixture.NewSandboxObjects()
	g, _ := newGateway(t, stripesim.Config{Objects: objects})
	ctx := t.Context()
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	intent, err := g.CreateSetupIntent(ctx, "i", c, payment.OffSession)
	require.NoError(t, err)
	expiredCard := card("4242")
	expiredCard.ExpYear = 2020
	real := card("4242")
	real.Number = secret.New("4111111111111111")
	for name, tt := range map[string]struct {
		secret secret.String
		card   payment.Card
		want   error
	}{
		"a real one is refused":    {intent.ClientSecret, real, payment.ErrTestCardsOnly},
		"even with a wrong secret": {secret.New("x"), real, payment.ErrTestCardsOnly},
		"a declined one is":        {intent.ClientSecret, card("0002"), payment.ErrCardDeclined},
		"one without funds is":     {intent.ClientSecret, card("9995"), payment.ErrCardDeclined},
		"an expired one is":        {intent.ClientSecret, expiredCard, payment.ErrMethodExpired},
		"a wrong secret finds nothing": {secret.New(string(intent.ID) + "_secret_x"), card("4242"),
			payment.ErrIntentNotFound},
		"nor does none": {secret.String{}, card("4242"), payment.ErrIntentNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := g.Confirm(ctx, c, intent.ID, tt.secret, tt.card)
			assert.ErrorIs(t, err, tt.want)
		})
	}
	other, err := g.CreateCustomer(ctx, "other", payment.Details{})
	require.NoError(t, err)
	_, err = g.Confirm(ctx, other, intent.ID, intent.ClientSecret, card("4242"))
	assert.ErrorIs(t, err, payment.ErrIntentNotFound)
	w, err := g.Wallet(ctx, c)
	require.That(t, err == nil && len(w.Methods) == 0, "%+v, %v", w, err)
	done, err := g.Confirm(ctx, c, intent.ID, intent.ClientSecret, card("3155"))
	require.That(t, err == nil && done.Status == "requires_action", "%+v, %v", done, err)
	if done, err := g.Authenticate(ctx, c, intent.ID, intent.ClientSecret, false); err != nil ||
		done.Status != "requires_payment_method" {
		t.Fatalf("%+v, %v", done, err)
	}
	done, err = g.Confirm(ctx, c, intent.ID, intent.ClientSecret, card("4242"))
	require.That(t, err == nil && done.Status == "succeeded", "%+v, %v", done, err)
	_, err = g.Confirm(ctx, c, intent.ID, intent.ClientSecret, card("4242"))
	assert.ErrorIs(t, err, payment.ErrIntentState)
	rows, err := objects.Read(ctx, "org", string(c))
	require.NoError(t, err)
	book := fmt.Sprintf("%s", rows)
	for _, n := range []string{"4242424242424242", "4111111111111111", intent.ClientSecret.Reveal(), `"123"`} {
		assert.That(t, !strings.Contains(strings.ReplaceAll(book, " ", ""), n), "the objects hold %s", n)
	}
}

func TestEventsAreDeliveredUntilTheyArrive(t *testing.T) {
	g, p := newGateway(t, stripesim.Config{})
	ctx := t.Context()
	p.closed = true
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	m := addCard(t, g, c, "4242")
	p.closed = false
	require.NoError(t, g.SetDefault(ctx, "d", c, m))
	_, err = g.Subscribe(ctx, "s", c, payment.Order{Plan: plans[0], Quantity: 1})
	require.NoError(t, err)
	want := []string{"customer.created", "setup_intent.created", "payment_method.attached", "setup_intent.succeeded",
		"customer.updated", "customer.updated", "customer.subscription.created", "invoice.created", "invoice.paid"}
	got := p.types(t)
	assert.That(t, strings.Join(got, " ") == strings.Join(want, " "), "delivered %v", got)
	require.NoError(t, g.Provoke(ctx, stripesim.Script{Duplicate: true, Reorder: true}))
	p.bodies = nil
	require.NoError(t, g.Cancel(ctx, "x", c, "sub_none", payment.Cancellation{}))
	addCard(t, g, c, "4242")
	assert.Equal(t, "delivered", strings.Join(p.types(t), " "),
		"setup_intent.created setup_intent.created "+
			"setup_intent.succeeded payment_method.attached setup_intent.succeeded payment_method.attached")
}

func TestTroublesComeOnceEach(t *testing.T) {
	g, _ := newGateway(t, stripesim.Config{})
	ctx := t.Context()
	require.NoError(t, g.Provoke(ctx, stripesim.Script{Troubles: stripesim.Faults()}))
	for _, kind := range stripesim.Faults() {
		calling, end := context.WithCancel(ctx)
		_, err := g.CreateCustomer(calling, string(kind), payment.Details{})
		end()
		assert.That(t, payment.OutcomeUnknown(err) != (kind == stripesim.RateLimited), "%s: %v", kind, err)
	}
	for _, kind := range stripesim.Faults() {
		c, err := g.CreateCustomer(ctx, string(kind), payment.Details{})
		assert.That(t, err == nil && c != "", "%s: %v", kind, err)
	}
	_, _, err := g.AdvanceAll(ctx, -time.Second)
	assert.That(t, err != nil, "time went back")
}

func TestTroublesWaitForTheCallThatTheyAreFor(t *testing.T) {
	g, _ := newGateway(t, stripesim.Config{})
	ctx := t.Context()
	script := stripesim.Script{Call: "create setup intent", Troubles: []stripesim.Fault{stripesim.Unavailable}}
	require.NoError(t, g.Provoke(ctx, script))
	c, err := g.CreateCustomer(ctx, "customer", payment.Details{})
	require.NoError(t, err)
	for _, fails := range []bool{true, false} {
		calling, end := context.WithCancel(ctx)
		_, err := g.CreateSetupIntent(calling, fmt.Sprint("intent", fails), c, payment.OffSession)
		end()
		assert.That(t, errors.Is(err, payment.ErrGatewayUnavailable) == fails, "setup intent: %v", err)
	}
}

func TestAFailureLastsForTheWholeCall(t *testing.T) {
	g, _ := newGateway(t, stripesim.Config{})
	ctx := t.Context()
	c, err := g.CreateCustomer(ctx, "customer", payment.Details{})
	require.NoError(t, err)
	require.NoError(t, g.SetDefault(ctx, "default", c, addCard(t, g, c, "4242")))
	lost := []stripesim.Fault{stripesim.SilentAfter, stripesim.UnavailableAfter, stripesim.Garbage, stripesim.Lost}
	require.NoError(t, g.Provoke(ctx, stripesim.Script{Call: "subscribe", Troubles: lost}))
	for n := range len(lost) + 1 {
		calling, end := context.WithCancel(ctx)
		_, err := g.Subscribe(calling, "key", c, payment.Order{Plan: plans[0], Quantity: 1})
		end()
		fails := n < len(lost)
		assert.That(t, payment.OutcomeUnknown(err) == fails && (fails || err == nil), "call %d: %v", n, err)
	}
	all, err := g.Subscriptions(ctx, c)
	assert.That(t, err == nil && len(all) == 1, "%+v, %v", all, err)
}

func TestACustomerOfAnEarlierSandboxIsGone(t *testing.T) {
	g, _ := newGateway(t, stripesim.Config{})
	_, err := g.Wallet(t.Context(), "cus_sandbox3fd1mo7a8cm2s")
	assert.ErrorIs(t, err, payment.ErrCustomerGone)
}

func TestASlowAnswerEndsWithTheCall(t *testing.T) {
	g, _ := newGateway(t, stripesim.Config{})
	g.SetTrouble(func(stripesim.Call) (stripesim.Fault, time.Duration) { return stripesim.None, time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := g.CreateCustomer(ctx, "c", payment.Details{})
	assert.That(t, errors.Is(err, payment.ErrGatewayTimeout) && errors.Is(err, context.DeadlineExceeded),
		"error = %v", err)
}
