package webhooks

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what webhooks add to what concerns all areas.
var Area = db.Area{
	Name:      "webhooks",
	AddStores: addStores,
	Reseal:    reseal,
	Tables: []db.Table{
		{Name: "webhooks", Key: "id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "webhook_deliveries", Key: "id", Of: "webhooks", Owner: "webhook_id"},
	},
	Expiries: []db.Expiry{
		{Table: "webhook_deliveries", Key: "id", Condition: "created_at < ?", Kept: webhook.KeptFor},
	},
	Sweep: func(ctx context.Context, d *db.DB, now time.Time, _ time.Duration) error {
		return NewStore(d).wakeWaiting(ctx, now)
	},
}

func addStores(s *ports.Stores, d *db.DB) { s.Webhooks = &Webhooks{NewStore(d)} }
