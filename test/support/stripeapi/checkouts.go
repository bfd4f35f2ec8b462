package stripeapi

import (
	"net/http"
	"slices"
	"time"
)

// checkout is a page where a payer starts a subscription (https://docs.stripe.com/api/checkout/sessions).
type checkout struct {
	terms
	id, customer, status string
	trialDays            int
	metadata             map[string]string
	automaticTax         bool
	created              time.Time
}

const checkoutLasts = 24 * time.Hour

func (c *checkout) url() string { return "https://checkout.example.com/" + c.id }

func (c *checkout) show() map[string]any {
	out := map[string]any{
		"id": c.id, "object": "checkout.session", "mode": "subscription", "status": c.status, "customer": c.customer,
		"created": c.created.Unix(), "expires_at": c.created.Add(checkoutLasts).Unix(), "livemode": false, "url": nil,
	}
	if c.status == "open" {
		out["url"] = c.url()
	}
	return out
}

func (s *Server) createPortal(f form, _ *http.Request) any {
	if s.customer(f.Get("customer")) == nil {
		return missing(400, "customer")
	}
	id := s.id("bps")
	return map[string]any{
		"id": id, "object": "billing_portal.session", "customer": f.Get("customer"), "created": s.now().Unix(),
		"return_url": f.Get("return_url"), "url": "https://portal.example.com/" + id, "livemode": false,
	}
}

func (s *Server) createCheckout(f form, _ *http.Request) any {
	sold, refused := s.sold(f, "line_items", new(terms))
	switch {
	case s.customer(f.Get("customer")) == nil:
		return missing(400, "customer")
	case refused != nil:
		return *refused
	case f.Get("mode") != "subscription" || f.Get("success_url") == "":
		return invalid("mode")
	}
	c := &checkout{
		id: s.id("cs"), customer: f.Get("customer"), status: "open", terms: sold,
		trialDays: int(f.number("subscription_data[trial_period_days]")),
		metadata:  f.under("subscription_data[metadata]"), created: s.now(),
	}
	c.automaticTax = f.Get("automatic_tax[enabled]") == "true"
	s.checkouts = append(s.checkouts, c)
	return c.show()
}

func (s *Server) listCheckouts(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(s.checkouts, func(c *checkout) bool {
		s.lapse(c)
		return c.customer == f.Get("customer") && (f.Get("status") == "" || c.status == f.Get("status"))
	}), (*checkout).show)
}

func (s *Server) lapse(c *checkout) {
	if c.status == "open" && !s.now().Before(c.created.Add(checkoutLasts)) {
		c.status = "expired"
	}
}

func (s *Server) checkout(id string) *checkout {
	i := slices.IndexFunc(s.checkouts, func(c *checkout) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	s.lapse(s.checkouts[i])
	return s.checkouts[i]
}

func (s *Server) readCheckout(_ form, r *http.Request) any {
	if c := s.checkout(r.PathValue("id")); c != nil {
		return c.show()
	}
	return missing(404, "session")
}

// expireCheckout refuses to expire a page that is not open (https://docs.stripe.com/api/checkout/sessions/expire).
func (s *Server) expireCheckout(_ form, r *http.Request) any {
	c := s.checkout(r.PathValue("id"))
	switch {
	case c == nil:
		return missing(404, "session")
	case c.status != "open":
		return invalid("session")
	}
	c.status = "expired"
	return c.show()
}

// CheckOut completes a checkout page, as the payer, with a test card that works, and reports whether it was open. The
// card is charged for the subscription, and does not become the customer's default.
func (s *Server) CheckOut(url, last4 string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.checkouts, func(c *checkout) bool { return c.url() == url })
	if i < 0 {
		return false
	}
	n := s.checkouts[i]
	if s.lapse(n); n.status != "open" {
		return false
	}
	c, now := s.customer(n.customer), s.now()
	u := s.order(c, n.terms, n.metadata, now)
	u.automaticTax = n.automaticTax
	s.subscriptions = append(s.subscriptions, u)
	u.def = s.attach(c, last4)
	n.status = "complete"
	if n.trialDays > 0 {
		u.status, u.trialEnd = "trialing", now.AddDate(0, 0, n.trialDays)
		u.end = u.trialEnd
		s.bill(u, 0, true)
		return true
	}
	s.billPeriod(u, true, now)
	return true
}

// OpenCheckouts returns the addresses of a customer's checkout pages on which a payer can start a subscription.
func (s *Server) OpenCheckouts(customer string) (urls []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.checkouts {
		if s.lapse(c); c.customer == customer && c.status == "open" {
			urls = append(urls, c.url())
		}
	}
	return urls
}
