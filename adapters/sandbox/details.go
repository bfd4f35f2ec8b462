package sandbox

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// UpdateCustomer implements ports.GatewayDetails.
func (g *Gateway) UpdateCustomer(ctx context.Context, key string, c payment.CustomerID, d payment.Details) error {
	_, err := keyed(ctx, g, c, key, "update customer", func(b *account, now time.Time) (bool, error) {
		if d.Matches(b.details()) {
			return true, nil
		}
		for _, id := range d.TaxIDs {
			if !plausible(id) {
				return false, payment.ErrTaxIDInvalid
			}
		}
		if d.Taxed && !taxable(d.Address) {
			return false, payment.ErrAddressInvalid
		}
		b.Name, b.Email, b.Address, b.TaxIDs = d.Name, d.Email, d.Address, slices.Clone(d.TaxIDs)
		b.emit("customer.updated", "customer", string(b.ID), now)
		return true, nil
	})
	return err
}

func (b *account) details() *payment.Details {
	return &payment.Details{Name: b.Name, Email: b.Email, Address: b.Address, TaxIDs: slices.Clone(b.TaxIDs)}
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

// plausible reports whether a tax id has the form of its type. One whose form the sandbox does not know must contain a
// digit.
func plausible(id payment.TaxID) bool {
	if form := taxIDForms[id.Type]; form != nil {
		return form.MatchString(id.Value)
	}
	return strings.ContainsAny(id.Value, "0123456789")
}

// taxable reports whether an address is exact enough to determine the taxes there
// (https://docs.stripe.com/tax/customer-locations).
func taxable(a payment.Address) bool {
	switch a.Country {
	case "":
		return false
	case "US":
		return a.PostalCode != ""
	case "CA":
		return a.PostalCode != "" || a.State != ""
	}
	return true
}

// tax returns the tax on an amount in a subscription with automatic tax: 20 %, and none if the customer has a tax id,
// as for the reverse charge. An amount that is credited is negative, and so is its tax.
func (b *account) tax(s *subscription, amount int64) int64 {
	if !s.AutomaticTax || len(b.TaxIDs) > 0 {
		return 0
	}
	return payment.Prorate(amount, 20, 100)
}

// taxed returns an amount with its tax.
func (b *account) taxed(s *subscription, amount int64) int64 { return amount + b.tax(s, amount) }
