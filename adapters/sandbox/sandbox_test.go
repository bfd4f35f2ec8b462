package sandbox_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sandbox"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
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
	keys   map[identity.OrgID]secret.String
}

func (p *post) deliver(_ context.Context, org identity.OrgID, body []byte, signature string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("closed")
	}
	if err := payment.CheckSignature([]secret.String{p.keys[org]}, signature, body, time.Now()); err != nil {
		p.t.Errorf("the signature of %s: %v", body, err)
	}
	p.bodies = append(p.bodies, string(body))
	return nil
}

func (p *post) types(t *testing.T) []string {
	var all []string
	for _, body := range p.bodies {
		e, err := payment.ParseEvent([]byte(body))
		if err != nil || !strings.HasPrefix(string(e.Customer), "cus_") {
			t.Fatalf("%s: %v", body, err)
		}
		all = append(all, e.Type)
	}
	return all
}

func newGateway(t *testing.T, org identity.OrgID, accounts ports.SandboxAccounts) (*sandbox.Gateway, *post) {
	p := &post{t: t, keys: map[identity.OrgID]secret.String{}}
	g := sandbox.New(org, accounts, time.Now, mac, p.deliver)
	p.keys[org] = g.WebhookKey()
	return g, p
}

var plans = payment.Plans{
	{ID: "basic", Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1},
	{ID: "pro", Price: payment.Money{Amount: 2900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1},
	{ID: "year", Price: payment.Money{Amount: 29000, Currency: "usd"}, Interval: payment.Year, IntervalCount: 1},
	{ID: "metered", PriceRef: "price_metered", Price: payment.Money{Amount: 1900, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1,
		Metered: &payment.MeteredPrice{Feature: "messages", Amount: 10, PriceRef: "price_messages"}},
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

func open(t *testing.T) contract.GatewayStage {
	g, _ := newGateway(t, "org", fixture.NewSandboxAccounts())
	var mu sync.Mutex
	lost, keep := 0, false
	troubled := g.WithTrouble(func(string) (sandbox.Kind, time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if lost > 0 {
			lost--
			return sandbox.FailureAfter, 0
		}
		if keep {
			keep = false
			return sandbox.FailureKept, 0
		}
		return sandbox.None, 0
	})
	return contract.GatewayStage{
		Gateway: troubled, Plans: plans,
		AddCard: func(t *testing.T, c payment.CustomerID, last4 string) payment.MethodID {
			return addCard(t, g, c, last4)
		},
		Confirm: func(t *testing.T, c payment.CustomerID, i payment.SetupIntent, last4 string) bool {
			i, err := g.Confirm(t.Context(), c, i.ID, i.ClientSecret, card(last4))
			return err == nil && i.Status == "succeeded"
		},
		Authenticate: func(t *testing.T, c payment.CustomerID, a *payment.Action) {
			id, _, _ := strings.Cut(a.ClientSecret.Reveal(), "_secret_")
			if _, err := g.Authenticate(t.Context(), c, payment.IntentID(id), a.ClientSecret, true); err != nil {
				t.Fatal(err)
			}
		},
		Advance: func(t *testing.T, d time.Duration) {
			if _, _, err := g.Advance(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		},
		CheckOut: func(t *testing.T, url, last4 string) bool {
			p, err := g.Complete(t.Context(), link(url), card(last4))
			return err == nil && p.Done
		},
		Elsewhere: elsewhere(g),
		Lose:      func(n int) { lost = n },
		Keep:      func(*testing.T) { keep = true },
	}
}

func addCard(t *testing.T, g *sandbox.Gateway, c payment.CustomerID, last4 string) payment.MethodID {
	t.Helper()
	usage := payment.OffSession
	if last4 == "3155" {
		usage = payment.OnSession // so that its bank asks again at the first payment
	}
	before, err := g.Wallet(t.Context(), c)
	require.NoError(t, err)
	intent, err := g.CreateSetupIntent(t.Context(), last4+time.Now().String(), c, usage)
	require.NoError(t, err)
	done, err := g.Confirm(t.Context(), c, intent.ID, intent.ClientSecret, card(last4))
	if err == nil && done.Status == "requires_action" {
		done, err = g.Authenticate(t.Context(), c, intent.ID, intent.ClientSecret, true)
	}
	if err != nil || done.Status != "succeeded" {
		t.Fatalf("%+v, %v", done, err)
	}
	after, err := g.Wallet(t.Context(), c)
	if err != nil || len(after.Methods) != len(before.Methods)+1 {
		t.Fatalf("%+v, %v", after, err)
	}
	return after.Methods[len(after.Methods)-1].ID
}

func TestContract(t *testing.T) { contract.Gateway(t, open) }

func TestBooksInMemory(t *testing.T) {
	contract.SandboxAccounts(t, func(*testing.T) (accounts, second ports.SandboxAccounts, orgs [2]identity.OrgID) {
		b := fixture.NewSandboxAccounts()
		return b, b, [2]identity.OrgID{"one", "two"}
	})
}

func TestCards(t *testing.T) {
	accounts := fixture.NewSandboxAccounts()
	g, _ := newGateway(t, "org", accounts)
	ctx := t.Context()
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	intent, err := g.CreateSetupIntent(ctx, "i", c, payment.OffSession)
	require.NoError(t, err)
	expired := card("4242")
	expired.ExpYear = 2020
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
		"an expired one is":        {intent.ClientSecret, expired, payment.ErrMethodExpired},
		"a wrong secret finds nothing": {secret.New(string(intent.ID) + "_secret_x"), card("4242"),
			payment.ErrIntentNotFound},
		"nor does none": {secret.String{}, card("4242"), payment.ErrIntentNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := g.Confirm(ctx, c, intent.ID, tt.secret, tt.card); !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
		})
	}
	other, err := g.CreateCustomer(ctx, "other", payment.Details{})
	require.NoError(t, err)
	if _, err := g.Confirm(ctx, other, intent.ID, intent.ClientSecret, card("4242")); !errors.Is(err,
		payment.ErrIntentNotFound) {
		t.Errorf("by another customer: %v", err)
	}
	if w, err := g.Wallet(ctx, c); err != nil || len(w.Methods) != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	if done, err := g.Confirm(ctx, c, intent.ID, intent.ClientSecret, card("3155")); err != nil ||
		done.Status != "requires_action" {
		t.Fatalf("%+v, %v", done, err)
	}
	if done, err := g.Authenticate(ctx, c, intent.ID, intent.ClientSecret, false); err != nil ||
		done.Status != "requires_payment_method" {
		t.Fatalf("%+v, %v", done, err)
	}
	if done, err := g.Confirm(ctx, c, intent.ID, intent.ClientSecret, card("4242")); err != nil ||
		done.Status != "succeeded" {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := g.Confirm(ctx, c, intent.ID, intent.ClientSecret, card("4242")); !errors.Is(err,
		payment.ErrIntentState) {
		t.Errorf("a second time: %v", err)
	}
	book, err := accounts.Read(ctx, "org", string(c))
	require.NoError(t, err)
	for _, n := range []string{"4242424242424242", "4111111111111111", intent.ClientSecret.Reveal(), `"123"`} {
		if strings.Contains(strings.ReplaceAll(string(book), " ", ""), n) {
			t.Errorf("the account holds %s", n)
		}
	}
}

func TestEventsAreDeliveredUntilTheyArrive(t *testing.T) {
	g, p := newGateway(t, "org", fixture.NewSandboxAccounts())
	ctx := t.Context()
	p.closed = true
	c, err := g.CreateCustomer(ctx, "c", payment.Details{})
	require.NoError(t, err)
	m := addCard(t, g, c, "4242")
	p.closed = false
	require.NoError(t, g.SetDefault(ctx, "d", c, m))
	if _, err := g.Subscribe(ctx, "s", c, payment.Order{Plan: plans[0], Quantity: 1}); err != nil {
		t.Fatal(err)
	}
	want := []string{"customer.created", "setup_intent.created", "payment_method.attached", "setup_intent.succeeded",
		"customer.updated", "customer.subscription.created", "invoice.created", "invoice.paid"}
	if got := p.types(t); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("delivered %v", got)
	}
	require.NoError(t, g.Provoke(ctx, sandbox.Script{Duplicate: true, Reorder: true}))
	p.bodies = nil
	require.NoError(t, g.Cancel(ctx, "x", c, "sub_none", payment.Cancellation{}))
	addCard(t, g, c, "4242")
	if got := strings.Join(p.types(t), " "); got != "setup_intent.created setup_intent.created "+
		"setup_intent.succeeded payment_method.attached setup_intent.succeeded payment_method.attached" {
		t.Errorf("delivered %s", got)
	}
}

func TestTheSameCallsHaveTheSameEffects(t *testing.T) {
	at := time.Date(2027, 1, 31, 10, 0, 0, 0, time.UTC)
	play := func(org identity.OrgID) string {
		accounts := fixture.NewSandboxAccounts()
		g := sandbox.New(org, accounts, func() time.Time { return at }, mac,
			func(context.Context, identity.OrgID, []byte, string) error { return nil })
		ctx := t.Context()
		c, err := g.CreateCustomer(ctx, "c", payment.Details{Name: "Acme"})
		require.NoError(t, err)
		i, err := g.CreateSetupIntent(ctx, "i", c, payment.OffSession)
		require.NoError(t, err)
		if _, err := g.Confirm(ctx, c, i.ID, i.ClientSecret, card("4242")); err != nil {
			t.Fatal(err)
		}
		w, err := g.Wallet(ctx, c)
		require.NoError(t, err)
		require.NoError(t, g.SetDefault(ctx, "d", c, w.Methods[0].ID))
		if _, err := g.Subscribe(ctx, "s", c, payment.Order{Plan: plans[0], Quantity: 1}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := g.Advance(ctx, 90*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		book, err := accounts.Read(ctx, org, string(c))
		require.NoError(t, err)
		return string(book)
	}
	one, two := play("org"), play("org")
	if one != two {
		t.Errorf("%s\n%s", one, two)
	}
	var b struct {
		Subscriptions []struct {
			PeriodStart time.Time `json:"period_start"`
		} `json:"subscriptions"`
	}
	if err := json.Unmarshal([]byte(one), &b); err != nil || b.Subscriptions[0].PeriodStart != time.Date(2027, 4, 30,
		10, 0, 0, 0, time.UTC) {
		t.Errorf("after 90 days: %+v, %v", b, err)
	}
	if play("another") == one {
		t.Error("another org has the same customer")
	}
}

func TestTroublesComeOnceEach(t *testing.T) {
	g, _ := newGateway(t, "org", fixture.NewSandboxAccounts())
	ctx := t.Context()
	require.NoError(t, g.Provoke(ctx, sandbox.Script{Troubles: sandbox.Kinds()}))
	for _, kind := range sandbox.Kinds() {
		_, err := g.CreateCustomer(ctx, string(kind), payment.Details{})
		if payment.OutcomeUnknown(err) == (kind == sandbox.Limited) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for _, kind := range sandbox.Kinds() {
		c, err := g.CreateCustomer(ctx, string(kind), payment.Details{})
		if err != nil || c == "" {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, _, err := g.Advance(ctx, -time.Second); err == nil {
		t.Error("time went back")
	}
}

func TestTroublesWaitForTheCallThatTheyAreFor(t *testing.T) {
	g, _ := newGateway(t, "org", fixture.NewSandboxAccounts())
	ctx := t.Context()
	script := sandbox.Script{Call: "create setup intent", Troubles: []sandbox.Kind{sandbox.Failure}}
	require.NoError(t, g.Provoke(ctx, script))
	c, err := g.CreateCustomer(ctx, "customer", payment.Details{})
	require.NoError(t, err)
	for _, fails := range []bool{true, false} {
		_, err := g.CreateSetupIntent(ctx, fmt.Sprint("intent", fails), c, payment.OffSession)
		if errors.Is(err, payment.ErrGatewayUnavailable) != fails {
			t.Errorf("setup intent: %v", err)
		}
	}
}

func TestASlowAnswerEndsWithTheCall(t *testing.T) {
	g, _ := newGateway(t, "org", fixture.NewSandboxAccounts())
	slow := g.WithTrouble(func(string) (sandbox.Kind, time.Duration) { return sandbox.None, time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := slow.CreateCustomer(ctx, "c", payment.Details{}); !errors.Is(err, payment.ErrGatewayTimeout) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
}
