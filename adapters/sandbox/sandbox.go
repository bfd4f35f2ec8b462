// Package sandbox is a payment gateway in which no money moves. It keeps its own accounts, as any gateway
// does, behaves like Stripe where Atrium can see it, and sends signed webhooks. The same calls at the same
// times have the same effects, identifiers included.
package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Account is the name of the one account that each org has in the sandbox.
const Account = "sandbox"

// Deliver carries an event to an org's webhook.
type Deliver func(ctx context.Context, org identity.OrgID, body []byte, signature string) error

// Gateway is an org's sandbox.
type Gateway struct {
	org      identity.OrgID
	accounts ports.SandboxAccounts
	clock    func() time.Time
	mac      func(text string) string // with a key that only the deployment has
	deliver  Deliver
	trouble  Trouble
	post     *post
}

var (
	_ ports.Gateway      = (*Gateway)(nil)
	_ ports.SandboxPayer = (*Gateway)(nil)
)

// New returns an org's sandbox. Secrets are derived with mac, and are not stored.
func New(org identity.OrgID, accounts ports.SandboxAccounts, clock func() time.Time, mac func(text string) string,
	deliver Deliver) *Gateway {
	return &Gateway{org: org, accounts: accounts, clock: clock, mac: mac, deliver: deliver,
		post: &post{busy: map[payment.CustomerID]*delivery{}}}
}

// WebhookKey signs the events.
func (g *Gateway) WebhookKey() secret.String {
	return secret.New("whsec_" + g.mac("sandbox webhook\x00"+string(g.org)))
}

func (g *Gateway) clientSecret(id payment.IntentID) secret.String {
	return secret.New(string(id) + "_secret_" + g.mac("sandbox intent\x00"+string(g.org)+"\x00"+string(id)))
}

// name derives an identifier from the parts that identify an object.
func name(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sandbox" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]))
}

func itoa(n int) string { return strconv.Itoa(n) }

var (
	errNoSuchCustomer     = payment.ErrCustomerGone
	errNoSuchSubscription = &payment.Rejection{Reason: "resource_missing"}
)

// keyed runs act under an idempotency key, or returns the result of the key's first call. call names the
// operation, so that one key is not used for two.
func keyed[T any](ctx context.Context, g *Gateway, c payment.CustomerID, key, call string,
	act func(b *account, now time.Time) (T, error)) (T, error) {
	var result keyedResult[T]
	ctx, fail, err := g.begin(ctx, call, key)
	if err != nil {
		return result.out, err
	}
	now, err := g.now(ctx)
	if err != nil {
		return result.out, err
	}
	err = g.accounts.Write(ctx, g.org, string(c), func(text []byte) ([]byte, error) {
		result = keyedResult[T]{}
		b, err := decode(text)
		if err != nil {
			return nil, err
		}
		b.roll(now)
		if previous, exists := b.Answers[key]; exists {
			result, err = again[T](previous, call)
			return nil, err
		}
		result.out, err = act(b, now)
		a := answer{Call: call, At: now}
		if decline,
			isDecline := err.(*payment.DeclinedError); isDecline { //nolint:errorlint // act returns it unwrapped
			a.Declined, result.refusal = decline.DeclineCode, decline
		} else if err != nil {
			return nil, err
		} else if a.Result, err = json.Marshal(result.out); err != nil {
			return nil, err
		}
		if b.Answers == nil {
			b.Answers = map[string]answer{}
		}
		b.Answers[key] = a
		return encode(b)
	})
	if err == nil {
		g.flush(ctx, c)
		err = result.refusal
	}
	if late := fail(); late != nil {
		var zero T
		return zero, late
	}
	return result.out, err
}

// keyedResult is a call's result under an idempotency key.
type keyedResult[T any] struct {
	out     T
	refusal error // a declined card, which is stored
}

// again returns a call's stored result.
func again[T any](previous answer, call string) (result keyedResult[T], err error) {
	switch {
	case previous.Call != call:
		return result, &payment.Rejection{Reason: "idempotency_error"}
	case previous.Declined != "":
		result.refusal = &payment.DeclinedError{DeclineCode: previous.Declined}
		return result, nil
	}
	return result, json.Unmarshal(previous.Result, &result.out)
}

func decode(text []byte) (*account, error) {
	if text == nil {
		return nil, errNoSuchCustomer
	}
	b := new(account)
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return b, nil
}

// read calls see with an account's current state; changes that have become due are stored first.
func (g *Gateway) read(ctx context.Context, c payment.CustomerID, call string) (*account, error) {
	ctx, fail, err := g.begin(ctx, call, "")
	if err != nil {
		return nil, err
	}
	b, err := g.look(ctx, c)
	if late := fail(); late != nil {
		return nil, late
	}
	return b, err
}

func (g *Gateway) look(ctx context.Context, c payment.CustomerID) (*account, error) {
	now, err := g.now(ctx)
	if err != nil {
		return nil, err
	}
	text, err := g.accounts.Read(ctx, g.org, string(c))
	if err != nil {
		return nil, err
	}
	b, err := decode(text)
	if err != nil {
		return nil, err
	}
	if !b.roll(now) && len(b.Outbox) == 0 {
		return b, nil
	}
	err = g.accounts.Write(ctx, g.org, string(c), func(text []byte) (_ []byte, err error) {
		if b, err = decode(text); err != nil {
			return nil, err
		}
		b.roll(now)
		return encode(b)
	})
	if err != nil {
		return nil, err
	}
	g.flush(ctx, c)
	return b, nil
}

// CreateCustomer implements ports.GatewayCustomers.
func (g *Gateway) CreateCustomer(ctx context.Context, key string, d payment.Details) (payment.CustomerID, error) {
	ctx, fail, err := g.begin(ctx, "create customer", key)
	if err != nil {
		return "", err
	}
	now, err := g.now(ctx)
	if err != nil {
		return "", err
	}
	id := payment.CustomerID("cus_" + name(string(g.org), "customer", key))
	if text, err := g.accounts.Read(ctx, g.org, string(id)); err == nil && text != nil {
		if late := fail(); late != nil {
			return "", late
		}
		return id, nil
	}
	err = g.accounts.Write(ctx, g.org, string(id), func(text []byte) ([]byte, error) {
		if text != nil {
			return nil, nil
		}
		b := &account{ID: id, Name: d.Name, Email: d.Email, CreatedAt: now}
		b.emit("customer.created", "customer", string(id), now)
		return encode(b)
	})
	if err == nil {
		g.flush(ctx, id)
	}
	if late := fail(); late != nil {
		return "", late
	}
	return id, err
}

// CreateSetupIntent implements ports.GatewayCustomers.
func (g *Gateway) CreateSetupIntent(ctx context.Context, key string, c payment.CustomerID,
	u payment.Usage) (payment.SetupIntent, error) {
	n, err := keyed(ctx, g, c, key, "create setup intent "+string(u), func(b *account, now time.Time) (intent, error) {
		n := &intent{ID: payment.IntentID("seti_" + name(string(b.ID), key)), Usage: u, Status: wantsMethod,
			CreatedAt: now}
		b.Intents = append(b.Intents, n)
		b.emit("setup_intent.created", "setup_intent", string(n.ID), now)
		return *n, nil
	})
	if err != nil {
		return payment.SetupIntent{}, err
	}
	return payment.SetupIntent{ID: n.ID, Status: n.Status, ClientSecret: g.clientSecret(n.ID)}, nil
}

// CancelSetupIntents implements ports.GatewayCustomers.
func (g *Gateway) CancelSetupIntents(ctx context.Context, c payment.CustomerID) error {
	ctx, fail, err := g.begin(ctx, "cancel setup intents", "")
	if err != nil {
		return err
	}
	now, err := g.now(ctx)
	if err != nil {
		return err
	}
	err = g.accounts.Write(ctx, g.org, string(c), func(text []byte) ([]byte, error) {
		b, err := decode(text)
		if err != nil {
			return nil, err
		}
		b.cancelIntents(now)
		return encode(b)
	})
	if err == nil {
		g.flush(ctx, c)
	}
	if late := fail(); late != nil {
		return late
	}
	return err
}

// Wallet implements ports.GatewayCustomers.
func (g *Gateway) Wallet(ctx context.Context, c payment.CustomerID) (payment.Wallet, error) {
	b, err := g.read(ctx, c, "wallet")
	if err != nil {
		return payment.Wallet{}, err
	}
	w := payment.Wallet{Default: b.Default, Credit: b.credit()}
	for _, m := range b.Methods {
		w.Methods = append(w.Methods, m.shown())
	}
	return w, nil
}

// SetDefault implements ports.GatewayCustomers.
func (g *Gateway) SetDefault(ctx context.Context, key string, c payment.CustomerID, m payment.MethodID) error {
	_, err := keyed(ctx, g, c, key, "set default "+string(m), func(b *account, now time.Time) (bool, error) {
		if b.method(m) == nil {
			return false, payment.ErrMethodNotFound
		}
		if b.Default != m {
			b.Default = m
			b.emit("customer.updated", "customer", string(b.ID), now)
		}
		return true, nil
	})
	return err
}

// Detach implements ports.GatewayCustomers.
func (g *Gateway) Detach(ctx context.Context, key string, c payment.CustomerID, m payment.MethodID) error {
	_, err := keyed(ctx, g, c, key, "detach "+string(m), func(b *account, now time.Time) (bool, error) {
		if b.method(m) == nil {
			return true, nil
		}
		b.Methods = slices.DeleteFunc(b.Methods, func(o *method) bool { return o.ID == m })
		if b.Default == m {
			b.Default = ""
		}
		b.emit("payment_method.detached", "payment_method", string(m), now)
		return true, nil
	})
	return err
}

// Prices implements ports.GatewaySubscriptions. Every plan that an org sells is available here.
func (g *Gateway) Prices(_ context.Context, plans payment.Plans) (payment.Plans, error) {
	plans = slices.Clone(plans)
	for i := range plans {
		plans[i].Unavailable = false
	}
	return plans, nil
}
