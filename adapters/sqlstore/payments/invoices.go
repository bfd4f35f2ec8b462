package payments

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

const invoiceColumns = `id, number, status, currency, subtotal, tax, total, amount_due, amount_paid,
	period_start, period_end, due_at, paid_at, hosted_url, pdf_url, created_at, discount, discounts, billed_to, lines,
	subscription_id, attempts, next_attempt_at, amount_remaining, amount_refunded, disputes, reason,
	has_more_lines, pack`

type invoiceRow struct {
	ID          payment.InvoiceID     `db:"id"`
	Number      string                `db:"number"`
	Status      payment.InvoiceStatus `db:"status"`
	Currency    string                `db:"currency"`
	Subtotal    int64                 `db:"subtotal"`
	Tax         int64                 `db:"tax"`
	Total       int64                 `db:"total"`
	AmountDue   int64                 `db:"amount_due"`
	AmountPaid  int64                 `db:"amount_paid"`
	PeriodStart int64                 `db:"period_start"`
	PeriodEnd   int64                 `db:"period_end"`
	DueAt       int64                 `db:"due_at"`
	PaidAt      int64                 `db:"paid_at"`
	HostedURL   string                `db:"hosted_url"`
	PDFURL      string                `db:"pdf_url"`
	CreatedAt   int64                 `db:"created_at"`
	BilledTo    string                `db:"billed_to"`
	Discount    int64                 `db:"discount"`
	Discounts   string                `db:"discounts"`
	Lines       string                `db:"lines"`

	Subscription  payment.SubscriptionID `db:"subscription_id"`
	Attempts      int                    `db:"attempts"`
	NextAttemptAt int64                  `db:"next_attempt_at"`

	AmountRemaining int64                 `db:"amount_remaining"`
	AmountRefunded  int64                 `db:"amount_refunded"`
	Disputes        string                `db:"disputes"`
	Reason          payment.InvoiceReason `db:"reason"`
	HasMoreLines    bool                  `db:"has_more_lines"`
	Pack            string                `db:"pack"`
}

func (r *invoiceRow) invoice() (payment.Invoice, error) {
	i := payment.Invoice{
		ID: r.ID, Number: r.Number, Status: r.Status, Currency: r.Currency,
		Subtotal: r.Subtotal, Tax: r.Tax, Total: r.Total, AmountDue: r.AmountDue, AmountPaid: r.AmountPaid,
		PeriodStart: db.FromMicros(r.PeriodStart), PeriodEnd: db.FromMicros(r.PeriodEnd), DueAt: db.FromMicros(r.DueAt),
		PaidAt:    db.FromMicros(r.PaidAt),
		HostedURL: r.HostedURL, PDFURL: r.PDFURL, CreatedAt: db.FromMicros(r.CreatedAt), Discount: r.Discount,
		Subscription: r.Subscription, Attempts: r.Attempts, NextAttemptAt: db.FromMicros(r.NextAttemptAt),
		AmountRemaining: r.AmountRemaining, AmountRefunded: r.AmountRefunded, Reason: r.Reason,
		HasMoreLines: r.HasMoreLines,
	}
	return i, errors.Join(db.FromJSON(r.BilledTo, &i.BilledTo), db.FromJSON(r.Discounts, &i.Discounts),
		db.FromJSON(r.Lines, &i.Lines), db.FromJSON(r.Disputes, &i.Disputes), db.FromJSON(r.Pack, &i.Pack))
}

func invoiceRowOf(i *payment.Invoice) (invoiceRow, error) {
	var columns db.JSONColumns
	row := invoiceRow{
		ID: i.ID, Number: i.Number, Status: i.Status, Currency: i.Currency, Subtotal: i.Subtotal, Tax: i.Tax,
		Total: i.Total, AmountDue: i.AmountDue, AmountPaid: i.AmountPaid, PeriodStart: db.Micros(i.PeriodStart),
		PeriodEnd: db.Micros(i.PeriodEnd), DueAt: db.Micros(i.DueAt), PaidAt: db.Micros(i.PaidAt),
		HostedURL: i.HostedURL,
		PDFURL:    i.PDFURL, CreatedAt: db.Micros(i.CreatedAt), BilledTo: columns.Text(i.BilledTo, i.BilledTo == nil),
		Discount: i.Discount, Discounts: columns.Text(i.Discounts, len(i.Discounts) == 0),
		Lines: columns.Text(i.Lines, len(i.Lines) == 0), Subscription: i.Subscription, Attempts: i.Attempts,
		NextAttemptAt: db.Micros(i.NextAttemptAt), AmountRemaining: i.AmountRemaining,
		AmountRefunded: i.AmountRefunded, Disputes: columns.Text(i.Disputes, len(i.Disputes) == 0),
		Reason: i.Reason, HasMoreLines: i.HasMoreLines, Pack: columns.Text(i.Pack, i.Pack == nil),
	}
	return row, columns.Err
}

// Invoice implements ports.Payments.
func (s *Payments) Invoice(ctx context.Context, ws identity.WorkspaceID, account string,
	id payment.InvoiceID) (*payment.Invoice, error) {
	if strings.ContainsRune(string(id), 0) || !utf8.ValidString(string(id)) { // PostgreSQL refuses such a parameter
		return nil, payment.ErrInvoiceNotFound
	}
	var row invoiceRow
	found, err := s.db.Get(ctx, &row, `SELECT `+invoiceColumns+` FROM payment_invoices WHERE workspace_id = ?
		AND account = ? AND id = ?`, ws, account, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, payment.ErrInvoiceNotFound
	}
	i, err := row.invoice()
	return &i, err
}

// Invoices implements ports.Payments. A position is a time and an identifier.
func (s *Payments) Invoices(ctx context.Context, ws identity.WorkspaceID, account string, status payment.InvoiceStatus,
	q page.Query) (payment.InvoicePage, error) {
	conditions := db.NewConditions(`workspace_id = ? AND account = ?`, ws, account)
	conditions.When(status != "", `status = ?`, status)
	if micros, id, ok := cutPosition(q.After); ok {
		conditions.When(true, `created_at <= ?`, micros) // which an index serves, unlike what follows
		conditions.When(true, `(created_at < ? OR created_at = ? AND id < ?)`, micros, micros, id)
	}
	var rows []invoiceRow
	if err := s.db.List(ctx, &rows, `SELECT `+invoiceColumns+` FROM payment_invoices WHERE `+conditions.SQL()+
		` ORDER BY created_at DESC, id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return payment.InvoicePage{}, err
	}
	invoices, err := db.TryConvert(rows, (*invoiceRow).invoice)
	return page.Cut(invoices, q.Limit,
		func(i payment.Invoice) string { return position(db.Micros(i.CreatedAt), string(i.ID)) }), err
}

// saveInvoices writes the invoices of c that changed, and deletes drafts if c has all of them.
func (store *Store) saveInvoices(ctx context.Context, by identity.Actor, c *payment.Customer) error {
	if c.AllDrafts {
		if err := store.deleteDrafts(ctx, c); err != nil {
			return err
		}
	}
	invoices, err := store.storedInvoices(ctx, c)
	if err != nil {
		return err
	}
	if err := recordInvoices(by, c, invoices); err != nil {
		return err
	}
	for _, i := range c.Invoices {
		r, err := invoiceRowOf(&i)
		if err != nil {
			return err
		}
		if r == invoices[i.ID] { // most were read before, and an event must not write a hundred rows
			continue
		}
		if _, err := store.Exec(ctx, `
			INSERT INTO payment_invoices (workspace_id, account, id, number, status, currency, subtotal, tax, total,
			amount_due, amount_paid,
				period_start, period_end, due_at, paid_at, hosted_url, pdf_url, created_at, discount, discounts,
				billed_to, lines, subscription_id, attempts, next_attempt_at, amount_remaining, amount_refunded,
				disputes, reason, has_more_lines, pack)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, account, id) DO UPDATE SET number = excluded.number, status = excluded.status,
			subtotal = excluded.subtotal, tax = excluded.tax,
				total = excluded.total, amount_due = excluded.amount_due, amount_paid = excluded.amount_paid,
				period_start = excluded.period_start, period_end = excluded.period_end,
				due_at = excluded.due_at, paid_at = excluded.paid_at, hosted_url = excluded.hosted_url,
				pdf_url = excluded.pdf_url, discount = excluded.discount, discounts = excluded.discounts,
				billed_to = excluded.billed_to, lines = excluded.lines, subscription_id = excluded.subscription_id,
				attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at,
				amount_remaining = excluded.amount_remaining, amount_refunded = excluded.amount_refunded,
				disputes = excluded.disputes, reason = excluded.reason,
				has_more_lines = excluded.has_more_lines, pack = excluded.pack`,
			c.Workspace, c.Account, r.ID, r.Number, r.Status, r.Currency, r.Subtotal, r.Tax, r.Total, r.AmountDue,
			r.AmountPaid, r.PeriodStart, r.PeriodEnd, r.DueAt, r.PaidAt, r.HostedURL, r.PDFURL, r.CreatedAt, r.Discount,
			r.Discounts, r.BilledTo, r.Lines, r.Subscription, r.Attempts, r.NextAttemptAt, r.AmountRemaining,
			r.AmountRefunded, r.Disputes, r.Reason, r.HasMoreLines, r.Pack); err != nil {
			return err
		}
		if err := store.savePacks(ctx, c, &i); err != nil {
			return err
		}
	}
	return nil
}

// recordInvoices records how the invoices of c differ from the stored rows.
func recordInvoices(by identity.Actor, c *payment.Customer, rows map[payment.InvoiceID]invoiceRow) error {
	stored := make(map[payment.InvoiceID]payment.Invoice, len(rows))
	for id, r := range rows {
		i, err := r.invoice()
		if err != nil {
			return err
		}
		stored[id] = i
	}
	c.RecordInvoices(by, stored)
	return nil
}

// deleteDrafts deletes the drafts that c does not have. Only drafts can be deleted at a gateway.
func (store *Store) deleteDrafts(ctx context.Context, c *payment.Customer) error {
	var ids []payment.InvoiceID
	if err := store.List(ctx, &ids, `SELECT id FROM payment_invoices WHERE workspace_id = ? AND account = ?
		AND status = ?`,
		c.Workspace, c.Account, payment.Draft); err != nil {
		return err
	}
	for _, id := range ids {
		if slices.ContainsFunc(c.Invoices, func(i payment.Invoice) bool { return i.ID == id }) {
			continue
		}
		if _, err := store.Exec(ctx, `DELETE FROM payment_invoices WHERE workspace_id = ? AND account = ? AND id = ?`,
			c.Workspace, c.Account, id); err != nil {
			return err
		}
	}
	return nil
}

// storedInvoices returns the stored rows of c's invoices.
func (store *Store) storedInvoices(ctx context.Context, c *payment.Customer) (map[payment.InvoiceID]invoiceRow, error) {
	invoices := make(map[payment.InvoiceID]invoiceRow, len(c.Invoices))
	if len(c.Invoices) == 0 {
		return invoices, nil
	}
	ids := make([]payment.InvoiceID, len(c.Invoices))
	for n, i := range c.Invoices {
		ids[n] = i.ID
	}
	conditions := db.NewConditions(`workspace_id = ? AND account = ?`, c.Workspace, c.Account)
	db.OneOf(conditions, "id", ids)
	var rows []invoiceRow
	err := store.List(ctx, &rows, `SELECT `+invoiceColumns+` FROM payment_invoices WHERE `+conditions.SQL(),
		conditions.Args()...)
	for _, r := range rows {
		invoices[r.ID] = r
	}
	return invoices, err
}
