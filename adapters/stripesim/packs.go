package stripesim

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/atrium-hq/atrium/domain/payment"
)

// isOnce reports whether a price is charged once: its type is one_time
// (https://docs.stripe.com/api/prices/object#price_object-type).
func isOnce(p *payment.Plan) bool { return p != nil && p.IsPack() }

// createInvoice is POST /v1/invoices, for a draft that only calls advance
// (https://docs.stripe.com/api/invoices/create).
func (s *account) createInvoice(f form, _ *http.Request) any {
	c, method := s.customer(f.Get("customer")), f.Get("default_payment_method")
	isTaxed := f.Get("automatic_tax[enabled]") == "true"
	switch {
	case c == nil:
		return missing(400, "customer")
	case f.Get("auto_advance") != "false":
		return invalid("auto_advance")
	case f.Get("pending_invoice_items_behavior") != "exclude":
		return invalid("pending_invoice_items_behavior")
	case f.Get("currency") == "":
		return invalid("currency")
	case s.conflicts(f.Get("currency")):
		return otherCurrency
	case method != "" && c.method(method) == nil:
		return missing(400, "default_payment_method")
	case isTaxed && !taxable(c.Address):
		return locationInvalid
	}
	i := s.newDraft(c, f.Get("currency"))
	i.Method, i.IsTaxed, i.Metadata = method, isTaxed, f.members("metadata")
	return s.showInvoice(i, f.expanded())
}

// newDraft adds an invoice of its own, without lines.
func (s *account) newDraft(c *customer, currency string) *invoice {
	i := &invoice{
		ID: s.id("in"), Customer: c.ID, Status: "draft", Currency: currency, BilledTo: c.billedTo(), Reason: "manual",
		Start: s.now(), End: s.now(), Created: s.now(),
	}
	s.invoices = append(s.invoices, i)
	return i
}

// createInvoiceItem is POST /v1/invoiceitems, for a draft's line
// (https://docs.stripe.com/api/invoiceitems/create).
func (s *account) createInvoiceItem(f form, _ *http.Request) any {
	i, p := s.invoice(f.Get("invoice")), s.price(f.Get("pricing[price]"))
	switch {
	case i == nil || i.Customer != f.Get("customer"):
		return missing(400, "invoice")
	case i.Status != "draft":
		return invalid("invoice")
	case p == nil:
		return missing(400, "pricing[price]")
	case !isOnce(p): // "recurring" prices are for subscriptions
		return invalid("pricing[price]")
	case p.Price.Currency != i.Currency:
		return invalid("currency")
	case f.number("quantity") < 1:
		return invalid("quantity")
	case p.Price.Amount*f.number("quantity") > maxAmount:
		return tooLarge
	}
	s.sellOnce(i, p, f.number("quantity"))
	return map[string]any{
		"id": s.id("ii"), "object": "invoiceitem", "customer": i.Customer, "invoice": i.ID, "currency": i.Currency,
		"amount": p.Price.Amount * f.number("quantity"), "quantity": f.number("quantity"), "livemode": false,
		"date": s.now().Unix(), "period": map[string]any{"start": s.now().Unix(), "end": s.now().Unix()},
		"metadata": map[string]string{}, "proration": false, "discountable": true,
	}
}

// soldOnce reads what a page in the mode payment sells.
func (s *account) soldOnce(f form, prefix string, _ *terms) (t terms, refused error) {
	items, refused := f.items(prefix)
	if refused == nil && (len(items) != 1 || !isOnce(s.price(items[0].price)) || items[0].quantity == nil) {
		refused = invalid(prefix)
	}
	if refused != nil {
		return t, refused
	}
	return terms{Plan: *s.price(items[0].price), Quantity: *items[0].quantity}, nil
}

// sellOnce adds a line to a draft.
func (s *account) sellOnce(i *invoice, p *payment.Plan, quantity int64) {
	amount := p.Price.Amount * quantity
	i.Lines = append(i.Lines, line{fmt.Sprintf("%d × %s", quantity, p.ID), quantity, amount, s.now(), s.now(),
		p.PriceRef})
	u := &subscription{Customer: i.Customer, AutomaticTax: i.IsTaxed}
	u.Plan.Price.Currency = i.Currency
	i.Tax += s.tax(u, amount)
	i.Total += amount + s.tax(u, amount)
	i.Due = i.Total
}

// buyOnPage charges a card for what a page in the mode payment sells, and makes the paid invoice
// (https://docs.stripe.com/payments/checkout/receipts#paid-invoices). The card is not kept: the page has no
// setup_future_usage.
func (s *account) buyOnPage(c *checkout, card payment.Card) error {
	customer := s.customer(c.Customer)
	if c.AutomaticTax && !taxable(customer.Address) {
		return payment.ErrAddressInvalid
	}
	m, err := s.methodOnPage(c, card, attempt{present: true, authenticated: true})
	if err != nil {
		return err
	}
	i := s.newDraft(customer, c.Plan.Price.Currency)
	i.IsTaxed, i.Metadata, i.Attempts, c.Status = c.AutomaticTax, c.Metadata, 1, "complete"
	s.sellOnce(i, &c.Plan, c.Quantity)
	s.finalize(i)
	m.ID = s.id("pm")
	s.methods, i.Method = append(s.methods, m), m.ID
	s.chargeInvoice(i)
	return nil
}

// otherCurrency refuses another currency than the customer's (https://docs.stripe.com/billing/customer#currency).
var otherCurrency = said{invalid("currency"),
	"You cannot combine currencies on a single customer. This customer has a subscription in another currency."}

// conflicts reports whether the customer has a subscription, or a draft with invoice items, in another currency.
func (s *account) conflicts(currency string) bool {
	u := s.running()
	return (u != nil && u.Plan.Price.Currency != currency) || slices.ContainsFunc(s.invoices,
		func(i *invoice) bool { return i.Status == "draft" && i.Total > 0 && i.Currency != currency })
}

// onceIn reports whether one of the prices of items is charged once: subscriptions take recurring ones only.
func (s *account) onceIn(items []itemForm) bool {
	return slices.ContainsFunc(items, func(i itemForm) bool { return isOnce(s.price(i.price)) })
}
