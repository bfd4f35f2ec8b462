package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

const customerColumns = `t.workspace_id, t.account, t.org_id, t.gateway, t.external_id, t.call_key, t.name, t.email,
	t.default_method, t.had_trial, t.pending,
	t.wallet_at, t.subscription_at, t.invoices_at, t.revision, t.created_at, t.updated_at, t.card_attempts, t.paused_at,
	t.surplus,
	t.credit, t.credit_currency, t.notices, t.details_entered, t.details_given, t.details_key, t.checkout_until,
	t.checking_out, t.checkout_trial, t.done, t.usage_since`

type customerRow struct {
	Workspace      identity.WorkspaceID `db:"workspace_id"`
	Account        string               `db:"account"`
	Org            identity.OrgID       `db:"org_id"`
	Gateway        payment.GatewayKind  `db:"gateway"`
	ExternalID     payment.CustomerID   `db:"external_id"`
	Key            string               `db:"call_key"`
	Name           string               `db:"name"`
	Email          string               `db:"email"`
	Default        payment.MethodID     `db:"default_method"`
	HadTrial       bool                 `db:"had_trial"`
	Pending        string               `db:"pending"`
	WalletAt       int64                `db:"wallet_at"`
	SubscriptionAt int64                `db:"subscription_at"`
	InvoicesAt     int64                `db:"invoices_at"`
	Revision       int64                `db:"revision"`
	CreatedAt      int64                `db:"created_at"`
	UpdatedAt      int64                `db:"updated_at"`
	CardAttempts   string               `db:"card_attempts"`
	PausedAt       int64                `db:"paused_at"`
	Surplus        string               `db:"surplus"`
	Credit         int64                `db:"credit"`
	CreditCurrency string               `db:"credit_currency"`
	Notices        string               `db:"notices"`
	Entered        string               `db:"details_entered"`
	Given          string               `db:"details_given"`
	Giving         string               `db:"details_key"`
	CheckoutUntil  int64                `db:"checkout_until"`
	CheckingOut    int64                `db:"checking_out"`
	CheckoutTrial  string               `db:"checkout_trial"`
	Done           string               `db:"done"`
	UsageSince     int64                `db:"usage_since"`
}

func (r *customerRow) customer() (*payment.Customer, error) {
	c := &payment.Customer{
		Org: r.Org, Workspace: r.Workspace, Gateway: r.Gateway, Account: r.Account, ID: r.ExternalID, Key: r.Key,
		Details: payment.Details{Name: r.Name, Email: r.Email}, Default: r.Default, HadTrial: r.HadTrial,
		WalletAt: db.FromMicros(r.WalletAt), SubscriptionAt: db.FromMicros(r.SubscriptionAt),
		InvoicesAt: db.FromMicros(r.InvoicesAt),
		Revision:   r.Revision, CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
		PausedAt: db.FromMicros(r.PausedAt), CheckoutUntil: db.FromMicros(r.CheckoutUntil),
		Credit: payment.Money{Amount: r.Credit, Currency: r.CreditCurrency},
		Giving: r.Giving, CheckingOut: db.FromMicros(r.CheckingOut), CheckoutTrial: r.CheckoutTrial,
		UsageSince: db.FromMicros(r.UsageSince),
	}
	return c, errors.Join(db.FromJSON(r.Pending, &c.Pending), db.FromJSON(r.CardAttempts, &c.Attempts),
		db.FromJSON(r.Surplus, &c.Surplus), db.FromJSON(r.Notices, &c.Notices),
		db.FromJSON(r.Entered, &c.Entered), db.FromJSON(r.Given, &c.Given), db.FromJSON(r.Done, &c.Done))
}

// encode sets the columns that hold JSON, as customer reads them: an empty string stands for the zero value.
func (r *customerRow) encode(c *payment.Customer) error {
	var columns db.JSONColumns
	attempts := c.Attempts
	r.Pending = columns.Text(c.Pending, c.Pending == nil)
	r.CardAttempts = columns.Text(attempts,
		len(attempts.Intents) == 0 && len(attempts.Declines) == 0 && len(attempts.Promotions) == 0)
	r.Surplus = columns.Text(c.Surplus, len(c.Surplus) == 0)
	r.Notices = columns.Text(c.Notices, len(c.Notices) == 0)
	r.Entered = columns.Text(c.Entered, c.Entered.Matches(&payment.Details{}))
	r.Given = columns.Text(c.Given, c.Given == nil)
	r.Done = columns.Text(c.Done, len(c.Done) == 0)
	return columns.Err
}

// customerQuery reads a customer with its methods, newest first, and its live subscription in one statement, which sees
// one state of the three tables. It returns a row for each method, or one row without a method.
var customerQuery = `SELECT ` + customerColumns + `, ` +
	db.ColumnsLike(`COALESCE(m.%, '') AS "m.%"`, []string{"id", "type", "brand", "last4", "country",
		"fingerprint"}) + `, ` +
	db.ColumnsLike(`COALESCE(m.%, 0) AS "m.%"`, []string{"exp_month", "exp_year", "created_at"}) + `, ` +
	db.ColumnsLike(`COALESCE(m.%, FALSE) AS "m.%"`, []string{"leaving"}) + `, ` +
	db.ColumnsLike(`COALESCE(s.%, '') AS "s.%"`, []string{"id", "plan_id", "status", "call_key", "pending_plan_id",
		"discount", "promotion_code", "cancellation", "item", "later_changes", "items"}) + `, ` +
	db.ColumnsLike(`COALESCE(s.%, 0) AS "s.%"`, []string{"quantity", "period_start", "period_end", "trial_end",
		"pending_quantity", "pending_at", "created_at", "past_due_since", "paid_until", "ends_at"}) + `, ` +
	db.ColumnsLike(`COALESCE(s.%, FALSE) AS "s.%"`, []string{"cancel_at_period_end", "confirming", "paused",
		"pending_elsewhere"}) + `
	FROM payment_customers t
	LEFT JOIN payment_subscriptions s ON s.workspace_id = t.workspace_id AND s.account = t.account AND s.ended_at = 0
	LEFT JOIN payment_methods m ON m.workspace_id = t.workspace_id AND m.account = t.account
	WHERE t.workspace_id = ? AND t.account = ? ORDER BY m.created_at DESC, m.id DESC`

// customer returns a customer, or payment.ErrNoCustomer.
func (store *Store) customer(ctx context.Context, ws identity.WorkspaceID, account string) (*payment.Customer, error) {
	var rows []struct {
		customerRow
		Method       methodRow       `db:"m"`
		Subscription subscriptionRow `db:"s"`
	}
	if err := store.List(ctx, &rows, customerQuery, ws, account); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, payment.ErrNoCustomer
	}
	c, err := rows[0].customer()
	if err != nil {
		return nil, err
	}
	if c.Subscription, err = rows[0].Subscription.subscription(); err != nil {
		return nil, err
	}
	c.Methods = make([]payment.Method, 0, len(rows))
	for i := range rows {
		if rows[i].Method.ID != "" {
			c.Methods = append(c.Methods, rows[i].Method.method())
		}
	}
	return c, nil
}

// lockedCustomer locks by's workspace and its customer, which is about to change, and then reads it: a statement that
// waits for a lock sees other tables as they were before. The workspace comes first, so that it is not deleted while a
// paid subscription begins in it.
func (store *Store) lockedCustomer(
	ctx context.Context, by identity.Actor, account string,
) (*payment.Customer, error) {
	if err := store.LockLiveWorkspace(ctx, by.Org, by.Workspace); err != nil {
		return nil, err
	}
	if store.Dialect.Lock != "" {
		var one int
		if _, err := store.Get(ctx, &one, `SELECT 1 FROM payment_customers t WHERE t.workspace_id = ? AND t.account = ?`+
			store.Dialect.Lock, by.Workspace, account); err != nil {
			return nil, err
		}
	}
	return store.customer(ctx, by.Workspace, account)
}

// saveCustomer writes a customer that lockedCustomer read, with its methods, subscriptions and invoices.
func (store *Store) saveCustomer(ctx context.Context, by identity.Actor, c *payment.Customer) error {
	store.DeclareChange(c.Workspace)
	var encoded customerRow
	if err := encoded.encode(c); err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `
		UPDATE payment_customers SET external_id = ?, call_key = ?, default_method = ?, had_trial = ?, pending = ?,
		wallet_at = ?, subscription_at = ?, invoices_at = ?,
			revision = ?, updated_at = ?, card_attempts = ?, paused_at = ?, surplus = ?, credit = ?, credit_currency =
			?, notices = ?, details_entered = ?, details_given = ?, details_key = ?, checkout_until = ?,
			checking_out = ?, checkout_trial = ?, done = ?, usage_since = ?
		WHERE workspace_id = ? AND account = ?`,
		c.ID, c.Key, c.Default, c.HadTrial, encoded.Pending, db.Micros(c.WalletAt), db.Micros(c.SubscriptionAt),
		db.Micros(c.InvoicesAt),
		c.Revision, db.Micros(c.UpdatedAt), encoded.CardAttempts, db.Micros(c.PausedAt), encoded.Surplus,
		c.Credit.Amount, c.Credit.Currency,
		encoded.Notices, encoded.Entered, encoded.Given, c.Giving, db.Micros(c.CheckoutUntil),
		db.Micros(c.CheckingOut), c.CheckoutTrial, encoded.Done, db.Micros(c.UsageSince),
		c.Workspace, c.Account); err != nil {
		return err
	}
	if err := store.saveMethods(ctx, c); err != nil {
		return err
	}
	if err := store.saveSubscriptions(ctx, c); err != nil {
		return err
	}
	if err := store.saveInvoices(ctx, by, c); err != nil {
		return err
	}
	return store.Record(ctx, c.RecordedAt(c.Revision, string(c.ID)))
}
