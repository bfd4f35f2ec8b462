package stripeapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// taxID is a tax id of a customer (https://docs.stripe.com/api/customer_tax_ids).
type taxID struct {
	id, kind, value string
	created         time.Time
}

func (i *taxID) show(c *customer) map[string]any {
	return map[string]any{
		"id": i.id, "object": "tax_id", "customer": c.id, "country": strings.ToUpper(i.kind[:2]), "type": i.kind,
		"value": i.value, "created": i.created.Unix(), "livemode": false,
		"verification": map[string]any{"status": "pending", "verified_address": nil, "verified_name": nil},
	}
}

func (c *customer) showAddress() any {
	if len(c.address) == 0 {
		return nil
	}
	out := map[string]any{}
	for _, name := range []string{"line1", "line2", "city", "postal_code", "state", "country"} {
		out[name] = orNull(c.address[name])
	}
	return out
}

// billedTo returns what an invoice shows of its customer.
func (c *customer) billedTo() map[string]any {
	taxIDs := []any{}
	for _, i := range c.taxIDs {
		taxIDs = append(taxIDs, map[string]any{"type": i.kind, "value": i.value})
	}
	return map[string]any{
		"customer_name": orNull(c.name), "customer_email": orNull(c.email), "customer_address": c.showAddress(),
		"customer_tax_ids": taxIDs,
	}
}

// showTaxes shows the taxes of an invoice.
func (i *invoice) showTaxes() []any {
	if i.tax == 0 {
		return []any{}
	}
	return []any{map[string]any{"amount": i.tax, "tax_behavior": "exclusive", "type": "tax_rate_details"}}
}

// describe stores what is shown of a customer. An empty value unsets it.
func (s *Server) describe(c *customer, f form) any {
	address := c.address
	if given := f.under("address"); len(given) > 0 {
		address = map[string]string{}
		for name, value := range given {
			if value != "" {
				address[name] = value
			}
		}
	}
	if f.Get("tax[validate_location]") == "immediately" && !taxable(address) {
		return locationInvalid
	}
	c.address = address
	for name, field := range map[string]*string{"name": &c.name, "email": &c.email} {
		if f.Has(name) {
			*field = f.Get(name)
		}
	}
	for name, value := range f.under("metadata") {
		if c.metadata == nil {
			c.metadata = map[string]string{}
		}
		c.metadata[name] = value
	}
	return c.show()
}

// locationInvalid is the refusal if taxes cannot be determined for a customer
// (https://docs.stripe.com/error-codes#customer-tax-location-invalid).
var locationInvalid = refusal{400, "invalid_request_error", "customer_tax_location_invalid", "", ""}

// taxable reports whether an address is exact enough for Stripe Tax (https://docs.stripe.com/tax/customer-locations).
func taxable(address map[string]string) bool {
	switch address["country"] {
	case "":
		return false
	case "US":
		return address["postal_code"] != ""
	}
	return true
}

// tax returns the tax on an amount: the stand-in takes 20 % where tax is automatic, and none of companies.
func (s *Server) tax(u *subscription, amount int64) int64 {
	if !u.automaticTax || len(s.customer(u.customer).taxIDs) > 0 {
		return 0
	}
	return payment.Prorate(amount, 20, 100)
}

func (s *Server) createTaxID(f form, r *http.Request) any {
	c, value := s.customer(r.PathValue("id")), f.Get("value")
	switch {
	case c == nil:
		return missing(404, "customer")
	case f.Get("type") == "eu_vat" && len(value) < 10, !strings.ContainsAny(value, "0123456789"):
		return refusal{400, "invalid_request_error", "tax_id_invalid", "", "value"}
	}
	i := &taxID{id: s.id("txi"), kind: f.Get("type"), value: value, created: s.now()}
	c.taxIDs = append(c.taxIDs, i)
	return i.show(c)
}

func (s *Server) listTaxIDs(f form, r *http.Request) any {
	c := s.customer(r.PathValue("id"))
	if c == nil {
		return missing(404, "customer")
	}
	return list(f, r.URL.Path, newest(c.taxIDs, func(*taxID) bool { return true }),
		func(i *taxID) map[string]any { return i.show(c) })
}

func (s *Server) deleteTaxID(_ form, r *http.Request) any {
	c, id := s.customer(r.PathValue("id")), r.PathValue("tax")
	if c == nil {
		return missing(404, "customer")
	}
	n := slices.IndexFunc(c.taxIDs, func(i *taxID) bool { return i.id == id })
	if n < 0 {
		return missing(404, "id")
	}
	c.taxIDs = slices.Delete(c.taxIDs, n, n+1)
	return map[string]any{"id": id, "object": "tax_id", "deleted": true}
}

// Described returns what is stored about a customer: its name, its e-mail address, its country and its tax ids.
func (s *Server) Described(customer string) (name, email, country string, taxIDs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.customer(customer)
	for _, i := range c.taxIDs {
		taxIDs = append(taxIDs, i.kind+" "+i.value)
	}
	slices.Sort(taxIDs)
	return c.name, c.email, c.address["country"], taxIDs
}
