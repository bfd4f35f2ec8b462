package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
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

// methods reads a customer's payment methods.
func (store *Store) methods(ctx context.Context, ws identity.WorkspaceID, account string) ([]payment.Method, error) {
	var rows []methodRow
	if err := store.List(ctx, &rows, `
		SELECT id, type, brand, last4, exp_month, exp_year, country, leaving, created_at, fingerprint
		FROM payment_methods WHERE workspace_id = ? AND account = ?`, ws, account); err != nil {
		return nil, err
	}
	methods := db.Convert(rows, (*methodRow).method)
	return methods, nil
}

// saveMethods replaces the stored payment methods by c's. They are few, and rarely change.
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
	LaterChanges      string                 `db:"later_changes"`
	Items             string                 `db:"items"`
}

// subscription returns the row's subscription, or nil for a customer without a live one.
func (r *subscriptionRow) subscription() (s *payment.Subscription, err error) {
	if r.ID == "" {
		return nil, nil //nolint:nilnil // a customer without a live subscription is no error
	}
	s = &payment.Subscription{
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
		err = db.FromJSON(r.LaterChanges, &s.Pending.Next)
	}
	return s, errors.Join(err, db.FromJSON(r.Discount, &s.Discount), db.FromJSON(r.Cancellation, &s.Cancellation),
		db.FromJSON(r.Item, &s.Item), db.FromJSON(r.Items, &s.Items))
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
		var columns db.JSONColumns
		discount := columns.Text(s.Discount, s.Discount == nil)
		cancellation := columns.Text(s.Cancellation, s.Cancellation == payment.Cancellation{})
		item := columns.Text(s.Item, s.Item == payment.SoldItem{})
		next := columns.Text(pending.Next, pending.Next == nil)
		items := columns.Text(s.Items, s.Items == nil)
		if columns.Err != nil {
			return columns.Err
		}
		if _, err := store.Exec(ctx, `
			INSERT INTO payment_subscriptions (workspace_id, account, id, plan_id, quantity, status, call_key,
			period_start, period_end, trial_end, cancel_at_period_end,
				pending_plan_id, pending_quantity, pending_at, created_at, ended_at, past_due_since, confirming,
				discount, promotion_code, paused, paid_until, cancellation, item, ends_at, pending_elsewhere,
				later_changes, items)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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
				ends_at = excluded.ends_at, pending_elsewhere = excluded.pending_elsewhere,
				later_changes = excluded.later_changes, items = excluded.items`,
			c.Workspace, c.Account, s.ID, s.Plan, s.Quantity, s.Status, s.Key, db.Micros(s.PeriodStart),
			db.Micros(s.PeriodEnd), db.Micros(s.TrialEnd), s.CancelAtPeriodEnd,
			pending.Plan, pending.Quantity, db.Micros(pending.At), db.Micros(s.CreatedAt), db.Micros(s.EndedAt),
			db.Micros(s.PastDueSince), s.Confirming, discount, s.Code, s.Paused, db.Micros(s.PaidUntil),
			cancellation, item, db.Micros(s.EndsAt), pending.Elsewhere, next, items); err != nil {
			return err
		}
	}
	return nil
}
