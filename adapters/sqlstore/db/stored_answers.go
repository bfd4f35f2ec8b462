package db

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
)

// EraseAnswers erases the responses that are stored under an Idempotency-Key and showed a secret of an object, and the
// digests of their requests. The records themselves stay.
func (db *DB) EraseAnswers(ctx context.Context, org identity.OrgID, reveals string) error {
	_, err := db.Exec(ctx, `UPDATE idempotency_keys SET body = ?, request = ?, erase_at = 0 WHERE org_id = ?
		AND reveals = ? AND reveals <> ''`, []byte{}, []byte{}, org, reveals)
	return err
}

// EraseRequests erases the digests of requests under an Idempotency-Key that contained a secret of an object.
func (db *DB) EraseRequests(ctx context.Context, org identity.OrgID, brought string) error {
	_, err := db.Exec(ctx, `UPDATE idempotency_keys SET request = ? WHERE org_id = ? AND brought = ? AND brought <> ''`,
		[]byte{}, org, brought)
	return err
}
