package stripesim

import (
	"net/http"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// checkout is a page where a payer starts a subscription, or pays once (https://docs.stripe.com/api/checkout/sessions),
// or a customer portal (https://docs.stripe.com/api/customer_portal/sessions).
type checkout struct {
	terms
	ID, Customer, Status  string
	Portal                bool
	IsOnce                bool // its mode is payment
	TrialDays             int
	Metadata              map[string]string
	AutomaticTax          bool
	IsMethodOptional      bool   // payment_method_collection is if_required
	WithoutCard           string // as in a subscription
	SuccessURL, ReturnURL string
	Created               time.Time
}

func (s *account) showCheckout(c *checkout) map[string]any {
	mode := "subscription"
	if c.IsOnce {
		mode = "payment"
	}
	out := map[string]any{
		"id": c.ID, "object": "checkout.session", "mode": mode, "status": c.Status, "customer": c.Customer,
		"created": c.Created.Unix(), "expires_at": c.Created.Add(payment.CheckoutLasts).Unix(), "livemode": false,
		"url": nil,
	}
	if c.Status == "open" {
		out["url"] = s.pageURL(c.Customer, c.ID)
	}
	return out
}

func (s *account) createPortal(f form, _ *http.Request) any {
	if s.customer(f.Get("customer")) == nil {
		return missing(400, "customer")
	}
	c := &checkout{
		ID: s.id("bps"), Customer: f.Get("customer"), Portal: true, ReturnURL: f.Get("return_url"), Status: "open",
		Created: s.now(),
	}
	s.checkouts = append(s.checkouts, c)
	return map[string]any{
		"id": c.ID, "object": "billing_portal.session", "customer": c.Customer, "created": c.Created.Unix(),
		"return_url": c.ReturnURL, "url": s.pageURL(c.Customer, c.ID), "livemode": false,
	}
}

// createCheckout is POST /v1/checkout/sessions, for a subscription or for one product that is paid once. Each mode has
// parameters of its own (https://docs.stripe.com/api/checkout/sessions/create).
func (s *account) createCheckout(f form, _ *http.Request) any {
	isOnce := f.Get("mode") == "payment"
	sell := s.sold
	if isOnce {
		sell = s.soldOnce
	}
	sold, refused := sell(f, "line_items", new(terms))
	if refused == nil {
		refused = sold.setCurrency(f.Get("currency"))
	}
	switch {
	case s.customer(f.Get("customer")) == nil:
		return missing(400, "customer")
	case refused != nil:
		return refused
	case s.conflicts(sold.Plan.Price.Currency):
		return otherCurrency
	case (!isOnce && f.Get("mode") != "subscription") || f.Get("success_url") == "":
		return invalid("mode")
	case isOnce && (len(f.members("subscription_data")) > 0 || f.Get("payment_method_collection") != ""):
		return invalid("subscription_data")
	case isOnce != (f.Get("invoice_creation[enabled]") == "true"):
		return invalid("invoice_creation")
	case f.Get("tax_id_collection[enabled]") == "true" && f.Get("customer_update[name]") != "auto":
		// https://docs.stripe.com/tax/checkout/tax-ids#existing-customers
		return invalid("tax_id_collection")
	case !slices.Contains([]string{"", "auto", "required"}, f.Get("billing_address_collection")):
		return invalid("billing_address_collection")
	case !slices.Contains([]string{"", "always", "if_required"}, f.Get("payment_method_collection")):
		return invalid("payment_method_collection")
	}
	c := &checkout{
		ID: s.id("cs"), Customer: f.Get("customer"), Status: "open", terms: sold, IsOnce: isOnce,
		TrialDays: int(f.number("subscription_data[trial_period_days]")),
		Metadata:  f.members("subscription_data[metadata]"), Created: s.now(),
		SuccessURL: f.Get("success_url"), ReturnURL: f.Get("cancel_url"),
	}
	if isOnce {
		c.Metadata = f.members("invoice_creation[invoice_data][metadata]")
	}
	c.AutomaticTax = f.Get("automatic_tax[enabled]") == "true"
	c.IsMethodOptional = f.Get("payment_method_collection") == "if_required"
	c.WithoutCard = f.Get("subscription_data[trial_settings][end_behavior][missing_payment_method]")
	s.checkouts = append(s.checkouts, c)
	return s.showCheckout(c)
}

func (s *account) listCheckouts(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(s.checkouts, func(c *checkout) bool {
		s.lapse(c)
		return !c.Portal && c.Customer == f.Get("customer") && (f.Get("status") == "" || c.Status == f.Get("status"))
	}), s.showCheckout)
}

func (s *account) lapse(c *checkout) {
	if c.Status == "open" && !s.now().Before(c.Created.Add(c.lasts())) {
		c.Status = "expired"
	}
}

func (s *account) checkout(id string) *checkout {
	page := find(s.checkouts, func(c *checkout) bool { return c.ID == id })
	if page != nil {
		s.lapse(page)
	}
	return page
}

func (s *account) readCheckout(_ form, r *http.Request) any {
	return display(s.checkout(r.PathValue("id")), s.showCheckout)
}

// expireCheckout refuses to expire a page that is not open (https://docs.stripe.com/api/checkout/sessions/expire).
func (s *account) expireCheckout(_ form, r *http.Request) any {
	c := s.checkout(r.PathValue("id"))
	switch {
	case c == nil:
		return missing(404, "session")
	case c.Status != "open":
		return invalid("session")
	}
	c.Status = "expired"
	return s.showCheckout(c)
}
