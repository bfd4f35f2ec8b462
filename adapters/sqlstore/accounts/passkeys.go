package accounts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Passkeys stores people's passkeys, and used challenges.
type Passkeys struct{ db *Store }

var _ ports.Passkeys = (*Passkeys)(nil)

//nolint:gosec // names of columns, no passwords
const passkeyColumns = `t.id, t.org_id, t.user_id, t.host, t.credential_id, t.public_key, t.sign_count, t.synced,
	t.name, t.revision, t.created_at, t.updated_at, t.last_used_at`

type passkeyRow struct {
	ID         account.PasskeyID `db:"id"`
	Org        identity.OrgID    `db:"org_id"`
	User       identity.UserID   `db:"user_id"`
	Host       string            `db:"host"`
	Credential []byte            `db:"credential_id"`
	PublicKey  []byte            `db:"public_key"`
	SignCount  uint32            `db:"sign_count"`
	Synced     bool              `db:"synced"`
	Name       string            `db:"name"`
	Revision   int64             `db:"revision"`
	CreatedAt  int64             `db:"created_at"`
	UpdatedAt  int64             `db:"updated_at"`
	LastUsedAt int64             `db:"last_used_at"`
}

func (r *passkeyRow) passkey() account.Passkey {
	return account.Passkey{
		ID: r.ID, Org: r.Org, User: r.User, Host: r.Host, Credential: r.Credential, PublicKey: r.PublicKey,
		SignCount: r.SignCount, Synced: r.Synced, Name: r.Name, Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
		LastUsedAt: db.FromMicros(r.LastUsedAt),
	}
}

// Update implements ports.Passkeys. The lock on the user makes concurrent calls wait.
func (s *Passkeys) Update(
	ctx context.Context, by identity.Actor, user identity.UserID,
	change func(*account.Person, []*account.Passkey) (*account.Passkey, error),
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		p, err := tx.lockedPerson(ctx, by.Org, user)
		if err != nil {
			return err
		}
		var rows []passkeyRow
		if err := tx.List(ctx, &rows, `SELECT `+passkeyColumns+` FROM passkeys t
			WHERE t.org_id = ? AND t.user_id = ? ORDER BY t.id`, by.Org, user); err != nil {
			return err
		}
		passkeys, previous := make([]*account.Passkey, len(rows)), make([]account.Passkey, len(rows))
		for i := range rows {
			one := rows[i].passkey()
			passkeys[i], previous[i] = &one, one
		}
		addition, err := change(p, passkeys)
		if err != nil {
			return err
		}
		for i, k := range passkeys {
			if err := tx.savePasskey(ctx, k, &previous[i]); err != nil {
				return err
			}
		}
		if addition == nil {
			return nil
		}
		return tx.addPasskey(ctx, addition)
	})
}

// savePasskey writes a passkey that changed or was removed.
func (store *Store) savePasskey(ctx context.Context, k, previous *account.Passkey) (err error) {
	switch {
	case !k.RemovedAt.IsZero():
		_, err = store.Exec(ctx, `DELETE FROM passkeys WHERE id = ? AND org_id = ?`, k.ID, k.Org)
	case k.Revision != previous.Revision || k.SignCount != previous.SignCount ||
		!k.LastUsedAt.Equal(previous.LastUsedAt):
		_, err = store.Exec(ctx, `UPDATE passkeys SET name = ?, sign_count = ?, revision = ?, updated_at = ?,
			last_used_at = ? WHERE id = ? AND org_id = ?`, k.Name, k.SignCount, k.Revision, db.Micros(k.UpdatedAt),
			db.Micros(k.LastUsedAt), k.ID, k.Org)
	}
	if err != nil {
		return err
	}
	return store.Record(ctx, k.RecordedAt(k.Revision, string(k.ID)))
}

// addPasskey returns account.ErrPasskeyExists if the org already has the credential.
func (store *Store) addPasskey(ctx context.Context, k *account.Passkey) error {
	count, err := store.Exec(ctx, `
		INSERT INTO passkeys (id, org_id, user_id, host, credential_id, public_key, sign_count, synced, name, revision,
			created_at, updated_at, last_used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (org_id, credential_id) DO NOTHING`,
		k.ID, k.Org, k.User, k.Host, k.Credential, k.PublicKey, k.SignCount, k.Synced, k.Name, k.Revision,
		db.Micros(k.CreatedAt), db.Micros(k.UpdatedAt), db.Micros(k.LastUsedAt))
	if err == nil && count == 0 {
		err = account.ErrPasskeyExists
	}
	if err != nil {
		return err
	}
	return store.Record(ctx, k.RecordedAt(k.Revision, string(k.ID)))
}

// List implements ports.Passkeys.
func (s *Passkeys) List(
	ctx context.Context, org identity.OrgID, user identity.UserID, q page.Query,
) (account.PasskeyPage, error) {
	conditions := db.NewConditions(`t.org_id = ? AND t.user_id = ?`, org, user)
	conditions.PageBounds(`t.id`, q.After, "")
	var rows []passkeyRow
	if err := s.db.List(ctx, &rows, `SELECT `+passkeyColumns+` FROM passkeys t WHERE `+conditions.SQL()+
		` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return account.PasskeyPage{}, err
	}
	passkeys := db.Convert(rows, (*passkeyRow).passkey)
	return page.Cut(passkeys, q.Limit, func(k account.Passkey) string { return string(k.ID) }), nil
}

// Find implements ports.Passkeys.
func (s *Passkeys) Find(
	ctx context.Context, org identity.OrgID, host string, credential []byte,
) (*account.Passkey, error) {
	var row passkeyRow
	found, err := s.db.forCredentials().Get(ctx, &row, `SELECT `+passkeyColumns+` FROM passkeys t
		WHERE t.org_id = ? AND t.credential_id = ? AND t.host = ?`, org, credential, host)
	if err == nil && !found {
		err = account.ErrPasskeyInvalid
	}
	if err != nil {
		return nil, err
	}
	k := row.passkey()
	return &k, nil
}

// UseChallenge implements ports.Passkeys.
func (s *Passkeys) UseChallenge(ctx context.Context, org identity.OrgID, h account.Hash, expires time.Time) error {
	count, err := s.db.Exec(ctx, `INSERT INTO passkey_challenges (hash, org_id, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (hash) DO NOTHING`, h[:], org, db.Micros(expires))
	if err == nil && count == 0 {
		err = account.ErrPasskeyInvalid
	}
	return err
}
