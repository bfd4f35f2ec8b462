package sandbox

import (
	"context"
	"crypto/subtle"
	"errors"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// cards are the test cards that Stripe publishes (https://docs.stripe.com/testing) and the sandbox knows.
var cards = map[string]struct {
	brand string
	does  behaviour
}{
	"4242424242424242": {"visa", works},
	"5555555555554444": {"mastercard", works},
	"378282246310005":  {"amex", works},
	"4000000000000002": {"visa", declined},
	"4000000000009995": {"visa", noFunds},
	"4000000000000341": {"visa", failsLater},
	"4000002500003155": {"visa", wantsBank},
}

// Confirm implements ports.SandboxPayer. The number goes no further than the table above.
func (g *Gateway) Confirm(ctx context.Context, c payment.CustomerID, id payment.IntentID, clientSecret secret.String,
	card payment.Card) (payment.SetupIntent, error) {
	if _, isKnown := cards[digits(card)]; !isKnown {
		return payment.SetupIntent{}, payment.ErrTestCardsOnly
	}
	return g.payer(ctx, c, id, clientSecret, func(b *account, n *intent, now time.Time) error {
		if n.Subscription != "" || n.Status != wantsMethod {
			return payment.ErrIntentState
		}
		m, err := g.newMethod(card, now)
		switch {
		case err != nil:
			return err
		case m.Behaviour == declined, m.Behaviour == noFunds:
			b.emit("setup_intent.setup_failed", "setup_intent", string(n.ID), now)
			return &payment.DeclinedError{DeclineCode: string(m.Behaviour)}
		case m.Behaviour == wantsBank:
			n.Status, n.Card = wantsAction, m
			b.emit("setup_intent.requires_action", "setup_intent", string(n.ID), now)
			return nil
		}
		b.attach(n, m, now)
		return nil
	})
}

// digits returns a card's number without spaces and hyphens.
func digits(card payment.Card) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(card.Number.Reveal())
}

// newMethod returns a test card's payment method. payment.ErrTestCardsOnly, payment.ErrMethodExpired.
func (g *Gateway) newMethod(card payment.Card, now time.Time) (*method, error) {
	number := digits(card)
	found, isKnown := cards[number]
	if !isKnown {
		return nil, payment.ErrTestCardsOnly
	}
	m := &method{
		Brand: found.brand, Last4: number[len(number)-4:], ExpMonth: card.ExpMonth, ExpYear: card.ExpYear,
		Behaviour: found.does, CreatedAt: now, Fingerprint: g.mac("sandbox card\x00" + number),
	}
	if method := m.shown(); method.Expired(now) {
		return nil, payment.ErrMethodExpired
	}
	return m, nil
}

// attach adds a card by an intent.
func (b *account) attach(n *intent, m *method, now time.Time) {
	m.ID = payment.MethodID("pm_" + name(string(n.ID), "card"))
	b.Methods = append(b.Methods, m)
	n.Status, n.Card = succeeded, nil
	for _, s := range b.Subscriptions { // a trial that waits for a card
		if s.Intent == n.ID {
			s.Intent = ""
		}
	}
	b.emit("payment_method.attached", "payment_method", string(m.ID), now)
	b.emit("setup_intent.succeeded", "setup_intent", string(n.ID), now)
}

// cancelIntents ends the setup intents that are not confirmed.
func (b *account) cancelIntents(now time.Time) {
	for _, n := range b.Intents {
		if n.Subscription != "" || (n.Status != wantsMethod && n.Status != wantsAction) {
			continue
		}
		n.Status, n.Card = canceled, nil
		for _, s := range b.Subscriptions {
			if s.Intent == n.ID {
				s.Intent = ""
			}
		}
		b.emit("setup_intent.canceled", "setup_intent", string(n.ID), now)
	}
}

// Authenticate implements ports.SandboxPayer.
func (g *Gateway) Authenticate(ctx context.Context, c payment.CustomerID, id payment.IntentID,
	clientSecret secret.String, success bool) (payment.SetupIntent, error) {
	return g.payer(ctx, c, id, clientSecret, func(b *account, n *intent, now time.Time) error {
		if n.Status != wantsAction {
			return payment.ErrIntentState
		}
		switch {
		case n.Subscription != "":
			b.authenticatePayment(n, success, now)
		case !success:
			n.Status, n.Card = wantsMethod, nil
			b.emit("setup_intent.setup_failed", "setup_intent", string(n.ID), now)
		default:
			m := n.Card
			if n.Usage == payment.OffSession {
				m.Behaviour = bankIsAsked
			}
			b.attach(n, m, now)
		}
		return nil
	})
}

// authenticatePayment starts the subscription that waits for it. If the authentication fails, the payer may try again
// until the subscription expires.
func (b *account) authenticatePayment(n *intent, success bool, now time.Time) {
	if !success {
		b.emit("payment_intent.payment_failed", "payment_intent", string(n.ID), now)
		return
	}
	n.Status = succeeded
	if m := b.method(b.Default); m != nil && m.Behaviour == wantsBank {
		m.Behaviour = bankIsAsked
	}
	i := b.invoice(n.Invoice)
	if n.Invoice == "" {
		i = b.open(n.Subscription)
	}
	if i != nil && i.Status == payment.Open {
		b.paid(i, now)
	}
}

// payer runs act for a caller who has an intent's secret. A refusal changes nothing, except that an event
// reports a declined card.
func (g *Gateway) payer(ctx context.Context, c payment.CustomerID, id payment.IntentID, clientSecret secret.String,
	act func(*account, *intent, time.Time) error) (payment.SetupIntent, error) {
	if subtle.ConstantTimeCompare([]byte(clientSecret.Reveal()), []byte(g.clientSecret(id).Reveal())) != 1 {
		return payment.SetupIntent{}, payment.ErrIntentNotFound
	}
	now, err := g.now(ctx)
	if err != nil {
		return payment.SetupIntent{}, err
	}
	out := payment.SetupIntent{ID: id, ClientSecret: clientSecret}
	var decline error
	err = g.accounts.Write(ctx, g.org, string(c), func(text []byte) ([]byte, error) {
		b, err := decode(text)
		if err != nil {
			return nil, err
		}
		b.roll(now)
		n := b.intent(id)
		if n == nil {
			return nil, payment.ErrIntentNotFound
		}
		decline = nil
		if err := act(b, n, now); errors.Is(err, payment.ErrCardDeclined) {
			decline = err
		} else if err != nil {
			return nil, err
		}
		out.Status = n.Status
		return encode(b)
	})
	if err != nil {
		return payment.SetupIntent{}, err
	}
	g.flush(ctx, c)
	if decline != nil {
		return payment.SetupIntent{}, decline
	}
	return out, nil
}
