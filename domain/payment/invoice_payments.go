package payment

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// PayInvoice starts to charge the default method for an invoice, under key. If the invoice is paid
// already, done is true and err is nil. now is the time at the gateway. ErrInvoiceNotPayable,
// ErrMethodRequired.
func (c *Customer) PayInvoice(by identity.Actor, now time.Time, key string, i *Invoice) (isDone bool, err error) {
	if err := c.allow(by); err != nil {
		return false, err
	}
	if isResumed, err := c.resumes(by, Pay, key); isResumed || err != nil {
		return false, err
	}
	switch i.Status {
	case Paid:
		return true, nil
	case Draft, Open, Uncollectible: // what was written off can still be paid
	default:
		return false, ErrInvoiceNotPayable
	}
	if err := c.unpaused(); err != nil {
		return false, err
	}
	if m := c.DefaultMethod(); i.AmountDue > 0 && (m == nil || m.Expired(now)) {
		return false, ErrMethodRequired
	}
	op := &Operation{Kind: Pay, Key: key, At: by.At, Invoice: i.ID}
	c.begin(by, op, "invoice.payment_requested", string(i.ID), nil)
	return false, nil
}

// SettlePayment is Settle for a Pay or a Buy, with what came of it.
func (c *Customer) SettlePayment(by identity.Actor, key string, from Look, p InvoicePayment,
	subscriptions []GatewaySubscription, plans Plans) bool {
	if c.Pending == nil || c.Pending.Key != key {
		return true
	}
	if !c.Settle(by, key, from, subscriptions, plans) {
		return false
	}
	if p.Invoice.Status == Paid { // else the payer may have confirmed it since
		c.Invoices = []Invoice{p.Invoice}
		c.countUsage(c.Invoices)
	}
	return true
}
