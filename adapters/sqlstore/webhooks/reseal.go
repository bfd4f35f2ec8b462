package webhooks

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/webhook"
)

// reseal seals the headers of webhooks again.
func reseal(ctx context.Context, d *db.DB, r *db.Resealing) error {
	for cursor := webhook.ID(""); ; {
		var rows []struct {
			ID     webhook.ID `db:"id"`
			Sealed []byte     `db:"sealed"`
		}
		if err := d.List(ctx, &rows, `SELECT id, sealed FROM webhooks WHERE sealed IS NOT NULL AND id > ? ORDER BY id
			LIMIT 100`, cursor); err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			cursor = row.ID
			if err := r.Credential(row.Sealed, func() ([]byte, error) { return r.Rewrap(row.Sealed) },
				func(fresh []byte) (int64, error) {
					return d.Exec(ctx, `UPDATE webhooks SET sealed = ? WHERE id = ? AND sealed = ?`, fresh, row.ID,
						row.Sealed)
				}); err != nil {
				return err
			}
		}
		r.Progress(r.Done)
	}
}
