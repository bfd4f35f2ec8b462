package payments

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

type methodRow struct {
	ID        payment.MethodID `db:"id"`
	Type      string           `db:"type"`
	Brand     string           `db:"brand"`
	Last4     string           `db:"last4"`
	ExpMonth  int              `db:"exp_month"`
	ExpYear   int              `db:"exp_year"`
	Country   string           `db:"country"`
	Leaving   bool             `db:"leaving"`
	CreatedAt int64            `db:"created_at"`

	Fingerprint string `db:"fingerprint"`
}

func (r *methodRow) method() payment.Method {
	return payment.Method{
		ID: r.ID, Type: r.Type, Brand: r.Brand, Last4: r.Last4, ExpMonth: r.ExpMonth, ExpYear: r.ExpYear,
		Country: r.Country, Detaching: r.Leaving, CreatedAt: db.FromMicros(r.CreatedAt),
		Fingerprint: r.Fingerprint,
	}
}

// methods reads the methods of a customer.
func (store *Store) methods(ctx context.Context, ws identity.WorkspaceID, account string) ([]payment.Method, error) {
	var rows []methodRow
	if err := store.List(ctx, &rows, `
		SELECT id, type, brand, last4, exp_month, exp_year, country, leaving, created_at, fingerprint
		FROM payment_methods WHERE workspace_id = ? AND account = ?`, ws, account); err != nil {
		return nil, err
	}
	methods := make([]payment.Method, len(rows))
	for i := range rows {
		methods[i] = rows[i].method()
	}
	return methods, nil
}

// saveMethods replaces the stored methods by those of c. They are few, and rarely change.
func (store *Store) saveMethods(ctx context.Context, c *payment.Customer) error {
	methods, err := store.methods(ctx, c.Workspace, c.Account)
	if err != nil {
		return err
	}
	previous := map[payment.MethodID]payment.Method{}
	for _, m := range methods {
		previous[m.ID] = m
	}
	for _, m := range c.Methods {
		same := previous[m.ID] == m
		delete(previous, m.ID)
		if same {
			continue
		}
		if _, err := store.Exec(ctx, `
			INSERT INTO payment_methods (workspace_id, account, id, type, brand, last4, exp_month, exp_year, country,
			leaving, created_at, fingerprint) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, account, id) DO UPDATE SET type = excluded.type, brand = excluded.brand,
			last4 = excluded.last4,
				exp_month = excluded.exp_month, exp_year = excluded.exp_year, country = excluded.country,
				leaving = excluded.leaving, created_at = excluded.created_at, fingerprint = excluded.fingerprint`,
			c.Workspace, c.Account, m.ID, m.Type, m.Brand, m.Last4, m.ExpMonth, m.ExpYear, m.Country, m.Detaching,
			db.Micros(m.CreatedAt), m.Fingerprint); err != nil {
			return err
		}
	}
	for id := range previous {
		if _, err := store.Exec(ctx, `DELETE FROM payment_methods WHERE workspace_id = ? AND account = ? AND id = ?`,
			c.Workspace, c.Account, id); err != nil {
			return err
		}
	}
	return nil
}

type subscriptionRow struct {
	ID                payment.SubscriptionID `db:"id"`
	Plan              payment.PlanID         `db:"plan_id"`
	Quantity          int                    `db:"quantity"`
	Status            payment.Status         `db:"status"`
	Key               string                 `db:"call_key"`
	PeriodStart       int64                  `db:"period_start"`
	PeriodEnd         int64                  `db:"period_end"`
	TrialEnd          int64                  `db:"trial_end"`
	CancelAtPeriodEnd bool                   `db:"cancel_at_period_end"`
	PendingPlan       payment.PlanID         `db:"pending_plan_id"`
	PendingQuantity   int                    `db:"pending_quantity"`
	PendingAt         int64                  `db:"pending_at"`
	CreatedAt         int64                  `db:"created_at"`
	PastDueSince      int64                  `db:"past_due_since"`
	Confirming        bool                   `db:"confirming"`
	Discount          string                 `db:"discount"`
	Code              string                 `db:"promotion_code"`
	Paused            bool                   `db:"paused"`
	PaidUntil         int64                  `db:"paid_until"`
	Cancellation      string                 `db:"cancellation"`
	Item              string                 `db:"item"`
	EndsAt            int64                  `db:"ends_at"`
	PendingElsewhere  bool                   `db:"pending_elsewhere"`
}

// subscription returns nil for the row of a customer without a live subscription.
func (r *subscriptionRow) subscription() (*payment.Subscription, error) {
	if r.ID == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	s := &payment.Subscription{
		ID: r.ID, Plan: r.Plan, Quantity: r.Quantity, Status: r.Status, Key: r.Key,
		PeriodStart: db.FromMicros(r.PeriodStart), PeriodEnd: db.FromMicros(r.PeriodEnd),
		TrialEnd:          db.FromMicros(r.TrialEnd),
		CancelAtPeriodEnd: r.CancelAtPeriodEnd, CreatedAt: db.FromMicros(r.CreatedAt),
		PastDueSince: db.FromMicros(r.PastDueSince), Confirming: r.Confirming, Code: r.Code,
		Paused: r.Paused, PaidUntil: db.FromMicros(r.PaidUntil), EndsAt: db.FromMicros(r.EndsAt),
	}
	if r.PendingAt != 0 {
		s.Pending = &payment.PendingChange{
			Plan: r.PendingPlan, Quantity: r.PendingQuantity, At: db.FromMicros(r.PendingAt),
			Elsewhere: r.PendingElsewhere,
		}
	}
	return s, errors.Join(decodeColumn(r.Discount, &s.Discount), decodeColumn(r.Cancellation, &s.Cancellation),
		decodeColumn(r.Item, &s.Item))
}

// saveSubscriptions stores an ended subscription before the live one: an index allows only one live subscription.
func (store *Store) saveSubscriptions(ctx context.Context, c *payment.Customer) error {
	for _, s := range []*payment.Subscription{c.Ended, c.Subscription} {
		if s == nil {
			continue
		}
		var pending payment.PendingChange
		if s.Pending != nil {
			pending = *s.Pending
		}
		discount, err := encodeOptional(s.Discount)
		cancellation, worse := encodeUnlessZero(s.Cancellation)
		item, worst := encodeUnlessZero(s.Item)
		if err := errors.Join(err, worse, worst); err != nil {
			return err
		}
		if _, err := store.Exec(ctx, `
			INSERT INTO payment_subscriptions (workspace_id, account, id, plan_id, quantity, status, call_key,
			period_start, period_end, trial_end, cancel_at_period_end,
				pending_plan_id, pending_quantity, pending_at, created_at, ended_at, past_due_since, confirming,
				discount, promotion_code, paused, paid_until, cancellation, item, ends_at, pending_elsewhere)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, account, id) DO UPDATE
			SET plan_id = excluded.plan_id, quantity = excluded.quantity, status = excluded.status, call_key =
			excluded.call_key,
				period_start = excluded.period_start, period_end = excluded.period_end, trial_end = excluded.trial_end,
				cancel_at_period_end = excluded.cancel_at_period_end,
				pending_plan_id = excluded.pending_plan_id, pending_quantity = excluded.pending_quantity, pending_at =
				excluded.pending_at, ended_at = excluded.ended_at,
				past_due_since = excluded.past_due_since, confirming = excluded.confirming,
				discount = excluded.discount, promotion_code = excluded.promotion_code, paused = excluded.paused,
				paid_until = excluded.paid_until, cancellation = excluded.cancellation, item = excluded.item,
				ends_at = excluded.ends_at, pending_elsewhere = excluded.pending_elsewhere`,
			c.Workspace, c.Account, s.ID, s.Plan, s.Quantity, s.Status, s.Key, db.Micros(s.PeriodStart),
			db.Micros(s.PeriodEnd), db.Micros(s.TrialEnd), s.CancelAtPeriodEnd,
			pending.Plan, pending.Quantity, db.Micros(pending.At), db.Micros(s.CreatedAt), db.Micros(s.EndedAt),
			db.Micros(s.PastDueSince), s.Confirming, discount, s.Code, s.Paused, db.Micros(s.PaidUntil),
			cancellation, item, db.Micros(s.EndsAt), pending.Elsewhere); err != nil {
			return err
		}
	}
	return nil
}

// encodeUnlessZero returns a value as JSON; the zero value is an empty text.
func encodeUnlessZero[T comparable](v T) (string, error) {
	if v == *new(T) {
		return "", nil
	}
	return encodeOptional(&v)
}

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

func (store *Store) saveInvoices(ctx context.Context, c *payment.Customer) error {
	if c.AllDrafts {
		if err := store.deleteDrafts(ctx, c); err != nil {
			return err
		}
	}
	invoices, err := store.storedInvoices(ctx, c)
	if err != nil {
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
				billed_to, lines)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, account, id) DO UPDATE SET number = excluded.number, status = excluded.status,
			subtotal = excluded.subtotal, tax = excluded.tax,
				total = excluded.total, amount_due = excluded.amount_due, amount_paid = excluded.amount_paid,
				period_start = excluded.period_start, period_end = excluded.period_end,
				due_at = excluded.due_at, paid_at = excluded.paid_at, hosted_url = excluded.hosted_url,
				pdf_url = excluded.pdf_url, discount = excluded.discount, discounts = excluded.discounts,
				billed_to = excluded.billed_to, lines = excluded.lines`,
			c.Workspace, c.Account, r.ID, r.Number, r.Status, r.Currency, r.Subtotal, r.Tax, r.Total, r.AmountDue,
			r.AmountPaid, r.PeriodStart, r.PeriodEnd, r.DueAt, r.PaidAt, r.HostedURL, r.PDFURL, r.CreatedAt, r.Discount,
			r.Discounts, r.BilledTo, r.Lines); err != nil {
			return err
		}
	}
	return nil
}

// storedInvoices returns those of c's invoices that are stored, as they are.
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

func invoiceRowOf(i *payment.Invoice) (invoiceRow, error) {
	billedTo, err := encodeDetails(i.BilledTo)
	discounts, worse := encodeList(i.Discounts)
	lines, worst := encodeList(i.Lines)
	return invoiceRow{
		ID: i.ID, Number: i.Number, Status: i.Status, Currency: i.Currency, Subtotal: i.Subtotal, Tax: i.Tax,
		Total: i.Total, AmountDue: i.AmountDue, AmountPaid: i.AmountPaid, PeriodStart: db.Micros(i.PeriodStart),
		PeriodEnd: db.Micros(i.PeriodEnd), DueAt: db.Micros(i.DueAt), PaidAt: db.Micros(i.PaidAt),
		HostedURL: i.HostedURL,
		PDFURL:    i.PDFURL, CreatedAt: db.Micros(i.CreatedAt), BilledTo: billedTo, Discount: i.Discount,
		Discounts: discounts, Lines: lines,
	}, errors.Join(err, worse, worst)
}

const invoiceColumns = `id, number, status, currency, subtotal, tax, total, amount_due, amount_paid,
	period_start, period_end, due_at, paid_at, hosted_url, pdf_url, created_at, discount, discounts, billed_to, lines`

func (r *invoiceRow) invoice() (payment.Invoice, error) {
	i := payment.Invoice{
		ID: r.ID, Number: r.Number, Status: r.Status, Currency: r.Currency,
		Subtotal: r.Subtotal, Tax: r.Tax, Total: r.Total, AmountDue: r.AmountDue, AmountPaid: r.AmountPaid,
		PeriodStart: db.FromMicros(r.PeriodStart), PeriodEnd: db.FromMicros(r.PeriodEnd), DueAt: db.FromMicros(r.DueAt),
		PaidAt:    db.FromMicros(r.PaidAt),
		HostedURL: r.HostedURL, PDFURL: r.PDFURL, CreatedAt: db.FromMicros(r.CreatedAt), Discount: r.Discount,
	}
	return i, errors.Join(decodeColumn(r.BilledTo, &i.BilledTo), decodeColumn(r.Discounts, &i.Discounts),
		decodeColumn(r.Lines, &i.Lines))
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
	invoices := make([]payment.Invoice, len(rows))
	for i, r := range rows {
		var err error
		if invoices[i], err = r.invoice(); err != nil {
			return payment.InvoicePage{}, err
		}
	}
	return page.Cut(invoices, q.Limit,
		func(i payment.Invoice) string { return position(db.Micros(i.CreatedAt), string(i.ID)) }), nil
}

// position is the position of an item in a list that is ordered by time, then by identifier.
func position(micros int64, id string) string { return strconv.FormatInt(micros, 10) + " " + id }

func cutPosition(cursor string) (micros int64, id string, ok bool) {
	text, id, _ := strings.Cut(cursor, " ")
	micros, err := strconv.ParseInt(text, 10, 64)
	return micros, id, err == nil
}
