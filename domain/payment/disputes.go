package payment

import (
	"slices"

	"github.com/atrium-hq/atrium/domain/identity"
)

// InvoiceReason says why there is an invoice.
type InvoiceReason string

// The reasons.
const (
	SubscriptionCreate InvoiceReason = "subscription_create"
	SubscriptionCycle  InvoiceReason = "subscription_cycle" // a renewal
	SubscriptionUpdate InvoiceReason = "subscription_update"
	OtherReason        InvoiceReason = "other" // a person has written it, for example
)

// DisputeStatus is a dispute's status.
type DisputeStatus string

// The statuses.
const (
	DisputeOpen DisputeStatus = "open"
	DisputeWon  DisputeStatus = "won"
	DisputeLost DisputeStatus = "lost"

	// DisputeClosed says that an inquiry has ended without a dispute, or that the dispute was prevented.
	DisputeClosed DisputeStatus = "closed"
)

// Dispute is a payer's objection to a payment, at the payer's bank.
type Dispute struct {
	ID      string        `json:"id"`
	Amount  int64         `json:"amount"` // that is disputed, in the minor unit
	Reason  string        `json:"reason"` // the gateway's own word, such as fraudulent
	Status  DisputeStatus `json:"status"`
	Inquiry bool          `json:"inquiry,omitempty"` // the bank only asks: no money was taken back
}

// Disputed reports whether the invoice's payment is in dispute, or was lost in one. Inquiries do not count.
func (i *Invoice) Disputed() bool {
	return slices.ContainsFunc(i.Disputes, func(d Dispute) bool {
		return !d.Inquiry && (d.Status == DisputeOpen || d.Status == DisputeLost)
	})
}

// Refunded reports whether everything that was paid was paid back.
func (i *Invoice) Refunded() bool { return i.AmountPaid > 0 && i.AmountRefunded >= i.AmountPaid }

// Loss says what happens to a subscription whose payment is lost.
type Loss string

// The possible values. The zero value is KeepPlan.
const (
	KeepPlan Loss = "keep"
	EndPlan  Loss = "end" // the subscription ends at once
)

// LossRules are an org's rules about payments that are lost.
type LossRules struct {
	OnRefund  Loss // the payment was refunded in full
	OnDispute Loss // the payer disputes it
}

// End reports whether the rules end some subscription.
func (r LossRules) End() bool { return r.OnRefund == EndPlan || r.OnDispute == EndPlan }

// Forfeited reports whether the rules end a subscription. newest are its workspace's invoices, newest first. The
// payment that counts is the last one: an earlier period was used and is over.
func (r LossRules) Forfeited(id SubscriptionID, newest []Invoice) bool {
	for n := range newest {
		i := &newest[n]
		if i.Subscription != id || i.Status != Paid || i.AmountPaid == 0 {
			continue
		}
		return (r.OnRefund == EndPlan && i.Refunded()) || (r.OnDispute == EndPlan && i.Disputed())
	}
	return false
}

// RecordInvoices records the events about how the invoices of c differ from the stored ones: each once, whichever read
// of the gateway found them, and however many events of the gateway were lost.
func (c *Customer) RecordInvoices(by identity.Actor, stored map[InvoiceID]Invoice) {
	for n := range slices.Backward(c.Invoices) { // the oldest first
		i := &c.Invoices[n]
		previous := stored[i.ID]
		if i.Status == Paid && previous.Status != Paid {
			c.Record(by, "invoice.paid", string(i.ID), map[string]any{"amount": i.AmountPaid, "currency": i.Currency,
				"reason": i.Reason, "subscription_id": i.Subscription})
			c.recordPacks(by, i)
		}
		if change := i.AmountRefunded - previous.AmountRefunded; change != 0 {
			c.Record(by, "invoice.refunded", string(i.ID), map[string]any{"amount": change,
				"amount_refunded": i.AmountRefunded, "currency": i.Currency, "subscription_id": i.Subscription})
		}
		for _, d := range i.Disputes {
			c.recordDispute(by, i, previous.dispute(d.ID), d)
		}
	}
}

// dispute returns a dispute; the zero Dispute if the invoice does not have it.
func (i *Invoice) dispute(id string) Dispute {
	for _, d := range i.Disputes {
		if d.ID == id {
			return d
		}
	}
	return Dispute{}
}

// recordDispute records that a dispute was opened, also as one that was only an inquiry before, or closed.
func (c *Customer) recordDispute(by identity.Actor, i *Invoice, previous, d Dispute) {
	data := map[string]any{"invoice_id": i.ID, "subscription_id": i.Subscription, "amount": d.Amount,
		"currency": i.Currency, "reason": d.Reason, "inquiry": d.Inquiry}
	if previous.ID == "" || (previous.Inquiry && !d.Inquiry) {
		c.Record(by, "dispute.opened", d.ID, data)
	}
	if d.Status != DisputeOpen && (previous.ID == "" || previous.Status == DisputeOpen) {
		closed := map[string]any{"outcome": d.Status}
		for name, value := range data {
			closed[name] = value
		}
		c.Record(by, "dispute.closed", d.ID, closed)
	}
}
