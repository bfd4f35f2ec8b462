package payments

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// Payments stores the customers of payment gateways, and the mirror of the gateways' data.
type Payments struct{ db *Store }

var _ ports.Payments = (*Payments)(nil)

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

// decodeColumn reads JSON; an empty column leaves into as it is.
func decodeColumn(text string, target any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), target)
}

// encodeOptional returns what p points to as JSON; nil is an empty text.
func encodeOptional[T any](p *T) (string, error) {
	if p == nil {
		return "", nil
	}
	text, err := json.Marshal(p)
	return string(text), err
}

// encodeList returns a list as JSON; an empty list is an empty text.
func encodeList[T any](all []T) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	text, err := json.Marshal(all)
	return string(text), err
}

func encodeAttempts(a payment.CardAttempts) (string, error) {
	if len(a.Intents) == 0 && len(a.Declines) == 0 && len(a.Promotions) == 0 {
		return "", nil
	}
	text, err := json.Marshal(a)
	return string(text), err
}

// Customer implements ports.Payments.
func (s *Payments) Customer(ctx context.Context, ws identity.WorkspaceID, account string) (*payment.Customer, error) {
	return s.db.customer(ctx, ws, account)
}

// Reserve implements ports.Payments.
func (s *Payments) Reserve(ctx context.Context, by identity.Actor, c *payment.Customer) (*payment.Customer, error) {
	var customer *payment.Customer
	err := s.db.inTx(ctx, func(tx *Store) error {
		if err := tx.LockLiveWorkspace(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO payment_customers (workspace_id, account, org_id, gateway, external_id, call_key, name, email,
			default_method, had_trial, pending,
				wallet_at, subscription_at, invoices_at, revision, created_at, updated_at)
			VALUES (?, ?, ?, ?, '', ?, ?, ?, '', ?, '', 0, 0, 0, ?, ?, ?)
			ON CONFLICT (workspace_id, account) DO NOTHING`,
			by.Workspace, c.Account, by.Org, c.Gateway, c.Key, c.Details.Name, c.Details.Email, false, c.Revision,
			db.Micros(c.CreatedAt), db.Micros(c.UpdatedAt)); err != nil {
			return err
		}
		var err error
		customer, err = tx.customer(ctx, by.Workspace, c.Account)
		return err
	})
	return customer, err
}

// Update implements ports.Payments. It locks the workspace first, so that the workspace is not deleted while a paid
// subscription begins in it.
func (s *Payments) Update(ctx context.Context, by identity.Actor, account string,
	change func(*payment.Customer) error) (*payment.Customer, error) {
	var c *payment.Customer
	err := s.db.inTx(ctx, func(tx *Store) (err error) {
		if err := tx.LockLiveWorkspace(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		if c, err = tx.lockedCustomer(ctx, by.Workspace, account); err != nil {
			return err
		}
		if err := change(c); err != nil {
			return err
		}
		return tx.saveCustomer(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	c.Invoices, c.AllDrafts, c.Ended = nil, false, nil
	return c, nil
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

// Find implements ports.Payments.
func (s *Payments) Find(ctx context.Context, org identity.OrgID, account string,
	c payment.CustomerID) (identity.WorkspaceID, error) {
	var ws identity.WorkspaceID
	found, err := s.db.Get(ctx, &ws, `SELECT workspace_id FROM payment_customers WHERE org_id = ? AND account = ?
		AND external_id = ? AND external_id <> ''`, org, account, c)
	if err == nil && !found {
		err = payment.ErrNoCustomer
	}
	return ws, err
}

// Live implements ports.Payments.
func (s *Payments) Live(ctx context.Context, ws identity.WorkspaceID, account string) (n int, err error) {
	_, err = s.db.Get(ctx, &n, `
		SELECT (SELECT COUNT(*) FROM payment_subscriptions WHERE workspace_id = ? AND account = ? AND ended_at = 0)
			+ (SELECT COUNT(*) FROM payment_customers WHERE workspace_id = ? AND account = ?
			AND (pending <> '' OR checkout_until <> 0 AND external_id <> ''))`, ws, account, ws, account)
	return n, err
}

// LiveElsewhere implements ports.Payments.
func (s *Payments) LiveElsewhere(ctx context.Context, org identity.OrgID, account string) (map[string]int, error) {
	var rows []struct {
		Account string `db:"account"`
		Live    int    `db:"live"`
	}
	err := s.db.List(ctx, &rows, `
		SELECT t.account, COUNT(*) AS live FROM payment_subscriptions t
		JOIN payment_customers c ON c.workspace_id = t.workspace_id AND c.account = t.account
		WHERE c.org_id = ? AND t.account <> ? AND t.ended_at = 0 GROUP BY t.account`, org, account)
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.Account] = r.Live
	}
	return counts, err
}

// Duplicates implements ports.Payments.
func (s *Payments) Duplicates(ctx context.Context, org identity.OrgID,
	account string) (map[identity.WorkspaceID][]payment.SubscriptionID, error) {
	var rows []struct {
		Workspace identity.WorkspaceID `db:"workspace_id"`
		Surplus   string               `db:"surplus"`
	}
	err := s.db.List(ctx, &rows, `SELECT workspace_id, surplus FROM payment_customers WHERE org_id = ? AND account = ?
		AND surplus <> ''`, org, account)
	found := map[identity.WorkspaceID][]payment.SubscriptionID{}
	for _, r := range rows {
		var ids []payment.SubscriptionID
		err = errors.Join(err, decodeColumn(r.Surplus, &ids))
		found[r.Workspace] = ids
	}
	return found, err
}

// Paused implements ports.Payments.
func (s *Payments) Paused(ctx context.Context, org identity.OrgID, account string) ([]identity.WorkspaceID, error) {
	var ids []identity.WorkspaceID
	err := s.db.List(ctx, &ids, `
		SELECT workspace_id FROM payment_customers WHERE org_id = ? AND account = ? AND paused_at > 0
		ORDER BY workspace_id`, org, account)
	return ids, err
}

// Customers implements ports.Payments.
func (s *Payments) Customers(ctx context.Context, org identity.OrgID, account string,
	q page.Query) (page.Of[identity.WorkspaceID], error) {
	var ids []identity.WorkspaceID
	err := s.db.List(ctx, &ids, `
		SELECT t.workspace_id FROM payment_customers t JOIN workspaces w ON w.id = t.workspace_id
		WHERE t.org_id = ? AND t.account = ? AND t.external_id <> '' AND w.deleted_at = 0 AND t.workspace_id > ?
		ORDER BY t.workspace_id LIMIT ?`,
		org, account, q.After, q.Limit+1)
	return page.Cut(ids, q.Limit, func(id identity.WorkspaceID) string { return string(id) }), err
}
