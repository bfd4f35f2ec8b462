package accounts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
)

// erasedSignInsKept is the time for which tokens from before an erasure are refused: longer than tokens are valid.
const erasedSignInsKept = 90 * 24 * time.Hour

// signInDigest returns the sign-in's keyed hash, or nil without a key, which only tests lack.
func (store *Store) signInDigest(org identity.OrgID, issuer, subject string) []byte {
	d := store.Digester()
	if d == nil {
		return nil
	}
	sum := d("erased sign-in", []byte(org), []byte(issuer), []byte(subject))
	return sum[:]
}

// NoteErasedSignIns stores hashes of the person's sign-ins before these are removed.
func (store *Store) NoteErasedSignIns(ctx context.Context, person *db.ErasedPerson, now time.Time) error {
	var rows []struct {
		Issuer  string `db:"issuer"`
		Subject string `db:"subject"`
	}
	if err := store.List(ctx, &rows, `SELECT issuer, subject FROM sign_ins WHERE org_id = ? AND user_id = ?`,
		person.Org, person.User); err != nil {
		return err
	}
	for _, r := range rows {
		digest := store.signInDigest(person.Org, r.Issuer, r.Subject)
		if digest == nil {
			continue
		}
		if _, err := store.Exec(ctx, `INSERT INTO erased_sign_ins (org_id, digest, erased_at) VALUES (?, ?, ?)
			ON CONFLICT (org_id, digest) DO UPDATE SET erased_at = excluded.erased_at`,
			person.Org, digest, db.Micros(now)); err != nil {
			return err
		}
	}
	return nil
}

// erasedSignIn returns the time at which a sign-in's person was erased, or zero if unknown.
func (store *Store) erasedSignIn(ctx context.Context, org identity.OrgID, issuer, subject string) (time.Time, error) {
	digest := store.signInDigest(org, issuer, subject)
	if digest == nil {
		return time.Time{}, nil
	}
	var micros int64
	_, err := store.Get(ctx, &micros, `SELECT erased_at FROM erased_sign_ins WHERE org_id = ? AND digest = ?`, org,
		digest)
	return db.FromMicros(micros), err
}
