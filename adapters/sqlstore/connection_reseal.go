package sqlstore

import (
	"bytes"
	"context"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
)

// FingerprintKey returns the sealed fingerprint key, after storing fresh if there is none yet. The
// keyring's check value must be stored already.
func (store *DB) FingerprintKey(ctx context.Context, fresh []byte) (sealed []byte, err error) {
	const stored = `SELECT fingerprint_key FROM keyring WHERE one = 1`
	if _, err := store.Get(ctx, &sealed, stored); len(sealed) > 0 || err != nil {
		return sealed, err
	}
	if _, err := store.Exec(ctx, `UPDATE keyring SET fingerprint_key = ? WHERE one = 1 AND LENGTH(fingerprint_key) = 0`,
		fresh); err != nil {
		return nil, err
	}
	_, err = store.Get(ctx, &sealed, stored)
	return sealed, err
}

// Credentials counts the sealed credentials of connections.
func (store *DB) Credentials(ctx context.Context) (n int, err error) {
	_, err = store.Get(ctx, &n, `SELECT COUNT(*) FROM connection_credentials`)
	return n, err
}

// Resealed is the progress of Reseal.
type Resealed struct {
	Credentials int // looked at
	Changed     int // sealed again
	Unopened    int // whose data key no key of the keyring opens: they stay as they are
}

// SealedCredential is the stored credential of a connection.
type SealedCredential struct {
	ID        connection.ID        `db:"id"`
	Org       identity.OrgID       `db:"org_id"`
	Workspace identity.WorkspaceID `db:"workspace_id"`
	Kind      connection.Kind      `db:"kind"`
	Revision  int64                `db:"credential_revision"`
	Sealed    []byte               `db:"sealed"`
	For       int64                `db:"sealed_for"` // the revision; 0 for any, as v0.1.0 sealed it
}

// Reseal seals stored credentials again. rewrap returns the same bytes if they need no change, and an error if they
// do not open. bind returns an unbound credential sealed for its revision; nil leaves it unbound. Credentials that
// change at the same time are left as they are. Reseal works in small steps, and calls progress after each.
func (store *DB) Reseal(ctx context.Context, rewrap func(sealed []byte) ([]byte, error),
	bind func(*SealedCredential) ([]byte, error), progress func(Resealed)) error {
	key, err := store.FingerprintKey(ctx, []byte{})
	if err != nil {
		return err
	}
	if len(key) > 0 {
		fresh, err := rewrap(key)
		if err != nil {
			return err
		}
		if _, err := store.Exec(ctx, `UPDATE keyring SET fingerprint_key = ? WHERE one = 1 AND fingerprint_key = ?`, fresh,
			key); err != nil {
			return err
		}
	}
	var done Resealed
	for after := connection.ID(""); ; {
		var rows []SealedCredential
		if err := store.List(ctx, &rows, `
			SELECT t.id, t.org_id, t.workspace_id, t.kind, t.credential_revision, k.sealed, k.revision AS sealed_for
			FROM connection_credentials k JOIN connections t ON t.id = k.connection_id
			WHERE k.connection_id > ? ORDER BY k.connection_id LIMIT 100`, after); err != nil {
			return err
		}
		if len(rows) == 0 {
			return store.resealWebhooks(ctx, rewrap, progress, &done)
		}
		for i := range rows {
			after = rows[i].ID
			if err := store.reseal(ctx, &rows[i], rewrap, bind, &done); err != nil {
				return err
			}
		}
		progress(done)
	}
}

func (store *DB) reseal(ctx context.Context, c *SealedCredential, rewrap func([]byte) ([]byte, error),
	bind func(*SealedCredential) ([]byte, error), done *Resealed) error {
	done.Credentials++
	fresh, revision, err := []byte(nil), c.Revision, error(nil)
	if c.For == 0 {
		fresh, err = bind(c)
	}
	if fresh == nil && err == nil {
		revision = c.For
		fresh, err = rewrap(c.Sealed)
	}
	switch {
	case err != nil:
		done.Unopened++
	case !bytes.Equal(fresh, c.Sealed):
		n, err := store.Exec(ctx, `UPDATE connection_credentials SET sealed = ?, revision = ? WHERE connection_id = ?
			AND sealed = ?`, fresh, revision, c.ID, c.Sealed)
		if err != nil {
			return err
		}
		done.Changed += int(n)
	}
	return nil
}

// resealWebhooks does what Reseal does with the headers of webhooks.
func (store *DB) resealWebhooks(ctx context.Context, rewrap func([]byte) ([]byte, error), progress func(Resealed),
	done *Resealed) error {
	for after := webhook.ID(""); ; {
		var rows []struct {
			ID     webhook.ID `db:"id"`
			Sealed []byte     `db:"sealed"`
		}
		if err := store.List(ctx, &rows, `SELECT id, sealed FROM webhooks WHERE sealed IS NOT NULL AND id > ? ORDER BY id
			LIMIT 100`, after); err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			done.Credentials++
			fresh, err := rewrap(row.Sealed)
			if err != nil {
				done.Unopened++
				continue
			}
			if bytes.Equal(fresh, row.Sealed) {
				continue
			}
			n, err := store.Exec(ctx, `UPDATE webhooks SET sealed = ? WHERE id = ? AND sealed = ?`, fresh, row.ID, row.Sealed)
			if err != nil {
				return err
			}
			done.Changed += int(n)
		}
		progress(*done)
	}
}
