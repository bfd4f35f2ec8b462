package payments

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

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
