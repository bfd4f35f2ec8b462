package stripesim

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Charge is a successful payment.
type Charge struct {
	ID                     string
	Customer, Subscription string
	Amount                 int64
	Key                    string    // idempotency key of the call; "" for a renewal
	Period                 time.Time // the start of the period that the invoice is for
	Invoice, Intent        string
	Currency               string
	Created                time.Time
	Behaviour              behaviour // of its card
}

// refund is money that goes back to a payment method (https://docs.stripe.com/api/refunds/object).
type refund struct {
	ID, Charge, Status string
	Amount             int64
	Created            time.Time
	Next               string    // the status that it gets later; "" if it stays
	Settles            time.Time // when
}

// dispute is an objection to a charge (https://docs.stripe.com/api/disputes/object).
type dispute struct {
	ID, Charge, Reason, Status string
	Amount                     int64
	Created                    time.Time
}

// creditNote reduces what is to be paid for an open invoice, and adds to the customer's credit for a paid one
// (https://docs.stripe.com/invoicing/integration/programmatic-credit-notes).
type creditNote struct {
	ID, Invoice string
	Amount      int64
	Created     time.Time
}

// settlesLater is when an asynchronous refund settles. Stripe does not say when.
const settlesLater = time.Hour

// refunded returns how much was refunded to the payer. A refund that has failed is none
// (https://docs.stripe.com/refunds#failed-refunds).
func (s *account) refunded(c *Charge) (amount int64) {
	for _, r := range s.refunds {
		if r.Charge == c.ID && r.Status != "failed" {
			amount += r.Amount
		}
	}
	return amount
}

func (s *account) disputesOf(charge string) []*dispute {
	return newest(s.disputes, func(d *dispute) bool { return d.Charge == charge })
}

// showCharge shows a charge (https://docs.stripe.com/api/charges/object).
func (s *account) showCharge(c *Charge) map[string]any {
	refunded := s.refunded(c)
	return map[string]any{
		"id": c.ID, "object": "charge", "amount": c.Amount, "amount_captured": c.Amount, "amount_refunded": refunded,
		"captured": true, "created": c.Created.Unix(), "currency": c.Currency, "customer": c.Customer,
		"disputed": len(s.disputesOf(c.ID)) > 0, "livemode": false, "metadata": map[string]string{}, "paid": true,
		"payment_intent": orNull(c.Intent), "refunded": refunded == c.Amount, "status": "succeeded",
	}
}

func (s *account) charge(id string) *Charge {
	return find(s.charges, func(c *Charge) bool { return c.ID == id })
}

func (s *account) readCharge(_ form, r *http.Request) any {
	return display(s.charge(r.PathValue("id")), s.showCharge)
}

func (s *account) listCharges(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(s.charges, func(c *Charge) bool { return c.Customer == f.Get("customer") }),
		s.showCharge)
}

func (s *account) listDisputes(f form, r *http.Request) any {
	c := s.charge(f.Get("charge"))
	if c == nil {
		return missing(404, "charge")
	}
	return list(f, r.URL.Path, s.disputesOf(c.ID), s.showDispute)
}

func (s *account) readDispute(_ form, r *http.Request) any {
	return display(find(s.disputes, func(d *dispute) bool { return d.ID == r.PathValue("id") }), s.showDispute)
}

func (s *account) showDispute(d *dispute) map[string]any {
	c := s.charge(d.Charge)
	return map[string]any{
		"id": d.ID, "object": "dispute", "amount": d.Amount, "charge": d.Charge, "created": d.Created.Unix(),
		"currency": c.Currency, "is_charge_refundable": isInquiry(d), "livemode": false,
		"metadata": map[string]string{}, "payment_intent": orNull(c.Intent), "reason": d.Reason, "status": d.Status,
	}
}

func (s *account) readRefund(_ form, r *http.Request) any {
	one := find(s.refunds, func(f *refund) bool { return f.ID == r.PathValue("id") })
	return display(one, func(f *refund) map[string]any {
		c := s.charge(f.Charge)
		return map[string]any{
			"id": f.ID, "object": "refund", "amount": f.Amount, "charge": f.Charge, "created": f.Created.Unix(),
			"currency": c.Currency, "metadata": map[string]string{}, "payment_intent": orNull(c.Intent),
			"status": f.Status,
		}
	})
}

// readCreditNote is GET /v1/credit_notes/{id}, with what tells whose it is.
func (s *account) readCreditNote(_ form, r *http.Request) any {
	one := find(s.notes, func(n *creditNote) bool { return n.ID == r.PathValue("id") })
	return display(one, func(n *creditNote) map[string]any {
		i := s.invoice(n.Invoice)
		return map[string]any{
			"id": n.ID, "object": "credit_note", "amount": n.Amount, "created": n.Created.Unix(),
			"currency": i.Currency, "customer": i.Customer, "invoice": i.ID, "livemode": false,
		}
	})
}

func isInquiry(d *dispute) bool { return strings.HasPrefix(d.Status, "warning_") }

// afterCharge does what a test card is for (https://docs.stripe.com/testing#disputes).
func (s *account) afterCharge(c *Charge, m *method) {
	if m == nil {
		return
	}
	c.Behaviour = m.Behaviour
	switch reason := strings.TrimPrefix(string(m.Behaviour), "dispute_"); {
	case reason == string(m.Behaviour):
	case reason == "inquiry":
		s.dispute(c, "fraudulent", true)
	case reason == "twice":
		s.dispute(c, "fraudulent", false)
		s.dispute(c, "fraudulent", false)
	default:
		s.dispute(c, reason, false)
	}
}

// dispute opens a dispute.
func (s *account) dispute(c *Charge, reason string, isInquiry bool) *dispute {
	d := &dispute{ID: s.id("du"), Charge: c.ID, Reason: reason, Status: "needs_response", Amount: c.Amount,
		Created: s.now()}
	if isInquiry {
		d.Status = "warning_needs_response"
	}
	s.disputes = append(s.disputes, d)
	return d
}

// ErrNotPaid reports that an invoice has no payment, or not of that amount.
var ErrNotPaid = errors.New("the invoice has no payment of that amount")

// ErrNoDispute reports that there is no open dispute with an identifier.
var ErrNoDispute = errors.New("there is no such open dispute")

// paidBy returns the charge that has paid an invoice. payment.ErrInvoiceNotFound, ErrNotPaid.
func (s *account) paidBy(id payment.InvoiceID) (*Charge, error) {
	i := s.invoice(string(id))
	if i == nil {
		return nil, payment.ErrInvoiceNotFound
	}
	c := find(s.charges, func(c *Charge) bool { return c.Invoice == i.ID })
	if c == nil {
		return nil, ErrNotPaid
	}
	return c, nil
}

// onCharge changes the charge that has paid an invoice.
func (s *Simulator) onCharge(ctx context.Context, i payment.InvoiceID, act func(*account, *Charge) error) error {
	return s.change(ctx, CustomerOf(string(i)), func(a *account) error {
		c, err := a.paidBy(i)
		if err != nil {
			return err
		}
		return act(a, c)
	})
}

// Refund pays an invoice back to its payment method, as a person does in Stripe's dashboard: an amount in the minor
// unit, or the rest if it is 0. payment.ErrInvoiceNotFound, ErrNotPaid, even if less remains.
func (s *Simulator) Refund(ctx context.Context, i payment.InvoiceID, amount int64) error {
	return s.onCharge(ctx, i, func(a *account, c *Charge) error {
		rest := c.Amount - a.refunded(c)
		if amount == 0 {
			amount = rest
		}
		if amount <= 0 || amount > rest {
			return ErrNotPaid
		}
		r := &refund{ID: a.id("re"), Charge: c.ID, Status: "succeeded", Amount: amount, Created: a.now(),
			Settles: a.now().Add(settlesLater)}
		switch c.Behaviour {
		case "refund_pending":
			r.Status, r.Next = "pending", "succeeded"
		case "refund_fails":
			r.Next = "failed"
		}
		a.refunds = append(a.refunds, r)
		a.emit("charge.refunded", "charge", c.ID)
		return nil
	})
}

// Dispute opens a dispute about an invoice's payment, or an inquiry, as a payer's bank does.
// payment.ErrInvoiceNotFound, ErrNotPaid.
func (s *Simulator) Dispute(ctx context.Context, i payment.InvoiceID, isInquiry bool) (id string, err error) {
	err = s.onCharge(ctx, i, func(a *account, c *Charge) error {
		id = a.dispute(c, "fraudulent", isInquiry).ID
		return nil
	})
	return id, err
}

// CloseDispute closes an open dispute, as its evidence decides (https://docs.stripe.com/testing#evidence). An inquiry
// is closed without a dispute if it is won, and becomes a dispute otherwise. ErrNoDispute.
func (s *Simulator) CloseDispute(ctx context.Context, id string, isWon bool) error {
	return s.change(ctx, CustomerOf(id), func(a *account) error {
		d := find(a.disputes, func(d *dispute) bool {
			return d.ID == id && strings.HasSuffix(d.Status, "needs_response")
		})
		switch {
		case d == nil:
			return ErrNoDispute
		case isInquiry(d) && isWon:
			d.Status = "warning_closed"
		case isInquiry(d):
			d.Status = "needs_response"
		case isWon:
			d.Status = "won"
		default:
			d.Status = "lost"
		}
		return nil
	})
}

// Credit makes a credit note for an invoice. The amount is in the minor unit. payment.ErrInvoiceNotFound,
// ErrNotPaid if it is neither open nor paid, or the amount is more than is due.
func (s *Simulator) Credit(ctx context.Context, id payment.InvoiceID, amount int64) error {
	return s.change(ctx, CustomerOf(string(id)), func(a *account) error {
		i := a.invoice(string(id))
		switch {
		case i == nil:
			return payment.ErrInvoiceNotFound
		case amount <= 0, i.Status == "open" && amount > i.Due, i.Status == "paid" && amount > i.Due-i.CreditedLater,
			i.Status != "open" && i.Status != "paid":
			return ErrNotPaid
		}
		a.notes = append(a.notes, &creditNote{ID: a.id("cn"), Invoice: i.ID, Amount: amount, Created: a.now()})
		if i.Status == "paid" {
			i.CreditedLater += amount
			a.customer(i.Customer).Credit += amount
			return nil
		}
		i.Credited, i.Due = i.Credited+amount, i.Due-amount
		if i.intent != nil {
			i.intent.Amount = i.Due
		}
		if i.Due == 0 { // which pays it
			a.collect(i)
		}
		return nil
	})
}
