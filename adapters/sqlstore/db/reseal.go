package db

import (
	"bytes"
	"context"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Resealing seals what is stored sealed again. Data that changes at the same time is left as it is.
type Resealing struct {
	// Rewrap returns the same bytes if they need no change, and an error if they do not open.
	Rewrap func(sealed []byte) ([]byte, error)

	// Bind returns an unbound credential sealed for its revision; nil leaves it unbound.
	Bind func(*SealedCredential) ([]byte, error)

	// Progress is called after each small step.
	Progress func(Resealed)

	Done Resealed
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

// Credential notes one credential: what it was sealed as, and what seal returns for it, which save stores.
func (r *Resealing) Credential(
	sealed []byte, seal func() ([]byte, error), save func(fresh []byte) (count int64, err error),
) error {
	r.Done.Credentials++
	fresh, err := seal()
	if err != nil {
		r.Done.Unopened++
		return nil
	}
	if bytes.Equal(fresh, sealed) {
		return nil
	}
	count, err := save(fresh)
	r.Done.Changed += int(count)
	return err
}

// FingerprintKey returns the sealed fingerprint key, after storing fresh if there is none yet. The
// keyring's check value must be stored already.
func (db *DB) FingerprintKey(ctx context.Context, fresh []byte) (sealed []byte, err error) {
	const query = `SELECT fingerprint_key FROM keyring WHERE one = 1`
	if _, err := db.Get(ctx, &sealed, query); len(sealed) > 0 || err != nil {
		return sealed, err
	}
	if _, err := db.Exec(ctx, `UPDATE keyring SET fingerprint_key = ? WHERE one = 1 AND LENGTH(fingerprint_key) = 0`,
		fresh); err != nil {
		return nil, err
	}
	_, err = db.Get(ctx, &sealed, query)
	return sealed, err
}

// ResealFingerprintKey seals the fingerprint key again, if one is stored.
func (db *DB) ResealFingerprintKey(ctx context.Context, r *Resealing) error {
	key, err := db.FingerprintKey(ctx, []byte{})
	if err != nil || len(key) == 0 {
		return err
	}
	fresh, err := r.Rewrap(key)
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, `UPDATE keyring SET fingerprint_key = ? WHERE one = 1 AND fingerprint_key = ?`, fresh, key)
	return err
}
