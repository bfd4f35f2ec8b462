package stripeapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

type invoice struct {
	id, number, customer, subscription, status string
	total, due                                 int64 // due is total without the customer's credit
	tax                                        int64 // included in total
	billedTo                                   map[string]any
	start, end, created, paidAt                time.Time
	intent                                     *paymentIntent // nil if there is nothing to pay
	off                                        int64          // that discounts deducted
	discounts                                  []*discount
	lines                                      []line
	reason                                     string // billing_reason; "" for a change of its subscription
}

// Charge is a successful payment.
type Charge struct {
	Customer, Subscription string
	Amount                 int64
	Key                    string    // idempotency key of the call; "" for a renewal
	Period                 time.Time // the start of the period that the invoice is for
}

func (u *subscription) amount() int64 { return u.sum() }

func (i *invoice) show(expanded []string) map[string]any {
	paid := int64(0)
	if i.status == "paid" {
		paid = i.due
	}
	out := map[string]any{
		"id": i.id, "object": "invoice", "number": i.number, "customer": i.customer, "status": i.status,
		"currency": "usd", "subtotal": i.total - i.tax, "total": i.total,
		"amount_due": i.due, "starting_balance": i.due - i.total, "amount_paid": paid, "created": i.created.Unix(),
		"period_start": i.start.Unix(), "period_end": i.end.Unix(), "due_date": nil,
		"hosted_invoice_url": "https://invoice.example.com/" + i.id, "invoice_pdf": "https://invoice.example.com/" +
			i.id + "/pdf", "total_taxes": i.showTaxes(), "livemode": false,
		"status_transitions": map[string]any{"paid_at": unix(i.paidAt), "finalized_at": i.created.Unix(),
			"marked_uncollectible_at": nil, "voided_at": nil},
	}
	out["billing_reason"] = cmp.Or(i.reason, "subscription_update")
	if out["parent"] = nil; i.subscription != "" {
		out["parent"] = map[string]any{"type": "subscription_details", "quote_details": nil,
			"subscription_details": map[string]any{"subscription": i.subscription}}
	}
	maps.Copy(out, i.billedTo)
	out["lines"] = i.showLines()
	i.showDiscounted(out, expanded)
	if slices.Contains(expanded, "latest_invoice.confirmation_secret") ||
		slices.Contains(expanded, "confirmation_secret") {
		out["confirmation_secret"] = nil
		if i.intent != nil {
			out["confirmation_secret"] = map[string]any{"type": "payment_intent",
				"client_secret": clientSecret(i.intent.id)}
		}
	}
	if slices.Contains(expanded, "latest_invoice.payments") {
		data := []any{}
		if i.intent != nil {
			data = append(data, map[string]any{
				"id": "inpay_" + i.id, "object": "invoice_payment", "invoice": i.id, "status": "open",
				"payment": map[string]any{"type": "payment_intent", "payment_intent": i.intent.id},
			})
		}
		out["payments"] = map[string]any{"object": "list", "has_more": false, "url": "/v1/invoice_payments",
			"data": data}
	}
	return out
}

// listInvoices shows the newest first. Like all lists it is empty for a customer that is not there, but
// for the lists that are the customer's own.
func (s *Server) listInvoices(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(s.invoices, func(i *invoice) bool {
		return i.customer == f.Get("customer") && (f.Get("status") == "" || f.Get("status") == i.status)
	}), func(i *invoice) map[string]any { return i.show(f.expanded()) })
}

// wantsPayer is why a card that requires authentication is declined while the payer is absent. The payment intent waits
// for the payer (https://docs.stripe.com/billing/subscriptions/overview#requires-action).
const wantsPayer = "authentication_required"

// charged returns the method that u is charged to: its own default, or that of its customer.
func (s *Server) charged(u *subscription) *method {
	c := s.customer(u.customer)
	return c.method(cmp.Or(u.def, c.def))
}

// wouldDecline returns why the method of u cannot be charged, or that it requires authentication.
func (s *Server) wouldDecline(u *subscription, present bool) (decline string, asks bool) {
	m := s.charged(u)
	switch {
	case m == nil:
		return "missing_payment_method", false
	case m.expired:
		return "expired_card", false
	case m.last4 == "0341":
		return "generic_decline", false
	case m.last4 == "3155" && !m.authenticated && present:
		return "", true
	case m.last4 == "3155" && !m.authenticated:
		return wantsPayer, false
	}
	return "", false
}

// bill creates an invoice for u's current period and charges it. present says whether the payer can authenticate.
func (s *Server) bill(u *subscription, amount int64, present bool) *invoice {
	now := s.now()
	i := &invoice{
		id: s.id("in"), number: "STANDIN-" + strconv.Itoa(len(s.invoices)+1), customer: u.customer, subscription: u.id,
		status: "paid", tax: s.tax(u, amount), billedTo: s.customer(u.customer).billedTo(),
		total: amount + s.tax(u, amount), start: u.start, end: u.end, created: now, paidAt: now,
		lines: []line{u.line(amount)},
	}
	s.invoices, u.latest = append(s.invoices, i), i
	s.deduct(i)
	if i.due == 0 {
		return i
	}
	i.intent = &paymentIntent{id: s.id("pi"), customer: u.customer, amount: i.due, status: "succeeded", created: now}
	s.payments[i.intent.id] = i.intent
	decline, asks := s.wouldDecline(u, present)
	switch {
	case asks, decline == wantsPayer:
		i.status, i.paidAt, i.intent.status = "open", time.Time{}, "requires_action"
		m := s.charged(u)
		i.intent.settled = func() {
			m.authenticated = true
			s.collect(i)
		}
	case decline != "":
		i.status, i.paidAt, i.intent.status, i.intent.decline = "open", time.Time{}, "requires_payment_method", decline
	default:
		s.pay(i)
	}
	return i
}

// Draft creates an invoice as a person does in the dashboard, who has not finished it: a draft without a subscription
// (https://docs.stripe.com/invoicing/dashboard#create-invoice). It returns its identifier.
func (s *Server) Draft(customer string, amount int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	i := &invoice{
		id: s.id("in"), customer: customer, status: "draft", billedTo: s.customer(customer).billedTo(), total: amount,
		due: amount, start: now, end: now, created: now, reason: "manual",
	}
	s.invoices = append(s.invoices, i)
	return i.id
}

func (s *Server) pay(i *invoice) {
	i.status, i.paidAt = "paid", s.now()
	if i.intent != nil {
		i.intent.status = "succeeded"
		s.charges = append(s.charges, Charge{Customer: i.customer, Subscription: i.subscription, Amount: i.due,
			Period: i.start})
	}
}

// deduct uses the customer's credit for an invoice that is finalized.
func (s *Server) deduct(i *invoice) {
	c := s.customer(i.customer)
	used := min(c.credit, i.total)
	c.credit -= used
	i.due = i.total - used
}

// end ends u, and its schedule with it. Open invoices stay open and can be paid, but for those of a first payment
// that never came (https://docs.stripe.com/billing/subscriptions/cancel).
func (s *Server) end(u *subscription, status string) {
	u.status, u.setup = status, nil
	u.drop()
	if u.schedule != nil {
		u.schedule.status, u.schedule = "canceled", nil
	}
	for _, i := range s.invoices {
		if i.subscription == u.id && i.status == "open" && status == "incomplete_expired" {
			i.void()
		}
	}
}

func (i *invoice) void() {
	i.status = "void"
	if i.intent != nil {
		i.intent.status = "canceled"
	}
}

func (s *Server) invoice(id string) *invoice {
	n := slices.IndexFunc(s.invoices, func(i *invoice) bool { return i.id == id })
	if n < 0 {
		return nil
	}
	return s.invoices[n]
}

func (s *Server) readInvoice(f form, r *http.Request) any {
	i := s.invoice(r.PathValue("id"))
	if i == nil {
		return missing(404, "invoice")
	}
	return i.show(f.expanded())
}

func (s *Server) finalizeInvoice(_ form, r *http.Request) any {
	i := s.invoice(r.PathValue("id"))
	switch {
	case i == nil:
		return missing(404, "invoice")
	case i.status != "draft":
		return invalid("invoice")
	}
	s.finalize(i)
	return i.show(nil)
}

// finalize gives a draft its payment intent.
func (s *Server) finalize(i *invoice) {
	i.status, i.billedTo = "open", s.customer(i.customer).billedTo()
	s.deduct(i)
	if i.due == 0 {
		return
	}
	i.intent = &paymentIntent{id: s.id("pi"), customer: i.customer, amount: i.due, status: "requires_payment_method",
		created: s.now()}
	s.payments[i.intent.id] = i.intent
}

// payInvoice charges the default method for an open invoice. On session, a bank that wants to ask the payer leaves the
// payment intent waiting for the payer, and the call fails (https://docs.stripe.com/error-codes).
func (s *Server) payInvoice(f form, r *http.Request) any {
	i := s.invoice(r.PathValue("id"))
	switch {
	case i == nil:
		return missing(404, "invoice")
	case i.status != "open":
		return invalid("invoice")
	case f.Get("off_session") != "false":
		return invalid("off_session") // the one way that is modelled
	}
	u := s.subscription(i.subscription)
	if u == nil { // an invoice of its own is charged to the customer's default
		u = &subscription{customer: i.customer}
	}
	decline, asks := "", false
	if i.due > 0 {
		decline, asks = s.wouldDecline(u, true)
	}
	switch {
	case asks:
		i.intent.status = "requires_action"
		m := s.charged(u)
		i.intent.settled = func() {
			m.authenticated = true
			s.collect(i)
		}
		return refusal{402, "card_error", "invoice_payment_intent_requires_action", "", ""}
	case decline != "":
		i.intent.status, i.intent.decline = "requires_payment_method", decline
		return refusal{402, "card_error", "card_declined", decline, ""}
	}
	s.collect(i)
	return i.show(f.expanded())
}

// collect pays an invoice. Its subscription is active again if it is the newest one.
func (s *Server) collect(i *invoice) {
	s.pay(i)
	u := s.subscription(i.subscription)
	if u != nil && u.pending != nil && u.pending.invoice == i {
		u.apply()
		return
	}
	if u == nil || u.latest != i {
		return
	}
	switch u.status {
	case "incomplete", "past_due", "unpaid":
		u.status, u.retries = "active", 0
	}
}

func (s *Server) voidInvoice(_ form, r *http.Request) any {
	i := s.invoice(r.PathValue("id"))
	switch {
	case i == nil:
		return missing(404, "invoice")
	case i.status != "open":
		return invalid("invoice")
	}
	i.void()
	s.customer(i.customer).credit += i.total - i.due
	if u := s.subscription(i.subscription); u != nil && u.pending != nil && u.pending.invoice == i {
		u.drop()
	}
	return i.show(nil)
}

// OpenInvoices returns the ids of a customer's invoices that can still be paid.
func (s *Server) OpenInvoices(customer string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, i := range s.invoices {
		if i.customer == customer && i.status == "open" {
			ids = append(ids, i.id)
		}
	}
	return ids
}

// How subscriptions change with time. Stripe chooses when to retry a failed renewal; here it is every three days, four
// times.
const (
	incompleteFor = 23 * time.Hour
	retryEvery    = 3 * 24 * time.Hour
	maxRetries    = 4
)

// Charges returns all charges that were ever made.
func (s *Server) Charges() []Charge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.charges)
}

// Live returns the ids of a customer's subscriptions that have not ended.
func (s *Server) Live(customer string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, u := range s.subscriptions {
		if u.customer == customer && u.live() {
			ids = append(ids, u.id)
		}
	}
	return ids
}

// Made counts all subscriptions that were ever created, by the key in their metadata.
func (s *Server) Made(note string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := map[string]int{}
	for _, u := range s.subscriptions {
		made[cmp.Or(u.metadata[note], "unnamed")]++
	}
	return made
}

// Wrongs returns the violations that Atrium must never cause: two live subscriptions of one customer.
func (s *Server) Wrongs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrongs)
}
