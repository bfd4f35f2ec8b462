package idempotency

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
)

// redactedAtOnce is the number of responses that are read at once.
const redactedAtOnce = 500

// redact removes the stored responses that name a person. A repeated request with the same Idempotency-Key gets the
// error that its response was erased.
func redact(ctx context.Context, d *db.DB, e *account.Erasure, r *event.Redactor, _ time.Time) error {
	count := 0
	for cursor := []byte{}; ; {
		var rows []struct {
			Scope []byte `db:"scope"`
			Body  []byte `db:"body"`
		}
		if err := d.List(ctx, &rows, `SELECT scope, body FROM idempotency_keys WHERE scope > ? AND org_id = ?
			AND reveals = '' AND until = 0 ORDER BY scope LIMIT ?`, cursor, e.Org, redactedAtOnce); err != nil {
			return err
		}
		for _, row := range rows {
			cursor = row.Scope
			if !r.Names(string(row.Body)) {
				continue
			}
			count++
			if _, err := d.Exec(ctx, `UPDATE idempotency_keys SET body = ?, request = ? WHERE scope = ? AND org_id = ?`,
				[]byte{}, []byte{}, row.Scope, e.Org); err != nil {
				return err
			}
		}
		if len(rows) < redactedAtOnce {
			e.Report.Responses = count
			return nil
		}
	}
}
