package events

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/ports"
)

// Area returns what the audit trail adds to what concerns all areas.
func Area(hooks *Hooks) db.Area {
	return db.Area{
		Name:      "events",
		AddStores: func(s *ports.Stores, d *db.DB) { s.Events = &Events{NewStore(d, hooks)} },
		Expiries:  []db.Expiry{{Table: "event_marks", Key: "mark", Condition: "until < ?"}},
		Sweep: func(ctx context.Context, d *db.DB, now time.Time, eventsKept time.Duration) error {
			return NewStore(d, hooks).sweep(ctx, now.Add(-eventsKept))
		},
		Redact: func(ctx context.Context, d *db.DB, e *account.Erasure, r *event.Redactor, now time.Time) (err error) {
			e.Report.Events, err = NewStore(d, hooks).redactOrg(ctx, e.Org, r, now)
			return err
		},
	}
}
