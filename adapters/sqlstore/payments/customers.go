package payments

import (
	"context"
	"encoding/json"
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
	return c, errors.Join(decodeColumn(r.Pending, &c.Pending), decodeColumn(r.CardAttempts, &c.Attempts),
		decodeColumn(r.Surplus, &c.Surplus), decodeColumn(r.Notices, &c.Notices),
		decodeColumn(r.Entered, &c.Entered), decodeColumn(r.Given, &c.Given), decodeColumn(r.Done, &c.Done))
}

// customerQuery reads a customer with its methods, newest first, and its live subscription in one statement, which
// sees one state of the three tables. It returns a row for each method, and one without a method if there is none.
var customerQuery = `SELECT ` + customerColumns + `, ` +
	db.ColumnsLike(`COALESCE(m.%, '') AS "m.%"`, []string{"id", "type", "brand", "last4", "country",
		"fingerprint"}) + `, ` +
	db.ColumnsLike(`COALESCE(m.%, 0) AS "m.%"`, []string{"exp_month", "exp_year", "created_at"}) + `, ` +
	db.ColumnsLike(`COALESCE(m.%, FALSE) AS "m.%"`, []string{"leaving"}) + `, ` +
	db.ColumnsLike(`COALESCE(s.%, '') AS "s.%"`, []string{"id", "plan_id", "status", "call_key", "pending_plan_id",
		"discount", "promotion_code", "cancellation", "item"}) + `, ` +
	db.ColumnsLike(`COALESCE(s.%, 0) AS "s.%"`, []string{"quantity", "period_start", "period_end", "trial_end",
		"pending_quantity", "pending_at", "created_at", "past_due_since", "paid_until", "ends_at"}) + `, ` +
	db.ColumnsLike(`COALESCE(s.%, FALSE) AS "s.%"`, []string{"cancel_at_period_end", "confirming", "paused",
		"pending_elsewhere"}) + `
	FROM payment_customers t
	LEFT JOIN payment_subscriptions s ON s.workspace_id = t.workspace_id AND s.account = t.account AND s.ended_at = 0
	LEFT JOIN payment_methods m ON m.workspace_id = t.workspace_id AND m.account = t.account
	WHERE t.workspace_id = ? AND t.account = ? ORDER BY m.created_at DESC, m.id DESC`

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

// lockedCustomer locks a customer that is about to change, and then reads it: the statement that waits for a lock
// would see other tables as they were before.
func (store *Store) lockedCustomer(ctx context.Context, ws identity.WorkspaceID, account string) (*payment.Customer,
	error) {
	if store.Dialect.Lock != "" {
		var one int
		if _, err := store.Get(ctx, &one, `SELECT 1 FROM payment_customers t WHERE t.workspace_id = ? AND t.account = ?`+
			store.Dialect.Lock, ws, account); err != nil {
			return nil, err
		}
	}
	return store.customer(ctx, ws, account)
}

// customerDetails returns the stored form of the billing details of c.
func customerDetails(c *payment.Customer) (current, synced string, err error) {
	var problem, empty error
	if !c.Entered.Matches(&payment.Details{}) {
		current, problem = encodeDetails(&c.Entered)
	}
	synced, empty = encodeDetails(c.Given)
	return current, synced, errors.Join(problem, empty)
}

func encodeAttempts(a payment.CardAttempts) (string, error) {
	if len(a.Intents) == 0 && len(a.Declines) == 0 && len(a.Promotions) == 0 {
		return "", nil
	}
	text, err := json.Marshal(a)
	return string(text), err
}

func (store *Store) saveCustomer(ctx context.Context, c *payment.Customer) error {
	store.DeclareChange(c.Workspace)
	pending, err := encodeOptional(c.Pending)
	if err != nil {
		return err
	}
	attempts, err := encodeAttempts(c.Attempts)
	if err != nil {
		return err
	}
	surplus, err := encodeList(c.Surplus)
	if err != nil {
		return err
	}
	notices, err := encodeList(c.Notices)
	if err != nil {
		return err
	}
	calls, err := encodeList(c.Done)
	if err != nil {
		return err
	}
	current, synced, err := customerDetails(c)
	if err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `
		UPDATE payment_customers SET external_id = ?, call_key = ?, default_method = ?, had_trial = ?, pending = ?,
		wallet_at = ?, subscription_at = ?, invoices_at = ?,
			revision = ?, updated_at = ?, card_attempts = ?, paused_at = ?, surplus = ?, credit = ?, credit_currency =
			?, notices = ?, details_entered = ?, details_given = ?, details_key = ?, checkout_until = ?,
			checking_out = ?, checkout_trial = ?, done = ?, usage_since = ?
		WHERE workspace_id = ? AND account = ?`,
		c.ID, c.Key, c.Default, c.HadTrial, pending, db.Micros(c.WalletAt), db.Micros(c.SubscriptionAt),
		db.Micros(c.InvoicesAt),
		c.Revision, db.Micros(c.UpdatedAt), attempts, db.Micros(c.PausedAt), surplus, c.Credit.Amount,
		c.Credit.Currency,
		notices, current, synced, c.Giving, db.Micros(c.CheckoutUntil), db.Micros(c.CheckingOut), c.CheckoutTrial,
		calls, db.Micros(c.UsageSince),
		c.Workspace, c.Account); err != nil {
		return err
	}
	if err := store.saveMethods(ctx, c); err != nil {
		return err
	}
	if err := store.saveSubscriptions(ctx, c); err != nil {
		return err
	}
	if err := store.saveInvoices(ctx, c); err != nil {
		return err
	}
	return store.Record(ctx, c.RecordedAt(c.Revision, string(c.ID)))
}
