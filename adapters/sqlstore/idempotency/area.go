package idempotency

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
)

// Area is what responses by Idempotency-Key add to what concerns all areas.
var Area = db.Area{
	Name:     "idempotency",
	Expiries: []db.Expiry{{Table: "idempotency_keys", Key: "scope", Condition: "expires_at < ?"}},
	Sweep:    sweep,
	Redact:   redact,
}

// sweep removes secrets whose time has passed from responses.
func sweep(ctx context.Context, d *db.DB, now time.Time, _ time.Duration) error {
	return d.InBatches(ctx, `UPDATE idempotency_keys SET body = ?, erase_at = 0 WHERE scope IN
		(SELECT scope FROM idempotency_keys WHERE erase_at > 0 AND erase_at < ? LIMIT ?)`, []byte{}, db.Micros(now))
}
