package payments

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what payments add to what concerns all areas.
var Area = db.Area{
	Name:      "payments",
	AddStores: addStores,
	Tables: []db.Table{ // first the counts of use: otherwise the removal of each further row would change them
		{Name: "workspace_usage", Key: "workspace_id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "workspace_usage_parts", Key: "workspace_id, part", Of: "workspaces", Owner: "workspace_id"},
		{Name: "payment_methods", Key: "workspace_id, account, id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "payment_subscriptions", Key: "workspace_id, account, id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "payment_invoices", Key: "workspace_id, account, id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "credit_packs", Key: "workspace_id, account, feature, invoice_id", Of: "workspaces",
			Owner: "workspace_id"},
		{Name: "payment_customers", Key: "workspace_id, account", Of: "workspaces", Owner: "workspace_id"},
		{Name: "feature_usage", Key: "workspace_id, period_start, feature", Of: "workspaces", Owner: "workspace_id"},
		{Name: "feature_usage_days", Key: "workspace_id, feature, day", Of: "workspaces", Owner: "workspace_id"},
		{Name: "usage_events", Key: "workspace_id, id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "usage_reports", Key: "workspace_id, report_key", Of: "workspaces", Owner: "workspace_id"},
		{Name: "stream_counts", Key: "workspace_id, node", Of: "workspaces", Owner: "workspace_id"},
	},
	Expiries: []db.Expiry{
		{Table: "payment_events", Key: "org_id, account, id", Condition: "ended_at > 0 AND ended_at < ?",
			Kept: eventsKept},
		{Table: "usage_reports", Key: "workspace_id, report_key", Condition: "created_at < ?",
			Kept: payment.UsageKeyLasts},
		{Table: "feature_usage", Key: "workspace_id, period_start, feature", Condition: "updated_at < ?",
			Kept: featureUsageKept},
		{Table: "feature_usage_days", Key: "workspace_id, feature, day", Condition: "updated_at < ?",
			Kept: featureUsageKept},
	},
	Erasures: []db.Erasure{{
		Query: `UPDATE payment_customers SET email = '' WHERE org_id = ? AND LOWER(email) = ?`,
		Args:  (*db.ErasedPerson).ByEmail,
	}},
}

// eventsKept is the time for which a gateway's event is kept after it was processed: longer than gateways repeat one
// (Stripe: 3 days, and 30 by hand).
const eventsKept = 90 * 24 * time.Hour

// featureUsageKept is the time for which a period's usage is kept after its last report: longer than the longest
// period.
const featureUsageKept = 3 * 365 * 24 * time.Hour

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.Payments = &Payments{store}
	s.Inbox = &Inbox{store}
	s.Usage = &Usage{store}
	s.Meters = &Meters{store}
	s.Trials = &Trials{store}
	s.StreamSeats = &StreamSeats{store}
}
