package sandbox

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// paying is a Pay's outcome.
type paying struct {
	Invoice payment.InvoiceID `json:"invoice"`
	Intent  payment.IntentID  `json:"intent,omitempty"` // that the payer must authenticate
}

// Pay implements ports.GatewaySubscriptions.
func (g *Gateway) Pay(ctx context.Context, key string, c payment.CustomerID,
	id payment.InvoiceID) (payment.InvoicePayment, error) {
	var invoice payment.Invoice
	p, err := keyed(ctx, g, c, key, "pay "+string(id), func(b *account, now time.Time) (paying, error) {
		i := b.invoice(id)
		if i == nil {
			return paying{}, payment.ErrInvoiceNotFound
		}
		switch i.Status {
		case payment.Paid:
			return paying{Invoice: id}, nil
		case payment.Draft:
			i.Status, i.BilledTo = payment.Open, b.details()
			b.deduct(i)
		case payment.Open:
		default:
			return paying{}, payment.ErrInvoiceNotPayable
		}
		result := b.charge(i.AmountDue, true, now)
		switch {
		case result.decline != "":
			b.emit("invoice.payment_failed", "invoice", string(id), now)
			return paying{}, &payment.DeclinedError{DeclineCode: result.decline}
		case result.asks:
			return paying{Invoice: id, Intent: b.askPayer(i, now)}, nil
		}
		b.paid(i, now)
		return paying{Invoice: id}, nil
	})
	if err != nil {
		return payment.InvoicePayment{}, err
	}
	b, err := g.look(ctx, c)
	if err != nil {
		return payment.InvoicePayment{}, err
	}
	if i := b.invoice(p.Invoice); i != nil {
		invoice = i.Invoice
	}
	out := payment.InvoicePayment{Invoice: invoice}
	if n := b.intent(p.Intent); n != nil && n.Status == wantsAction {
		out.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: g.clientSecret(n.ID)}
	}
	return out, nil
}

// askPayer returns the intent by which the payer authenticates an invoice's payment.
func (b *account) askPayer(i *invoice, now time.Time) payment.IntentID {
	for _, n := range b.Intents {
		if n.Status == wantsAction && (n.Invoice == i.ID || (n.Invoice == "" && n.Subscription == i.Subscription &&
			n.Subscription != "")) {
			return n.ID
		}
	}
	n := &intent{
		ID: payment.IntentID("pi_" + name(string(b.ID), "invoice", string(i.ID))), Status: wantsAction,
		Subscription: i.Subscription, Invoice: i.ID, CreatedAt: now,
	}
	b.Intents = append(b.Intents, n)
	b.emit("invoice.payment_action_required", "invoice", string(i.ID), now)
	return n.ID
}
