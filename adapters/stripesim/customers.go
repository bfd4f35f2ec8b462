package stripesim

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

type customer struct {
	ID, Name, Email string
	Metadata        map[string]string
	Created         time.Time
	methods         []*method
	Default         string // id of the default method
	Currency        string // of its newest invoice
	Credit          int64  // deducted from the next invoices
	Deleted         bool
	Address         map[string]string
	taxIDs          []*taxID
}

type method struct {
	ID, Brand, Last4, Country string
	Customer                  string // "" after it was detached
	Fingerprint               string
	ExpMonth, ExpYear         int
	Behaviour                 behaviour
	Created                   time.Time
	Authenticated             bool // the payer has authenticated
	Funding                   string
	checked                   bool // a security code was entered
}

type setupIntent struct {
	ID, Customer, Usage, Status string
	Card                        *method // that waits for the bank
	Metadata                    map[string]string
	Created                     time.Time
}

type paymentIntent struct {
	ID, Customer, Status, Decline, Currency string
	Amount                                  int64
	Created                                 time.Time
	Method                                  string    // that is charged when the payer has authenticated
	Attempts                                int       // that have failed
	Settles                                 time.Time // when the bank answers, while it is processing
}

func (s *account) customer(id string) *customer {
	return find(s.customers, func(c *customer) bool { return c.ID == id && !c.Deleted })
}

func (c *customer) method(id string) *method {
	return find(c.methods, func(m *method) bool { return m.ID == id })
}

// method returns a method even if it was detached, or nil.
func (s *account) method(id string) *method {
	return find(s.methods, func(m *method) bool { return m.ID == id })
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (c *customer) show() map[string]any {
	return map[string]any{
		"id": c.ID, "object": "customer", "name": orNull(c.Name), "email": orNull(c.Email), "metadata": c.Metadata,
		"address": c.showAddress(),
		"created": c.Created.Unix(), "livemode": false,
		"balance": -c.Credit, "currency": orNull(c.Currency),
		"invoice_settings": map[string]any{"default_payment_method": orNull(c.Default),
			"custom_fields": nil, "footer": nil,
			"rendering_options": nil},
	}
}

func (s *account) createCustomer(f form, _ *http.Request) any {
	id := "cus_" + s.suffix
	if c := s.customer(id); c != nil { // of a key that is not known any more
		return c.show()
	}
	c := &customer{ID: id, Name: f.Get("name"), Email: f.Get("email"), Metadata: f.members("metadata"),
		Created: s.now()}
	s.customers = append(s.customers, c)
	return c.show()
}

func (s *account) listCustomers(f form, _ *http.Request) any {
	start := f.number("created[gte]")
	return list(f, "/v1/customers", newest(s.customers, func(c *customer) bool {
		return !c.Deleted && c.Created.Unix() >= start && (f.Get("email") == "" || f.Get("email") == c.Email)
	}), (*customer).show)
}

// readCustomer shows a deleted customer as such (https://docs.stripe.com/api/customers/delete).
func (s *account) readCustomer(_ form, r *http.Request) any {
	id := r.PathValue("id")
	if c := s.customer(id); c != nil {
		return c.show()
	}
	if slices.ContainsFunc(s.customers, func(c *customer) bool { return c.ID == id }) {
		return map[string]any{"id": id, "object": "customer", "deleted": true}
	}
	return missing(404, "id")
}

func (s *account) updateCustomer(f form, r *http.Request) any {
	c, m := s.customer(r.PathValue("id")), f.Get("invoice_settings[default_payment_method]")
	switch {
	case c == nil:
		return missing(404, "id")
	case m == "":
		return s.describe(c, f)
	case c.method(m) == nil: // the method must be attached first
		return missing(400, "invoice_settings[default_payment_method]")
	}
	c.Default = m
	return c.show()
}

func (m *method) show() map[string]any {
	out := map[string]any{
		"id": m.ID, "object": "payment_method", "customer": orNull(m.Customer), "created": m.Created.Unix(),
		"livemode": false, "metadata": map[string]string{},
	}
	if m.isDebit() {
		out["type"], out[m.Brand] = m.Brand, m.showAccount()
		return out
	}
	out["type"], out["card"] = "card", map[string]any{"brand": m.Brand, "last4": m.Last4, "exp_month": m.ExpMonth,
		"exp_year": m.ExpYear, "country": m.Country, "fingerprint": m.Fingerprint,
		"funding": cmp.Or(m.Funding, "credit")}
	return out
}

func (m *method) expired(now time.Time) bool {
	card := payment.Method{ExpMonth: m.ExpMonth, ExpYear: m.ExpYear}
	return card.Expired(now)
}

func (s *account) listMethods(f form, r *http.Request) any {
	c := s.customer(r.PathValue("id"))
	if c == nil {
		return missing(404, "customer")
	}
	return list(f, r.URL.Path, newest(c.methods, func(*method) bool { return true }),
		(*method).show)
}

func (s *account) readMethod(_ form, r *http.Request) any {
	c := s.customer(r.PathValue("id"))
	if c == nil {
		return missing(404, "customer")
	}
	return display(c.method(r.PathValue("method")), (*method).show)
}

// readOwnMethod is GET /v1/payment_methods/{id}, also for one that was detached.
func (s *account) readOwnMethod(_ form, r *http.Request) any {
	return display(s.method(r.PathValue("id")), (*method).show)
}

// detach is POST /v1/payment_methods/{id}/detach. It refuses a method that belongs to no customer.
func (s *account) detach(_ form, r *http.Request) any {
	id := r.PathValue("id")
	for _, c := range s.customers {
		m := c.method(id)
		if m == nil {
			continue
		}
		c.methods = slices.DeleteFunc(c.methods, func(m *method) bool { return m.ID == id })
		if c.Default == id {
			c.Default = ""
		}
		m.Customer = ""
		return m.show()
	}
	if s.method(id) != nil {
		return invalid("payment_method") // it belongs to no customer
	}
	return missing(404, "payment_method")
}

func (s *account) showSetup(i *setupIntent) map[string]any {
	return map[string]any{
		"id": i.ID, "object": "setup_intent", "client_secret": s.clientSecret(i.ID), "customer": i.Customer,
		"status": i.Status, "usage": i.Usage,
		"metadata": i.Metadata, "created": i.Created.Unix(), "livemode": false,
	}
}

func (s *account) createSetupIntent(f form, _ *http.Request) any {
	c := s.customer(f.Get("customer"))
	if c == nil {
		return missing(400, "customer")
	}
	return s.showSetup(s.setUp(c, f.Get("usage"), f.members("metadata")))
}

func (s *account) setUp(c *customer, usage string, metadata map[string]string) *setupIntent {
	i := &setupIntent{ID: s.id("seti"), Customer: c.ID, Usage: usage, Status: "requires_payment_method",
		Metadata: metadata, Created: s.now()}
	s.setups[i.ID] = i
	return i
}

func (s *account) listSetupIntents(f form, r *http.Request) any {
	all := slices.SortedFunc(maps.Values(s.setups), func(a, b *setupIntent) int { return cmp.Compare(a.ID, b.ID) })
	return list(f, r.URL.Path, newest(all, func(i *setupIntent) bool { return i.Customer == f.Get("customer") }),
		s.showSetup)
}

func (s *account) readSetupIntent(_ form, r *http.Request) any {
	return display(s.setups[r.PathValue("id")], s.showSetup)
}

// cancelSetupIntent is POST /v1/setup_intents/{id}/cancel. One that succeeded cannot be canceled.
func (s *account) cancelSetupIntent(_ form, r *http.Request) any {
	i := s.setups[r.PathValue("id")]
	switch {
	case i == nil:
		return missing(404, "intent")
	case i.Status == "succeeded" || i.Status == "canceled":
		return refusal{400, "invalid_request_error", "setup_intent_unexpected_state", "", ""}
	}
	i.Status, i.Card = "canceled", nil
	for _, u := range s.subscriptions { // a trial that waits for it
		if u.setup == i {
			u.setup = nil
		}
	}
	return s.showSetup(i)
}

func (s *account) showPayment(i *paymentIntent) map[string]any {
	out := map[string]any{
		"id": i.ID, "object": "payment_intent", "client_secret": s.clientSecret(i.ID), "customer": i.Customer,
		"status": i.Status, "amount": i.Amount, "currency": i.Currency,
		"created": i.Created.Unix(), "livemode": false, "last_payment_error": nil,
	}
	if i.Decline != "" {
		out["last_payment_error"] = cardError(i.Decline)
	}
	return out
}

func (s *account) readPaymentIntent(_ form, r *http.Request) any {
	return display(s.payments[r.PathValue("id")], s.showPayment)
}
