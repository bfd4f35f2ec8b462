package stripesim

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

type invoice struct {
	ID, Number, Customer, Subscription, Status, Currency string
	Intent                                               string
	Total, Due                                           int64 // due is total without the customer's credit
	Tax                                                  int64 // included in total
	BilledTo                                             map[string]any
	Start, End, Created, PaidAt                          time.Time
	intent                                               *paymentIntent // nil if there is nothing to pay
	Off                                                  int64          // that discounts deducted
	Discounts                                            []*discount
	Lines                                                []line
	Reason                                               string    // billing_reason; "" for a change
	Attempts                                             int       // the first one, and the retries
	Credited, CreditedLater                              int64     // by credit notes: before and after the payment
	DueAt                                                time.Time // if it is sent; zero if it is charged
	Method                                               string    // default_payment_method
	IsTaxed                                              bool      // automatically
	Metadata                                             map[string]string
}

func (u *subscription) amount() int64 { return u.sum() }

// showInvoice is an invoice as Stripe returns it. Members that Stripe returns only if expanded are only there if
// expanded.
func (s *account) showInvoice(i *invoice, expanded []string) map[string]any {
	paid, remaining := int64(0), i.Due
	switch i.Status {
	case "paid":
		paid, remaining = i.Due, 0
	case "void":
		remaining = 0
	}
	out := map[string]any{
		"id": i.ID, "object": "invoice", "number": i.Number, "customer": i.Customer, "status": i.Status,
		"currency": i.Currency, "subtotal": i.Total - i.Tax, "total": i.Total,
		"amount_due": i.Due, "starting_balance": i.Due + i.Credited - i.Total, "amount_paid": paid,
		"amount_remaining": remaining, "pre_payment_credit_notes_amount": i.Credited,
		"post_payment_credit_notes_amount": i.CreditedLater, "created": i.Created.Unix(),
		"period_start": i.Start.Unix(), "period_end": i.End.Unix(), "due_date": unix(i.DueAt),
		"hosted_invoice_url": nil, "invoice_pdf": nil, "total_taxes": i.showTaxes(), "livemode": false,
		"status_transitions": map[string]any{"paid_at": unix(i.PaidAt), "finalized_at": i.Created.Unix(),
			"marked_uncollectible_at": nil, "voided_at": nil},
	}
	if i.Status != "draft" { // https://docs.stripe.com/api/invoices/object#invoice_object-hosted_invoice_url
		page := s.pageURL(i.Customer, i.ID)
		out["hosted_invoice_url"], out["invoice_pdf"] = page, page+payment.InvoicePDF
	}
	out["attempt_count"], out["attempted"], out["next_payment_attempt"] = i.Attempts, i.Attempts > 0, s.nextAttempt(i)
	out["collection_method"] = collection(!i.DueAt.IsZero())
	out["billing_reason"] = cmp.Or(i.Reason, "subscription_update")
	if out["parent"] = nil; i.Subscription != "" {
		out["parent"] = map[string]any{"type": "subscription_details", "quote_details": nil,
			"subscription_details": map[string]any{"subscription": i.Subscription}}
	}
	maps.Copy(out, i.BilledTo)
	out["metadata"], out["default_payment_method"] = i.Metadata, orNull(i.Method)
	if i.Metadata == nil {
		out["metadata"] = map[string]string{}
	}
	out["lines"] = i.showLines()
	i.showDiscounted(out, expanded)
	if slices.Contains(expanded, "latest_invoice.confirmation_secret") ||
		slices.Contains(expanded, "confirmation_secret") {
		out["confirmation_secret"] = nil
		if i.intent != nil {
			out["confirmation_secret"] = map[string]any{"type": "payment_intent",
				"client_secret": s.clientSecret(i.intent.ID)}
		}
	}
	if slices.Contains(expanded, "latest_invoice.payments") || slices.Contains(expanded, "payments") {
		data := []any{}
		if i.intent != nil {
			data = append(data, map[string]any{
				"id": "inpay_" + i.ID, "object": "invoice_payment", "invoice": i.ID, "status": intentStatus(i),
				"payment": map[string]any{"type": "payment_intent", "payment_intent": i.intent.ID},
			})
		}
		out["payments"] = map[string]any{"object": "list", "has_more": false, "url": "/v1/invoice_payments",
			"data": data}
	}
	return out
}

// nextAttempt returns when an invoice is charged again without a request, or nil
// (https://docs.stripe.com/api/invoices/object#invoice_object-next_payment_attempt).
func (s *account) nextAttempt(i *invoice) any {
	u := s.subscription(i.Subscription)
	if i.Status != "open" || u == nil || u.Status != "past_due" || s.owed(u) != i {
		return nil
	}
	return unix(u.RetryAt)
}

// intentStatus is the status of an invoice's payment (https://docs.stripe.com/api/invoice-payment/object).
func intentStatus(i *invoice) string {
	switch i.Status {
	case "paid":
		return "paid"
	case "void":
		return "canceled"
	}
	return "open"
}

// listInvoices shows the newest first. Like all lists it is empty for a customer that is not there, but
// for the lists that are the customer's own.
func (s *account) listInvoices(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(s.invoices, func(i *invoice) bool {
		return i.Customer == f.Get("customer") && (f.Get("status") == "" || f.Get("status") == i.Status) &&
			(f.Get("subscription") == "" || f.Get("subscription") == i.Subscription)
	}), func(i *invoice) map[string]any { return s.showInvoice(i, f.expanded()) })
}

// wantsPayer is why a card that requires authentication is declined while the payer is absent. The payment intent waits
// for the payer (https://docs.stripe.com/billing/subscriptions/overview#requires-action).
const wantsPayer = "authentication_required"

// charged returns the method that u is charged to: its own default, or its customer's.
func (s *account) charged(u *subscription) *method {
	c := s.customer(u.Customer)
	return c.method(cmp.Or(u.Default, c.Default))
}

// wouldDecline returns why the method of u cannot be charged, or that it requires authentication.
func (s *account) wouldDecline(u *subscription, a attempt) (decline string, asks bool) {
	m := s.charged(u)
	switch {
	case m == nil:
		return "missing_payment_method", false
	case m.isDebit() && u.Plan.PriceRef != "" && u.Plan.Price.Currency != debitCurrency[m.Brand]:
		return "payment_method_currency_mismatch", false // https://docs.stripe.com/error-codes
	}
	return m.answer(s.now(), a)
}

// payerOf returns the method that an invoice is charged to, or nil.
func (s *account) payerOf(i *invoice) *method {
	u := s.subscription(i.Subscription)
	if u != nil {
		return s.charged(u)
	}
	// an invoice of its own has its own, or is charged to the customer's default
	return s.method(cmp.Or(i.Method, s.customer(i.Customer).Default))
}

// bill creates an invoice for u's current period and charges it.
func (s *account) bill(u *subscription, amount int64, a attempt) *invoice {
	now := s.now()
	i := &invoice{
		ID: s.id("in"), Number: s.invoiceNumber(u), Customer: u.Customer, Subscription: u.ID,
		Currency: u.Plan.Price.Currency, Status: "paid", Tax: s.tax(u, amount),
		BilledTo: s.customer(u.Customer).billedTo(),
		Total:    amount + s.tax(u, amount), Start: u.Start, End: u.End, Created: now, PaidAt: now,
		Lines: []line{u.line(amount)},
	}
	if u.latest == nil {
		i.Reason = "subscription_create"
	}
	s.invoices, u.latest = append(s.invoices, i), i
	s.deduct(i)
	if i.Due == 0 {
		return i
	}
	i.intent = &paymentIntent{ID: s.id("pi"), Customer: u.Customer, Amount: i.Due, Status: "succeeded",
		Currency: i.Currency, Created: now}
	s.payments[i.intent.ID] = i.intent
	if u.DaysUntilDue > 0 {
		i.send(u)
		return i
	}
	i.Attempts = 1
	decline, asks := s.wouldDecline(u, a)
	switch {
	case asks, decline == wantsPayer:
		i.Status, i.PaidAt, i.intent.Status = "open", time.Time{}, "requires_action"
		i.intent.Method = s.charged(u).ID
	case decline != "":
		i.Status, i.PaidAt = "open", time.Time{}
		i.intent.fail(decline)
	default:
		s.chargeInvoice(i)
	}
	return i
}

// invoiceNumber returns the number of a new invoice of u, whose currency the customer has from now on.
func (s *account) invoiceNumber(u *subscription) string {
	s.customer(u.Customer).Currency = u.Plan.Price.Currency
	s.counts.Invoices++
	return "SANDBOX-" + strconv.Itoa(s.counts.Invoices)
}

// fail notes that a payment was declined.
func (i *paymentIntent) fail(decline string) {
	i.Status, i.Decline = "requires_payment_method", decline
	i.Attempts++
}

func (s *account) pay(i *invoice) { s.payBy(i, s.payerOf(i)) }

// payBy pays an invoice with a method; nil if it is not known.
func (s *account) payBy(i *invoice, m *method) {
	i.Status, i.PaidAt = "paid", s.now()
	switch {
	case i.intent == nil:
	case i.Due == 0:
		i.intent.Status = "canceled"
	default:
		i.intent.Status = "succeeded"
		c := &Charge{
			ID: s.id("ch"), Customer: i.Customer, Subscription: i.Subscription, Amount: i.Due, Period: i.Start,
			Invoice: i.ID, Intent: i.intent.ID, Currency: i.Currency, Created: s.now(),
		}
		s.charges = append(s.charges, c)
		s.afterCharge(c, m)
	}
}

// deduct uses the customer's credit for an invoice that is finalized.
func (s *account) deduct(i *invoice) {
	c := s.customer(i.Customer)
	usage := min(c.Credit, i.Total)
	c.Credit -= usage
	i.Due = i.Total - usage
}

// end ends u, and its schedule with it. Open invoices stay open and can be paid, but for the invoice of a first payment
// that never came (https://docs.stripe.com/billing/subscriptions/cancel).
func (s *account) end(u *subscription, status string) {
	u.Status, u.setup = status, nil
	u.drop()
	if u.schedule != nil {
		u.schedule.Status, u.schedule = "canceled", nil
	}
	for _, i := range s.invoices {
		if i.Subscription == u.ID && i.Status == "open" && status == "incomplete_expired" {
			i.void()
		}
	}
}

func (i *invoice) void() {
	i.Status = "void"
	if i.intent != nil {
		i.intent.Status = "canceled"
	}
}

func (s *account) invoice(id string) *invoice {
	return find(s.invoices, func(i *invoice) bool { return i.ID == id })
}

func (s *account) readInvoice(f form, r *http.Request) any {
	return display(s.invoice(r.PathValue("id")),
		func(i *invoice) map[string]any { return s.showInvoice(i, f.expanded()) })
}

func (s *account) finalizeInvoice(_ form, r *http.Request) any {
	i := s.invoice(r.PathValue("id"))
	switch {
	case i == nil:
		return missing(404, "invoice")
	case i.Status != "draft":
		return invalid("invoice")
	}
	s.finalize(i)
	return s.showInvoice(i, nil)
}

// finalize gives a draft its number and its payment intent.
func (s *account) finalize(i *invoice) {
	if i.Number == "" {
		s.counts.Invoices++
		i.Number = "SANDBOX-" + strconv.Itoa(s.counts.Invoices)
	}
	i.Status, i.BilledTo = "open", s.customer(i.Customer).billedTo()
	s.deduct(i)
	if i.Due == 0 {
		return
	}
	i.intent = &paymentIntent{ID: s.id("pi"), Customer: i.Customer, Amount: i.Due, Status: "requires_payment_method",
		Currency: i.Currency, Created: s.now()}
	s.payments[i.intent.ID] = i.intent
}

// payInvoice charges the default method for an open invoice. On session, a bank that wants to ask the payer leaves the
// payment intent waiting for the payer, and the call fails (https://docs.stripe.com/error-codes).
func (s *account) payInvoice(f form, r *http.Request) any {
	i := s.invoice(r.PathValue("id"))
	switch {
	case i == nil:
		return missing(404, "invoice")
	case i.Status != "open":
		return invalid("invoice")
	case i.onTheWay():
		return refusal{400, "invalid_request_error", "payment_intent_unexpected_state", "", ""}
	case f.Get("off_session") != "false":
		return invalid("off_session") // the one way that is modelled
	}
	u := s.subscription(i.Subscription)
	if u == nil { // an invoice of its own is charged to its own method, or to the customer's default
		u = &subscription{Customer: i.Customer, Default: i.Method}
		u.Plan.Price.Currency = i.Currency
	}
	decline, asks := "", false
	if i.Due > 0 {
		decline, asks = s.wouldDecline(u, attempt{present: true})
	}
	i.Attempts = max(i.Attempts, 1) // later ones count only if they are retries
	switch {
	case asks:
		i.intent.Status = "requires_action"
		i.intent.Method = s.charged(u).ID
		return refusal{402, "card_error", "invoice_payment_intent_requires_action", "", ""}
	case decline != "":
		i.intent.fail(decline)
		return cardError(decline)
	}
	s.chargeInvoice(i)
	s.activate(i)
	return s.showInvoice(i, f.expanded())
}

// collect pays an invoice.
func (s *account) collect(i *invoice) {
	s.pay(i)
	s.activate(i)
}

// activate makes a subscription active again whose newest invoice is paid, or is on its way to be.
func (s *account) activate(i *invoice) {
	u := s.subscription(i.Subscription)
	if u != nil && u.Pending != nil && u.Pending.invoice == i {
		u.apply()
		return
	}
	if u != nil && u.DaysUntilDue > 0 {
		if u.Status == "past_due" && !s.overdue(u) {
			u.Status = "active"
		}
		return
	}
	if u == nil || u.latest != i {
		return
	}
	switch u.Status {
	case "incomplete", "past_due", "unpaid":
		u.Status, u.Retries = "active", 0
	}
}

// voidInvoice is POST /v1/invoices/{id}/void. It returns the credit that the invoice used, and drops the change that
// waits for it.
func (s *account) voidInvoice(_ form, r *http.Request) any {
	i := s.invoice(r.PathValue("id"))
	switch {
	case i == nil:
		return missing(404, "invoice")
	case i.Status != "open", i.onTheWay():
		return invalid("invoice")
	}
	i.void()
	s.customer(i.Customer).Credit += i.Total - i.Due - i.Credited
	if u := s.subscription(i.Subscription); u != nil && u.Pending != nil && u.Pending.invoice == i {
		u.drop()
	}
	return s.showInvoice(i, nil)
}
