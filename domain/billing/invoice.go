package billing

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// InvoiceStatus says how an invoice stands.
type InvoiceStatus string

// The statuses.
const (
	Draft         InvoiceStatus = "draft"
	Open          InvoiceStatus = "open"
	Paid          InvoiceStatus = "paid"
	Void          InvoiceStatus = "void"
	Uncollectible InvoiceStatus = "uncollectible"
)

// Invoice is what a customer owes or has paid.
type Invoice struct {
	ID         InvoiceID
	Number     string // "" for a draft
	Status     InvoiceStatus
	Currency   string
	Subtotal   int64 // in the minor unit, as all that follow
	Tax        int64
	Total      int64
	AmountDue  int64
	AmountPaid int64

	PeriodStart, PeriodEnd time.Time
	DueAt, PaidAt          time.Time // zero for none
	HostedURL, PDFURL      string    // "" for none
	CreatedAt              time.Time
}

// Money is an amount of the invoice.
func (i *Invoice) Money(amount int64) Money { return Money{Amount: amount, Currency: i.Currency} }

// InvoicePage is one page of invoices.
type InvoicePage = page.Of[Invoice]

// MirroredInvoices is how many of the newest invoices are mirrored anew each time. What is older does not
// change any more, and stays as it was seen.
const MirroredInvoices = 100

// SeeInvoices takes over what the gateway has.
func (c *Customer) SeeInvoices(by identity.Actor, newest []Invoice) {
	c.Invoices = newest
	c.InvoicesAt = by.At
}
