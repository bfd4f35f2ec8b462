package idempotency

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// redactedAtOnce is how many responses are read at once.
const redactedAtOnce = 500

// Redact removes the stored responses that name a person, and returns their number. A repeated request with the same Idempotency-Key is
// told that its response was erased.
func Redact(
	ctx context.Context, d *db.DB, org identity.OrgID, r *event.Redactor,
) (count int, err error) {
	for cursor := []byte{}; ; {
		var rows []struct {
			Scope []byte `db:"scope"`
			Body  []byte `db:"body"`
		}
		if err := d.List(ctx, &rows, `SELECT scope, body FROM idempotency_keys WHERE scope > ? AND org_id = ?
			AND reveals = '' AND until = 0 ORDER BY scope LIMIT ?`, cursor, org, redactedAtOnce); err != nil {
			return count, err
		}
		for _, row := range rows {
			cursor = row.Scope
			if !r.Names(string(row.Body)) {
				continue
			}
			count++
			if _, err := d.Exec(ctx, `UPDATE idempotency_keys SET body = ?, request = ? WHERE scope = ? AND org_id = ?`,
				[]byte{}, []byte{}, row.Scope, org); err != nil {
				return count, err
			}
		}
		if len(rows) < redactedAtOnce {
			return count, nil
		}
	}
}
