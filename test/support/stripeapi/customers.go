package stripeapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

type customer struct {
	id, name, email string
	metadata        map[string]string
	created         time.Time
	methods         []*method
	def             string // id of the default method
	credit          int64  // deducted from the next invoices
	deleted         bool
	address         map[string]string
	taxIDs          []*taxID
}

type method struct {
	id, brand, last4 string
	created          time.Time
	authenticated    bool // the payer has authenticated
	expired          bool
}

type setupIntent struct {
	id, customer, usage, status string
	metadata                    map[string]string
	created                     time.Time
}

type paymentIntent struct {
	id, customer, status, decline string
	amount                        int64
	created                       time.Time
	settled                       func() // called when the payer has authenticated
}

func (s *Server) id(prefix string) string {
	s.made++
	return fmt.Sprintf("%s_standin%sx%06d", prefix, s.name, s.made)
}

func (s *Server) customer(id string) *customer {
	i := slices.IndexFunc(s.customers, func(c *customer) bool { return c.id == id && !c.deleted })
	if i < 0 {
		return nil
	}
	return s.customers[i]
}

func (c *customer) method(id string) *method {
	i := slices.IndexFunc(c.methods, func(m *method) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return c.methods[i]
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (c *customer) show() map[string]any {
	return map[string]any{
		"id": c.id, "object": "customer", "name": orNull(c.name), "email": orNull(c.email), "metadata": c.metadata,
		"address": c.showAddress(),
		"created": c.created.Unix(), "livemode": false,
		"balance": -c.credit, "currency": "usd",
		"invoice_settings": map[string]any{"default_payment_method": orNull(c.def), "custom_fields": nil, "footer": nil,
			"rendering_options": nil},
	}
}

func (s *Server) createCustomer(f form, _ *http.Request) any {
	c := &customer{id: s.id("cus"), name: f.Get("name"), email: f.Get("email"), metadata: f.under("metadata"),
		created: s.now()}
	s.customers = append(s.customers, c)
	return c.show()
}

func (s *Server) listCustomers(f form, _ *http.Request) any {
	since := f.number("created[gte]")
	return list(f, "/v1/customers", newest(s.customers, func(c *customer) bool {
		return !c.deleted && c.created.Unix() >= since && (f.Get("email") == "" || f.Get("email") == c.email)
	}), (*customer).show)
}

// readCustomer shows a deleted customer as such (https://docs.stripe.com/api/customers/delete).
func (s *Server) readCustomer(_ form, r *http.Request) any {
	id := r.PathValue("id")
	if c := s.customer(id); c != nil {
		return c.show()
	}
	if slices.ContainsFunc(s.customers, func(c *customer) bool { return c.id == id }) {
		return map[string]any{"id": id, "object": "customer", "deleted": true}
	}
	return missing(404, "id")
}

// Delete deletes a customer, as the dashboard does: its subscriptions end.
func (s *Server) Delete(customer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.subscriptions {
		if u.customer == customer && u.live() {
			s.end(u, "canceled")
		}
	}
	s.customer(customer).deleted = true
}

// Methods returns the default method of a customer and how many methods it has.
func (s *Server) Methods(customer string) (def string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.customer(customer)
	return c.def, len(c.methods)
}

// Deleted reports whether a customer was deleted.
func (s *Server) Deleted(customer string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.customer(customer) == nil
}

func (s *Server) updateCustomer(f form, r *http.Request) any {
	c, m := s.customer(r.PathValue("id")), f.Get("invoice_settings[default_payment_method]")
	switch {
	case c == nil:
		return missing(404, "id")
	case m == "":
		return s.describe(c, f)
	case c.method(m) == nil: // the method must be attached first
		return missing(400, "invoice_settings[default_payment_method]")
	}
	c.def = m
	return c.show()
}

func (m *method) show(c *customer) map[string]any {
	of, year := any(nil), m.created.Year()+5
	if c != nil {
		of = c.id
	}
	if m.expired {
		year = m.created.Year() - 1
	}
	return map[string]any{
		"id": m.id, "object": "payment_method", "type": "card", "customer": of, "created": m.created.Unix(),
		"livemode": false, "metadata": map[string]string{},
		"card": map[string]any{"brand": m.brand, "last4": m.last4, "exp_month": 12, "exp_year": year, "country": "US",
			"fingerprint": "standin" + m.last4},
	}
}

func (s *Server) listMethods(f form, r *http.Request) any {
	c := s.customer(r.PathValue("id"))
	if c == nil {
		return missing(404, "customer")
	}
	return list(f, r.URL.Path, newest(c.methods, func(*method) bool { return true }),
		func(m *method) map[string]any { return m.show(c) })
}

func (s *Server) readMethod(_ form, r *http.Request) any {
	c := s.customer(r.PathValue("id"))
	if c == nil {
		return missing(404, "customer")
	}
	m := c.method(r.PathValue("method"))
	if m == nil {
		return missing(404, "payment_method")
	}
	return m.show(c)
}

func (s *Server) detach(_ form, r *http.Request) any {
	id := r.PathValue("id")
	for _, c := range s.customers {
		m := c.method(id)
		if m == nil {
			continue
		}
		c.methods = slices.DeleteFunc(c.methods, func(m *method) bool { return m.id == id })
		if c.def == id {
			c.def = ""
		}
		return m.show(nil)
	}
	if s.methods[id] != nil {
		return invalid("payment_method") // it belongs to no customer
	}
	return missing(404, "payment_method")
}

func clientSecret(id string) string { return id + "_secret_standin" }

func (i *setupIntent) show() map[string]any {
	return map[string]any{
		"id": i.id, "object": "setup_intent", "client_secret": clientSecret(i.id), "customer": i.customer,
		"status": i.status, "usage": i.usage,
		"metadata": i.metadata, "created": i.created.Unix(), "livemode": false,
	}
}

func (s *Server) createSetupIntent(f form, _ *http.Request) any {
	c := s.customer(f.Get("customer"))
	if c == nil {
		return missing(400, "customer")
	}
	return s.setUp(c, f.Get("usage"), f.under("metadata")).show()
}

func (s *Server) setUp(c *customer, usage string, metadata map[string]string) *setupIntent {
	i := &setupIntent{id: s.id("seti"), customer: c.id, usage: usage, status: "requires_payment_method",
		metadata: metadata, created: s.now()}
	s.setups[i.id] = i
	return i
}

func (s *Server) listSetupIntents(f form, r *http.Request) any {
	all := slices.SortedFunc(maps.Values(s.setups), func(a, b *setupIntent) int { return cmp.Compare(a.id, b.id) })
	return list(f, r.URL.Path, newest(all, func(i *setupIntent) bool { return i.customer == f.Get("customer") }),
		(*setupIntent).show)
}

func (s *Server) cancelSetupIntent(_ form, r *http.Request) any {
	i := s.setups[r.PathValue("id")]
	switch {
	case i == nil:
		return missing(404, "intent")
	case i.status == "succeeded" || i.status == "canceled":
		return refusal{400, "invalid_request_error", "setup_intent_unexpected_state", "", ""}
	}
	i.status = "canceled"
	return i.show()
}

func (i *paymentIntent) show() map[string]any {
	out := map[string]any{
		"id": i.id, "object": "payment_intent", "client_secret": clientSecret(i.id), "customer": i.customer,
		"status": i.status, "amount": i.amount, "currency": "usd",
		"created": i.created.Unix(), "livemode": false, "last_payment_error": nil,
	}
	if i.decline != "" {
		out["last_payment_error"] = map[string]any{"type": "card_error", "code": "card_declined",
			"decline_code": i.decline}
	}
	return out
}

func (s *Server) readPaymentIntent(_ form, r *http.Request) any {
	i := s.payments[r.PathValue("id")]
	if i == nil {
		return missing(404, "intent")
	}
	return i.show()
}

// AddCard adds a test card to a customer, as a payer's browser does with Stripe's form, and returns the payment method.
// The last four digits determine its behaviour (https://docs.stripe.com/testing): 0341 can be added but not charged,
// 3155 requires authentication of its first payment, and any other works.
func (s *Server) AddCard(customer, last4 string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attach(s.customer(customer), last4)
}

func (s *Server) attach(c *customer, last4 string) string {
	m := &method{id: s.id("pm"), brand: "visa", last4: last4, created: s.now()}
	if last4 == "4444" {
		m.brand = "mastercard"
	}
	c.methods = append(c.methods, m)
	s.methods[m.id] = m
	return m.id
}

// Confirm adds a test card with a setup intent, as a payer's browser does, and reports whether the card was accepted.
func (s *Server) Confirm(secret, last4 string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.setups {
		if clientSecret(i.id) != secret || i.status != "requires_payment_method" {
			continue
		}
		s.attach(s.customer(i.customer), last4)
		i.status = "succeeded"
		return true
	}
	return false
}

// Authenticate completes, as the payer, the bank's authentication for a client secret.
func (s *Server) Authenticate(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.payments {
		if clientSecret(i.id) == secret && i.status == "requires_action" {
			i.status = "succeeded"
			i.settled()
		}
	}
}

// Customers returns the number of customers that were ever created.
func (s *Server) Customers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.customers)
}

// Expire makes a card expired.
func (s *Server) Expire(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods[method].expired = true
}
