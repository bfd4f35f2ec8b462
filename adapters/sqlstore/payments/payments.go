package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

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

// Update implements ports.Payments.
func (s *Payments) Update(ctx context.Context, by identity.Actor, account string,
	change func(*payment.Customer) error) (*payment.Customer, error) {
	var c *payment.Customer
	err := s.db.inTx(ctx, func(tx *Store) (err error) {
		if c, err = tx.lockedCustomer(ctx, by, account); err != nil {
			return err
		}
		if err := change(c); err != nil {
			return err
		}
		return tx.saveCustomer(ctx, by, c)
	})
	if err != nil {
		return nil, err
	}
	c.Invoices, c.AllDrafts, c.Ended = nil, false, nil
	return c, nil
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
		err = errors.Join(err, db.FromJSON(r.Surplus, &ids))
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
