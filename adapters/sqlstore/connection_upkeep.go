package sqlstore

import (
	"bytes"
	"context"

	"github.com/atrium-hq/atrium/domain/connection"
)

// FingerprintKey answers the sealed key of fingerprints, after storing it if there is none yet. The
// keyring's check must be stored already.
func (db *DB) FingerprintKey(ctx context.Context, fresh []byte) (sealed []byte, err error) {
	err = db.inTx(ctx, func(tx *DB) error {
		if _, err := tx.exec(ctx, `UPDATE keyring SET fingerprint_key = ? WHERE one = 1 AND LENGTH(fingerprint_key) = 0`, fresh); err != nil {
			return err
		}
		_, err := tx.get(ctx, &sealed, `SELECT fingerprint_key FROM keyring WHERE one = 1`)
		return err
	})
	return sealed, err
}

// Credentials counts the sealed credentials of connections.
func (db *DB) Credentials(ctx context.Context) (n int, err error) {
	_, err = db.get(ctx, &n, `SELECT COUNT(*) FROM connection_credentials`)
	return n, err
}

// Resealed is how far Reseal has come.
type Resealed struct {
	Credentials int // looked at
	Changed     int // sealed anew
	Unopened    int // whose data key no key of the keyring opens: they stay as they are
}

// Reseal lets rewrap seal anew what was sealed for long: rewrap answers the same bytes for what needs
// no change, and an error for what does not open. What changes meanwhile is left alone. It works in
// small steps, each followed by a call of progress.
func (db *DB) Reseal(ctx context.Context, rewrap func(sealed []byte) ([]byte, error), progress func(Resealed)) error {
	key, err := db.FingerprintKey(ctx, []byte{})
	if err != nil {
		return err
	}
	if len(key) > 0 {
		fresh, err := rewrap(key)
		if err != nil {
			return err
		}
		if _, err := db.exec(ctx, `UPDATE keyring SET fingerprint_key = ? WHERE one = 1 AND fingerprint_key = ?`, fresh, key); err != nil {
			return err
		}
	}
	var done Resealed
	for after := connection.ID(""); ; {
		var rows []struct {
			ID     connection.ID `db:"connection_id"`
			Sealed []byte        `db:"sealed"`
		}
		if err := db.list(ctx, &rows, `SELECT connection_id, sealed FROM connection_credentials WHERE connection_id > ? ORDER BY connection_id LIMIT 100`, after); err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			done.Credentials++
			fresh, err := rewrap(row.Sealed)
			switch {
			case err != nil:
				done.Unopened++
			case !bytes.Equal(fresh, row.Sealed):
				n, err := db.exec(ctx, `UPDATE connection_credentials SET sealed = ? WHERE connection_id = ? AND sealed = ?`, fresh, row.ID, row.Sealed)
				if err != nil {
					return err
				}
				done.Changed += int(n)
			}
		}
		progress(done)
	}
}
