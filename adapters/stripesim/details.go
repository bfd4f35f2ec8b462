package stripesim

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// taxID is a customer's tax id (https://docs.stripe.com/api/customer_tax_ids).
type taxID struct {
	ID, Kind, Value string
	Created         time.Time
}

func (i *taxID) show(c *customer) map[string]any {
	return map[string]any{
		"id": i.ID, "object": "tax_id", "customer": c.ID, "country": strings.ToUpper(i.Kind[:2]), "type": i.Kind,
		"value": i.Value, "created": i.Created.Unix(), "livemode": false,
		"verification": map[string]any{"status": "pending", "verified_address": nil, "verified_name": nil},
	}
}

func (c *customer) showAddress() any {
	if len(c.Address) == 0 {
		return nil
	}
	out := map[string]any{}
	for _, name := range []string{"line1", "line2", "city", "postal_code", "state", "country"} {
		out[name] = orNull(c.Address[name])
	}
	return out
}

// billedTo returns what an invoice shows of its customer.
func (c *customer) billedTo() map[string]any {
	taxIDs := []any{}
	for _, i := range c.taxIDs {
		taxIDs = append(taxIDs, map[string]any{"type": i.Kind, "value": i.Value})
	}
	return map[string]any{
		"customer_name": orNull(c.Name), "customer_email": orNull(c.Email), "customer_address": c.showAddress(),
		"customer_tax_ids": taxIDs,
	}
}

// showTaxes shows an invoice's taxes.
func (i *invoice) showTaxes() []any {
	if i.Tax == 0 {
		return []any{}
	}
	return []any{map[string]any{"amount": i.Tax, "tax_behavior": "exclusive", "type": "tax_rate_details"}}
}

// describe stores what is shown of a customer. An empty value unsets it.
func (s *account) describe(c *customer, f form) any {
	address := c.Address
	if choice := f.members("address"); len(choice) > 0 {
		address = map[string]string{}
		for name, value := range choice {
			if value != "" {
				address[name] = value
			}
		}
	}
	if f.Get("tax[validate_location]") == "immediately" && !taxable(address) {
		return locationInvalid
	}
	c.Address = address
	for name, field := range map[string]*string{"name": &c.Name, "email": &c.Email} {
		if f.Has(name) {
			*field = f.Get(name)
		}
	}
	for name, value := range f.members("metadata") {
		if c.Metadata == nil {
			c.Metadata = map[string]string{}
		}
		c.Metadata[name] = value
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
	case "CA":
		return address["postal_code"] != "" || address["state"] != ""
	}
	return true
}

// tax returns the tax on an amount: the simulator takes 20 % where tax is automatic, and none of companies.
func (s *account) tax(u *subscription, amount int64) int64 {
	if !u.AutomaticTax || len(s.customer(u.Customer).taxIDs) > 0 {
		return 0
	}
	return u.prorate(amount, 20, 100)
}

// taxIDForms are the forms of some tax ids (https://docs.stripe.com/billing/customer/tax-ids). Stripe refuses the
// types that it can check by their form with tax_id_invalid.
var taxIDForms = map[string]*regexp.Regexp{
	"eu_vat": regexp.MustCompile(`^(AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI` +
		`|SK|XI)[0-9A-Z]{8,12}$`),
	"gb_vat": regexp.MustCompile(`^GB([0-9]{9}|[0-9]{12})$`),
	"us_ein": regexp.MustCompile(`^[0-9]{2}-?[0-9]{7}$`),
	"ch_vat": regexp.MustCompile(`^CHE-?[0-9]{3}\.?[0-9]{3}\.?[0-9]{3} ?(MWST|TVA|IVA)$`),
	"au_abn": regexp.MustCompile(`^[0-9]{11}$`),
}

// plausible reports whether a tax id has the form of its type. One of a type whose form the simulator does not know
// must contain a digit.
func plausible(kind, value string) bool {
	if form := taxIDForms[kind]; form != nil {
		return form.MatchString(value)
	}
	return strings.ContainsAny(value, "0123456789")
}

func (s *account) createTaxID(f form, r *http.Request) any {
	c, value := s.customer(r.PathValue("id")), f.Get("value")
	switch {
	case c == nil:
		return missing(404, "customer")
	case !plausible(f.Get("type"), value):
		return refusal{400, "invalid_request_error", "tax_id_invalid", "", "value"}
	}
	i := &taxID{ID: s.id("txi"), Kind: f.Get("type"), Value: value, Created: s.now()}
	c.taxIDs = append(c.taxIDs, i)
	return i.show(c)
}

func (s *account) listTaxIDs(f form, r *http.Request) any {
	c := s.customer(r.PathValue("id"))
	if c == nil {
		return missing(404, "customer")
	}
	return list(f, r.URL.Path, newest(c.taxIDs, func(*taxID) bool { return true }),
		func(i *taxID) map[string]any { return i.show(c) })
}

func (s *account) deleteTaxID(_ form, r *http.Request) any {
	c, id := s.customer(r.PathValue("id")), r.PathValue("tax")
	if c == nil {
		return missing(404, "customer")
	}
	n := slices.IndexFunc(c.taxIDs, func(i *taxID) bool { return i.ID == id })
	if n < 0 {
		return missing(404, "id")
	}
	c.taxIDs = slices.Delete(c.taxIDs, n, n+1)
	return map[string]any{"id": id, "object": "tax_id", "deleted": true}
}
