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

	AmountRemaining int64 // to be paid: AmountDue without AmountPaid and what was credited
	AmountRefunded  int64 // of AmountPaid
	Disputes        []Dispute
	Reason          InvoiceReason // "" if unknown

	PeriodStart, PeriodEnd time.Time
	DueAt, PaidAt          time.Time // zero if not due, or not paid
	HostedURL, PDFURL      string    // "" before the invoice is final
	BilledTo               *Details  // as the invoice shows them; nil if unknown
	CreatedAt              time.Time

	Subscription  SubscriptionID // that it bills; "" if it bills something else
	Pack          *PackSale      // the credit packs that it bills; nil if it bills something else
	Attempts      int            // to charge it: the first one, and the gateway's own repetitions
	NextAttemptAt time.Time      // when the gateway charges it again by itself; zero if it does not

	Discounts []Discount    // that reduce it
	Lines     []InvoiceLine // the first ones; empty if they are not known

	HasMoreLines bool // which only the gateway has
}

// Money returns an amount in the invoice's currency.
func (i *Invoice) Money(amount int64) Money { return Money{Amount: amount, Currency: i.Currency} }

// isDebt reports whether i is owed for a subscription that has ended. now is the time at the gateway.
func (i *Invoice) isDebt(s *Subscription, now time.Time) bool {
	return i.Status == Open && i.AmountDue > 0 && i.Subscription != "" && (s == nil || s.ID != i.Subscription) &&
		(i.DueAt.IsZero() || !now.Before(i.DueAt))
}

// Debt returns the first of a customer's open invoices that must be paid before another subscription begins, or "".
// now is the time at the gateway.
func (c *Customer) Debt(open []Invoice, now time.Time) InvoiceID {
	for n := range open {
		if open[n].isDebt(c.Subscription, now) {
			return open[n].ID
		}
	}
	return ""
}

// InvoicePage is one page of invoices.
type InvoicePage = page.Of[Invoice]

// MirroredInvoices is the number of the newest invoices that each read of the mirror updates. Older ones no
// longer change, and stay as stored.
const MirroredInvoices = 100

// InvoicePDF follows an invoice page's address in the sandbox, for the invoice as a PDF.
const InvoicePDF = "/pdf"
