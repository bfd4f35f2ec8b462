package payments

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

// listedRow is a subscription with its workspace.
type listedRow struct {
	subscriptionRow
	EndedAt       int64                `db:"ended_at"`
	Workspace     identity.WorkspaceID `db:"workspace_id"`
	WorkspaceName string               `db:"workspace_name"`
	Customer      payment.CustomerID   `db:"external_id"`
	Due           int64                `db:"due"`
}

func (r *listedRow) listed() (payment.ListedSubscription, error) {
	s, err := r.subscription()
	if err != nil {
		return payment.ListedSubscription{}, err
	}
	s.EndedAt = db.FromMicros(r.EndedAt)
	return payment.ListedSubscription{
		Subscription: *s, Workspace: r.Workspace, WorkspaceName: r.WorkspaceName, Customer: r.Customer, Due: r.Due,
	}, nil
}

// Subscriptions implements ports.Payments. A position is a time and an identifier.
func (s *Payments) Subscriptions(
	ctx context.Context, org identity.OrgID, account string, f payment.SubscriptionFilter, q page.Query,
) (page.Of[payment.ListedSubscription], error) {
	conditions := db.NewConditions(`t.org_id = ? AND t.account = ?`, org, account)
	switch {
	case f.Status != "":
		conditions.When(true, `s.status = ?`, f.Status)
	case f.EndedSince.IsZero():
		conditions.When(true, `s.ended_at = 0`)
	default:
		conditions.When(true, `(s.ended_at = 0 OR s.ended_at > ?)`, db.Micros(f.EndedSince))
	}
	if micros, id, ok := cutPosition(q.After); ok {
		conditions.When(true, `(s.created_at < ? OR s.created_at = ? AND s.id < ?)`, micros, micros, id)
	}
	var rows []listedRow
	if err := s.db.List(ctx, &rows, `
		SELECT s.id, s.plan_id, s.quantity, s.status, s.call_key, s.period_start, s.period_end, s.trial_end,
			s.cancel_at_period_end, s.pending_plan_id, s.pending_quantity, s.pending_at, s.created_at, s.past_due_since,
			s.confirming, s.discount, s.promotion_code, s.paused, s.paid_until, s.cancellation, s.item, s.items,
			s.ends_at,
			s.pending_elsewhere, s.later_changes, s.ended_at, s.workspace_id, w.name AS workspace_name, t.external_id,
			(SELECT COALESCE(CAST(SUM(i.amount_remaining) AS BIGINT), 0) FROM payment_invoices i
				WHERE i.workspace_id = s.workspace_id AND i.account = s.account AND i.status = 'open'
				AND i.subscription_id = s.id) AS due
		FROM payment_customers t
		JOIN payment_subscriptions s ON s.workspace_id = t.workspace_id AND s.account = t.account
		JOIN workspaces w ON w.id = t.workspace_id
		WHERE `+conditions.SQL()+` ORDER BY s.created_at DESC, s.id DESC LIMIT ?`,
		conditions.Args(q.Limit+1)...); err != nil {
		return page.Of[payment.ListedSubscription]{}, err
	}
	all, err := db.TryConvert(rows, (*listedRow).listed)
	return page.Cut(all, q.Limit, func(s payment.ListedSubscription) string {
		return position(db.Micros(s.CreatedAt), string(s.ID))
	}), err
}
