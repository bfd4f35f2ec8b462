package payment

import (
	"time"

	"github.com/atrium-hq/atrium/domain/page"
)

// InvoiceStatus is an invoice's status.
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
	Subtotal   int64 // in the minor unit, as all amounts below
	Discount   int64 // deducted from Subtotal
	Tax        int64
	Total      int64
	AmountDue  int64
	AmountPaid int64

	PeriodStart, PeriodEnd time.Time
	DueAt, PaidAt          time.Time // zero if not due, or not paid
	HostedURL, PDFURL      string    // "" before the invoice is final
	BilledTo               *Details  // as the invoice shows them; nil if unknown
	CreatedAt              time.Time

	Discounts []Discount    // that reduce it
	Lines     []InvoiceLine // empty if they are not known
}

// Money returns an amount in the invoice's currency.
func (i *Invoice) Money(amount int64) Money { return Money{Amount: amount, Currency: i.Currency} }

// InvoicePage is one page of invoices.
type InvoicePage = page.Of[Invoice]

// MirroredInvoices is the number of the newest invoices that each read of the mirror updates. Older ones no
// longer change, and stay as stored.
const MirroredInvoices = 100
