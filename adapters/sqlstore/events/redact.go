package events

import (
	"context"
	"crypto/hmac"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// redactedAtOnce is how many rows are read for one transaction of a redaction.
const redactedAtOnce = 500

// Redact redacts the events of an org, in the order of their ids, and returns how many it changed. It links events
// before: only those that were moved are redacted.
func (store *Store) Redact(
	ctx context.Context, org identity.OrgID, r *event.Redactor, now time.Time,
) (changed int, err error) {
	if _, err := store.linkAll(ctx, now); err != nil {
		return 0, err
	}
	for after, more := "", true; more; {
		var last string
		var n int
		if err = store.inTx(ctx, func(tx *Store) error {
			last, n, more, err = tx.redactSome(ctx, org, r, after)
			return err
		}); err != nil {
			return changed, err
		}
		after, changed = last, changed+n
	}
	return changed, nil
}

type redactedRow struct {
	eventRow
	Signature []byte `db:"signature"`
	Redaction []byte `db:"redaction"`
}

func (store *Store) redactSome(
	ctx context.Context, org identity.OrgID, r *event.Redactor, after string,
) (last string, changed int, more bool, err error) {
	var rows []redactedRow
	if err := store.List(ctx, &rows, `
		SELECT id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data, created_at, request_id,
			address, signature, redaction
		FROM events WHERE id > ? ORDER BY id LIMIT ?`, after, redactedAtOnce); err != nil {
		return "", 0, false, err
	}
	for i := range rows {
		last = rows[i].ID
		if rows[i].Org != org {
			continue
		}
		done, err := store.redact(ctx, r, &rows[i])
		if err != nil {
			return "", 0, false, err
		}
		if done {
			changed++
		}
	}
	return last, changed, len(rows) == redactedAtOnce, nil
}

// redact redacts one event. An event that was tampered with gets no new signature: it still fails the verification.
func (store *Store) redact(ctx context.Context, r *event.Redactor, row *redactedRow) (changed bool, err error) {
	e := row.event()
	data, changed, err := r.Redact(&e, row.Data)
	if err != nil || !changed {
		return false, err
	}
	redaction := row.Redaction
	if d := store.Digester(); d != nil && len(row.Signature) > 0 {
		before := row.event()
		stored, want := row.Signature, event.Sign(d, &before, row.Data)
		if len(redaction) > 0 {
			stored, want = redaction, event.SignRedaction(d, &before, row.Data, row.Signature)
		}
		if hmac.Equal(stored, want) {
			redaction = event.SignRedaction(d, &e, data, row.Signature)
		}
	}
	_, err = store.Exec(ctx, `UPDATE events SET data = ?, address = ?, request_id = ?, redaction = ? WHERE id = ?`,
		string(data), e.Request.Address, e.Request.ID, redaction, e.ID)
	return true, err
}
