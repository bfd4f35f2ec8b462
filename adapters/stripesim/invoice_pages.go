package stripesim

import (
	"github.com/atrium-hq/atrium/domain/payment"
)

// invoicePage is what a finalized invoice's page displays (https://docs.stripe.com/invoicing/hosted-invoice-page).
// Stripe's links expire 30 days after the invoice is due, and are valid again when the invoice is read: these last.
func (s *account) invoicePage(id string) (*payment.SandboxPage, error) {
	i := s.invoice(id)
	if i == nil || i.Status == "draft" {
		return nil, payment.ErrPageNotFound
	}
	out := &payment.Invoice{
		ID: payment.InvoiceID(i.ID), Number: i.Number, Status: payment.InvoiceStatus(i.Status), Currency: i.Currency,
		Tax: i.Tax, Total: i.Total, AmountDue: i.Due, DueAt: i.DueAt, PaidAt: i.PaidAt, CreatedAt: i.Created,
	}
	name, _ := i.BilledTo["customer_name"].(string)
	out.BilledTo = &payment.Details{Name: name}
	for _, l := range i.Lines {
		out.Lines = append(out.Lines, payment.InvoiceLine{Description: l.Description, Quantity: l.Quantity,
			Amount: l.Amount, Start: l.Start, End: l.End})
	}
	return &payment.SandboxPage{Done: i.Status == "paid", Invoice: out}, nil
}

// payOnPage charges a card for an invoice. The payer is present and authenticates on the page. The card is not kept, so
// a renewal is charged to the default as before. Bank accounts are not accepted on the page.
func (s *account) payOnPage(id string, card payment.Card) error {
	i := s.invoice(id)
	switch {
	case i == nil || i.Status == "draft":
		return payment.ErrPageNotFound
	case i.Status == "paid", i.onTheWay():
		return nil
	case i.Status != "open":
		return payment.ErrInvoiceNotPayable
	}
	m, err := s.newMethod(card)
	switch {
	case err != nil:
		return err
	case m.isDebit():
		return payment.ErrTestCardsOnly
	}
	decline := m.refusal()
	if decline == "" {
		decline, _ = m.answer(s.now(), attempt{present: true, authenticated: true})
	}
	i.Attempts = max(i.Attempts, 1)
	if decline != "" {
		i.intent.fail(decline)
		return &payment.DeclinedError{DeclineCode: decline}
	}
	s.payBy(i, m)
	s.activate(i)
	return nil
}
