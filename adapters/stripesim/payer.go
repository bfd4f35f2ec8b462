package stripesim

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// Confirm implements ports.SandboxPayer: it does what Stripe's form does with a setup intent in the payer's browser
// (https://docs.stripe.com/api/setup_intents/confirm).
func (s *Simulator) Confirm(ctx context.Context, c payment.CustomerID, id payment.IntentID, clientSecret secret.String,
	card payment.Card) (payment.SetupIntent, error) {
	if findCard(card) == nil {
		return payment.SetupIntent{}, payment.ErrTestCardsOnly
	}
	return s.payer(ctx, c, id, clientSecret, func(a *account) (status string, err error) {
		i := a.setups[string(id)]
		switch {
		case i == nil && a.payments[string(id)] == nil:
			return "", payment.ErrIntentNotFound
		case i == nil || i.Status != "requires_payment_method":
			return "", payment.ErrIntentState
		}
		m, err := a.newMethod(card)
		switch {
		case err != nil:
			return "", err
		case m.asksFirst():
			i.Status, i.Card = "requires_action", m
			return i.Status, nil
		case m.refusal() != "":
			return "", a.failSetup(i, m)
		}
		a.succeed(i, m)
		return i.Status, nil
	})
}

// failSetup returns the error for a card that is declined when it is added. The payer may try another one.
func (s *account) failSetup(i *setupIntent, m *method) error {
	i.Status, i.Card = "requires_payment_method", nil
	s.emit("setup_intent.setup_failed", "setup_intent", i.ID)
	return &payment.DeclinedError{DeclineCode: m.refusal()}
}

// succeed adds a card by a setup intent.
func (s *account) succeed(i *setupIntent, m *method) {
	s.attach(m)
	i.Status, i.Card = "succeeded", nil
	for _, u := range s.subscriptions { // a trial that waits for a card
		if u.setup == i {
			u.setup = nil
		}
	}
}

// Authenticate implements ports.SandboxPayer.
func (s *Simulator) Authenticate(ctx context.Context, c payment.CustomerID, id payment.IntentID,
	clientSecret secret.String, success bool) (payment.SetupIntent, error) {
	return s.payer(ctx, c, id, clientSecret, func(a *account) (status string, err error) {
		i, p := a.setups[string(id)], a.payments[string(id)]
		switch {
		case i == nil && p == nil:
			return "", payment.ErrIntentNotFound
		case (i != nil && i.Status != "requires_action") || (p != nil && p.Status != "requires_action"):
			return "", payment.ErrIntentState
		case p != nil:
			return a.authenticate(p, success), nil
		case !success:
			i.Status, i.Card = "requires_payment_method", nil
			a.emit("setup_intent.setup_failed", "setup_intent", i.ID)
			return i.Status, nil
		}
		m := i.Card
		if m.refusal() != "" {
			return "", a.failSetup(i, m)
		}
		m.Authenticated = i.Usage == string(payment.OffSession)
		a.succeed(i, m)
		return i.Status, nil
	})
}

// authenticate pays a payment's invoice. If the authentication fails, the payer may try again. The bank can decline
// the charge after it.
func (s *account) authenticate(p *paymentIntent, success bool) (status string) {
	if !success {
		p.Attempts++
		return p.Status
	}
	if m := s.method(p.Method); m != nil {
		m.Authenticated = true
		if decline, _ := m.answer(s.now(), attempt{present: true, authenticated: true}); decline != "" {
			p.fail(decline)
			return p.Status
		}
	}
	p.Status = "succeeded"
	for _, i := range s.invoices {
		if i.intent == p && i.Status == "open" {
			s.collect(i)
		}
	}
	return p.Status
}

// payer runs act for a caller who has an intent's secret. A refusal changes nothing, except that an event reports a
// declined card.
func (s *Simulator) payer(ctx context.Context, c payment.CustomerID, id payment.IntentID, clientSecret secret.String,
	act func(*account) (status string, err error)) (payment.SetupIntent, error) {
	want := s.clientSecret(string(id))
	if subtle.ConstantTimeCompare([]byte(clientSecret.Reveal()), []byte(want)) != 1 {
		return payment.SetupIntent{}, payment.ErrIntentNotFound
	}
	out := payment.SetupIntent{ID: id, ClientSecret: clientSecret}
	var decline error
	err := s.change(ctx, string(c), func(a *account) (err error) {
		decline = nil
		if out.Status, err = act(a); errors.Is(err, payment.ErrCardDeclined) {
			decline, err = err, nil
		}
		return err
	})
	if err = cmp.Or(err, decline); err != nil {
		return payment.SetupIntent{}, err
	}
	return out, nil
}
