package events

import (
	"context"
	"crypto/hmac"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// redactedAtOnce is the number of rows that one transaction of a redaction reads.
const redactedAtOnce = 500

// redactOrg redacts an org's events, in the order of their ids, and returns the number of changed ones. It first links
// new events, since only linked events are redacted.
func (store *Store) redactOrg(
	ctx context.Context, org identity.OrgID, r *event.Redactor, now time.Time,
) (count int, err error) {
	if _, err := store.linkAll(ctx, now); err != nil {
		return 0, err
	}
	for cursor := ""; ; {
		var part redactedPart
		if err := store.inTx(ctx, func(tx *Store) (err error) {
			part, err = tx.redactSome(ctx, org, r, cursor)
			return err
		}); err != nil {
			return count, err
		}
		if count += part.count; !part.hasMore {
			return count, nil
		}
		cursor = part.last
	}
}

// redactedPart is the result of one transaction of a redaction.
type redactedPart struct {
	last    string // the id of the last event that was read
	count   int    // of the events that were changed
	hasMore bool
}

type redactedRow struct {
	eventRow
	Signature []byte `db:"signature"`
	Redaction []byte `db:"redaction"`
}

// redactSome redacts an org's events among the next events of all orgs.
func (store *Store) redactSome(
	ctx context.Context, org identity.OrgID, r *event.Redactor, cursor string,
) (part redactedPart, err error) {
	var rows []redactedRow
	if err := store.List(ctx, &rows, `
		SELECT id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data, created_at, request_id,
			address, signature, redaction
		FROM events WHERE id > ? ORDER BY id LIMIT ?`, cursor, redactedAtOnce); err != nil {
		return part, err
	}
	part.hasMore = len(rows) == redactedAtOnce
	for i := range rows {
		part.last = rows[i].ID
		if rows[i].Org != org {
			continue
		}
		isChanged, err := store.redact(ctx, r, &rows[i])
		if err != nil {
			return part, err
		}
		if isChanged {
			part.count++
		}
	}
	return part, nil
}

// redact redacts one event. An event that was tampered with gets no new signature: it still fails the verification.
func (store *Store) redact(ctx context.Context, r *event.Redactor, row *redactedRow) (isChanged bool, err error) {
	e := row.event()
	data, isChanged, err := r.Redact(&e, row.Data)
	if err != nil || !isChanged {
		return false, err
	}
	redaction := row.Redaction
	if d := store.Digester(); d != nil && len(row.Signature) > 0 {
		previous := row.event()
		signature, want := row.Signature, event.Sign(d, &previous, row.Data)
		if len(redaction) > 0 {
			signature, want = redaction, event.SignRedaction(d, &previous, row.Data, row.Signature)
		}
		if hmac.Equal(signature, want) {
			redaction = event.SignRedaction(d, &e, data, row.Signature)
		}
	}
	_, err = store.Exec(ctx, `UPDATE events SET data = ?, address = ?, request_id = ?, redaction = ? WHERE id = ?`,
		string(data), e.Request.Address, e.Request.ID, redaction, e.ID)
	return true, err
}
