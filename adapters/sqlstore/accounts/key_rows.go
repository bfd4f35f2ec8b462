package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

func (store *Store) key(ctx context.Context, ws identity.WorkspaceID, id identity.KeyID, lock string) (*account.Key,
	error) {
	var row keyRow
	found, err := store.Get(ctx, &row, `SELECT `+keyColumns+` FROM api_keys t WHERE t.id = ? AND t.workspace_id = ?`+lock,
		id, ws)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, account.ErrKeyNotFound
	}
	k := row.key()
	return &k, nil
}

// responsible is account.Key.Responsible of the key r.
const responsible = `COALESCE(NULLIF(r.kept_by, ''), r.created_by)`

// keysMadeWith returns the keys that were created with a key, directly or indirectly, unless they are revoked or an
// admin has kept them.
func (store *Store) keysMadeWith(
	ctx context.Context, ws identity.WorkspaceID, id identity.KeyID,
) ([]*account.Key, error) {
	return store.keysFrom(ctx, ws, `r.made_by_key = ? AND r.kept_by = ''`, id)
}

// keysOf returns the keys of a user, the service keys that the user is responsible for, and what keysMadeWith returns
// for each of them.
func (store *Store) keysOf(ctx context.Context, ws identity.WorkspaceID, user identity.UserID) ([]*account.Key, error) {
	return store.keysFrom(ctx, ws, `(r.user_id = ? OR `+responsible+` = ? AND r.service)`, user, user)
}

// keysFrom returns the keys r that meet a condition, and the keys that were created with them.
func (store *Store) keysFrom(
	ctx context.Context, ws identity.WorkspaceID, condition string, args ...any,
) ([]*account.Key, error) {
	var rows []keyRow
	if err := store.List(ctx, &rows, `
		WITH RECURSIVE made (id) AS (
			SELECT r.id FROM api_keys r WHERE r.workspace_id = ? AND `+condition+`
			UNION SELECT c.id FROM api_keys c JOIN made ON c.made_by_key = made.id
			WHERE c.made_by_key <> '' AND c.kept_by = ''
		) SELECT `+keyColumns+` FROM api_keys t WHERE t.id IN (SELECT id FROM made) AND t.revoked_at = 0
		ORDER BY t.id`+store.Dialect.Lock, append([]any{ws}, args...)...); err != nil {
		return nil, err
	}
	keys := make([]*account.Key, len(rows))
	for i := range rows {
		k := rows[i].key()
		keys[i] = &k
	}
	return keys, nil
}

func (store *Store) addKey(ctx context.Context, k *account.Key) error {
	if _, err := store.Exec(ctx, `
		INSERT INTO api_keys (id, org_id, workspace_id, user_id, service, name, ceiling, hash, hint, expires_at,
		scopes, networks, last_used_at, revoked_at, created_by, made_by_key, revision, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?)`,
		k.ID, k.Org, k.Workspace, k.User, k.Service, k.Name, k.Ceiling, k.Hash[:], k.Hint, db.Micros(k.ExpiresAt),
		k.Scopes, k.Networks, k.CreatedBy, k.MadeBy, k.Revision, db.Micros(k.CreatedAt),
		db.Micros(k.UpdatedAt)); err != nil {
		return err
	}
	return store.Record(ctx, k.RecordedAt(k.Revision, string(k.ID)))
}

// saveKey writes a key that recorded an event. A stored response that showed the token is erased: the key stopped
// working, or another one replaces it.
func (store *Store) saveKey(ctx context.Context, k *account.Key) error {
	if len(k.Recorded()) == 0 {
		return nil
	}
	if _, err := store.Exec(ctx, `UPDATE api_keys SET expires_at = ?, revoked_at = ?, suspended_at = ?, kept_by = ?,
		revision = ?, updated_at = ? WHERE id = ? AND workspace_id = ?`,
		db.Micros(k.ExpiresAt), db.Micros(k.RevokedAt), db.Micros(k.SuspendedAt), k.KeptBy, k.Revision,
		db.Micros(k.UpdatedAt),
		k.ID, k.Workspace); err != nil {
		return err
	}
	if err := store.EraseAnswers(ctx, k.Org, string(k.ID)); err != nil {
		return err
	}
	store.Forget()
	return store.Record(ctx, k.RecordedAt(k.Revision, string(k.ID)))
}
