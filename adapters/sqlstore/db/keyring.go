package db

import (
	"context"
	"time"
)

// KeyringCheck returns the value that the keyring must be able to open, after storing fresh if there
// is none yet.
func (db *DB) KeyringCheck(ctx context.Context, fresh []byte) (check []byte, err error) {
	const stored = `SELECT check_value FROM keyring WHERE one = 1`
	if found, err := db.Get(ctx, &check, stored); found || err != nil {
		return check, err // every start but the first one, which need not write
	}
	if _, err := db.Exec(ctx, `INSERT INTO keyring (one, check_value) VALUES (1, ?) ON CONFLICT (one) DO NOTHING`,
		fresh); err != nil {
		return nil, err
	}
	_, err = db.Get(ctx, &check, stored)
	return check, err
}

// DerivedSince returns the time from which data is sealed under derived keys. Until then nodes of v0.1.0 may run on
// this database. It returns the zero time if there never was one. Idempotency uses the result from now on.
func (db *DB) DerivedSince(ctx context.Context) (time.Time, error) {
	var micros int64
	if _, err := db.Get(ctx, &micros, `SELECT derived_at FROM keyring WHERE one = 1`); err != nil {
		return time.Time{}, err
	}
	start := FromMicros(micros)
	if micros != 0 {
		db.derivedSince.Store(&start)
	}
	return start, nil
}

// DerivedFrom returns the last result of DerivedSince; nil if data has always been sealed under derived keys.
func (db *DB) DerivedFrom() *time.Time { return db.derivedSince.Load() }
