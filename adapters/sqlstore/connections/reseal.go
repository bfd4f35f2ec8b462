package connections

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Credentials counts the sealed credentials of connections.
func Credentials(ctx context.Context, d *db.DB) (count int, err error) {
	_, err = d.Get(ctx, &count, `SELECT COUNT(*) FROM connection_credentials`)
	return count, err
}

// reseal seals the credentials of connections again.
func reseal(ctx context.Context, d *db.DB, r *db.Resealing) error {
	for cursor := connection.ID(""); ; {
		var rows []db.SealedCredential
		if err := d.List(ctx, &rows, `
			SELECT t.id, t.org_id, t.workspace_id, t.kind, t.credential_revision, k.sealed, k.revision AS sealed_for
			FROM connection_credentials k JOIN connections t ON t.id = k.connection_id
			WHERE k.connection_id > ? ORDER BY k.connection_id LIMIT 100`, cursor); err != nil || len(rows) == 0 {
			return err
		}
		for i := range rows {
			cursor = rows[i].ID
			if err := resealCredential(ctx, d, r, &rows[i]); err != nil {
				return err
			}
		}
		r.Progress(r.Done)
	}
}

// resealCredential seals one credential with the current key. It binds a credential to its connection if an old release
// has not.
func resealCredential(ctx context.Context, d *db.DB, r *db.Resealing, c *db.SealedCredential) error {
	revision := c.For
	return r.Credential(c.Sealed, func() ([]byte, error) {
		if c.For != 0 {
			return r.Rewrap(c.Sealed)
		}
		fresh, err := r.Bind(c)
		if fresh == nil && err == nil {
			return r.Rewrap(c.Sealed)
		}
		revision = c.Revision
		return fresh, err
	}, func(fresh []byte) (int64, error) {
		return d.Exec(ctx, `UPDATE connection_credentials SET sealed = ?, revision = ? WHERE connection_id = ?
			AND sealed = ?`, fresh, revision, c.ID, c.Sealed)
	})
}
