package accounts

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Keys stores API keys.
type Keys struct{ db *Store }

var _ ports.Keys = (*Keys)(nil)

const keyColumns = `t.id, t.org_id, t.workspace_id, t.user_id, t.service, t.name, t.ceiling, t.hint, t.expires_at,
	t.scopes, t.networks, t.last_used_at, t.last_used_by, t.revoked_at, t.suspended_at, t.created_by, t.kept_by,
	t.made_by_key, t.revision, t.created_at, t.updated_at`

type keyRow struct {
	ID         identity.KeyID       `db:"id"`
	Org        identity.OrgID       `db:"org_id"`
	Workspace  identity.WorkspaceID `db:"workspace_id"`
	User       identity.UserID      `db:"user_id"`
	Service    bool                 `db:"service"`
	Name       string               `db:"name"`
	Ceiling    identity.Role        `db:"ceiling"`
	Hint       string               `db:"hint"`
	ExpiresAt  int64                `db:"expires_at"`
	Scopes     identity.Scopes      `db:"scopes"`
	Networks   identity.Networks    `db:"networks"`
	LastUsedAt int64                `db:"last_used_at"`
	LastUsedBy string               `db:"last_used_by"`
	RevokedAt  int64                `db:"revoked_at"`
	Suspended  int64                `db:"suspended_at"`
	CreatedBy  identity.UserID      `db:"created_by"`
	KeptBy     identity.UserID      `db:"kept_by"`
	MadeBy     identity.KeyID       `db:"made_by_key"`
	Revision   int64                `db:"revision"`
	CreatedAt  int64                `db:"created_at"`
	UpdatedAt  int64                `db:"updated_at"`
}

func (r *keyRow) key() account.Key {
	return account.Key{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, User: r.User, Service: r.Service, Name: r.Name,
		Ceiling: r.Ceiling, Scopes: r.Scopes, Networks: r.Networks, Hint: r.Hint, LastUsedBy: r.LastUsedBy,
		ExpiresAt: db.FromMicros(r.ExpiresAt), LastUsedAt: db.FromMicros(r.LastUsedAt),
		RevokedAt:   db.FromMicros(r.RevokedAt),
		SuspendedAt: db.FromMicros(r.Suspended),
		CreatedBy:   r.CreatedBy, KeptBy: r.KeptBy, MadeBy: r.MadeBy, Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
}

// Add implements ports.Keys.
func (s *Keys) Add(ctx context.Context, by identity.Actor, user identity.UserID,
	change func(*account.Workspace) (*account.User, *account.Key, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		w, err := tx.keyring(ctx, by, user)
		if err != nil {
			return err
		}
		bearer, k, err := change(w)
		if err != nil {
			return err
		}
		if bearer != nil {
			if err := tx.addUser(ctx, bearer); err != nil {
				return err
			}
			if err := tx.saveMember(ctx, w, w.Members[bearer.ID]); err != nil {
				return err
			}
		}
		return tx.addKey(ctx, k)
	})
}

// keyring reads by's workspace, in which a key of user is about to change, and counts its keys. The
// lock comes before that of any key, as where a member is removed.
func (store *Store) keyring(ctx context.Context, by identity.Actor, user identity.UserID) (*account.Workspace, error) {
	w, err := store.LockedWorkspace(ctx, by.Org, by.Workspace, by.User, user)
	if err != nil {
		return nil, err
	}
	var live struct {
		User     int `db:"of_user"`
		Programs int `db:"of_programs"`
		Maker    int `db:"maker"`
	}
	_, err = store.Get(ctx, &live, `
		SELECT COUNT(CASE WHEN user_id = ? THEN 1 END) AS of_user, COUNT(CASE WHEN service THEN 1 END) AS of_programs,
		COUNT(CASE WHEN id = ? AND suspended_at = 0 THEN 1 END) AS maker
		FROM api_keys WHERE workspace_id = ? AND revoked_at = 0 AND (expires_at = 0
		OR expires_at > ?)`, user, by.Key, w.ID, db.Micros(by.At))
	w.Live = account.LiveKeys{User: live.User, Programs: live.Programs, Maker: live.Maker > 0}
	return w, err
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

// Get implements ports.Keys.
func (s *Keys) Get(ctx context.Context, ws identity.WorkspaceID, id identity.KeyID) (*account.Key, error) {
	return s.db.key(ctx, ws, id, "")
}

// List implements ports.Keys.
func (s *Keys) List(ctx context.Context, ws identity.WorkspaceID, user identity.UserID, now time.Time,
	q page.Query) (account.KeyPage, error) {
	conditions := db.NewConditions(`t.workspace_id = ? AND t.revoked_at = 0`, ws)
	conditions.When(user != "", `t.user_id = ?`, user)
	conditions.PageBounds(`t.id`, q.After, "")
	floor, err := s.db.PageFloor(ctx, s.db.Scans.Keys, db.Branch{From: `api_keys t`, ID: `t.id`, Where: conditions})
	if err != nil {
		return account.KeyPage{}, err
	}
	conditions.PageBounds(`t.id`, "", floor)
	// there may be many that have ended
	conditions.When(true, `(t.expires_at = 0 OR t.expires_at > ?)`, db.Micros(now))
	var rows []keyRow
	if err := s.db.List(ctx, &rows, `SELECT `+keyColumns+` FROM api_keys t WHERE `+conditions.SQL()+
		` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return account.KeyPage{}, err
	}
	keys := make([]account.Key, len(rows))
	for i := range rows {
		keys[i] = rows[i].key()
	}
	return db.ContinueAt(page.Cut(keys, q.Limit, func(k account.Key) string { return string(k.ID) }), floor), nil
}

// Update implements ports.Keys.
func (s *Keys) Update(ctx context.Context, by identity.Actor, id identity.KeyID,
	change func(*account.Workspace, *account.Key, []*account.Key) error) (*account.Key, error) {
	var key *account.Key
	err := s.db.inTx(ctx, func(tx *Store) error {
		w, k, err := tx.lockedKey(ctx, by, id)
		if err != nil {
			return err
		}
		children, err := tx.keysMadeBy(ctx, w.ID, `r.made_by_key = ? AND r.kept_by = ''`, id)
		if err != nil {
			return err
		}
		if err := change(w, k, children); err != nil {
			return err
		}
		key = k
		for _, k := range append(children, k) {
			if err := tx.saveKey(ctx, k); err != nil {
				return err
			}
		}
		return nil
	})
	return key, err
}

// Rotate implements ports.Keys.
func (s *Keys) Rotate(ctx context.Context, by identity.Actor, id identity.KeyID,
	change func(*account.Workspace, *account.Key) (*account.Key, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		w, k, err := tx.lockedKey(ctx, by, id)
		if err != nil {
			return err
		}
		next, err := change(w, k)
		if err != nil {
			return err
		}
		if err := tx.saveKey(ctx, k); err != nil {
			return err
		}
		return tx.addKey(ctx, next)
	})
}

// lockedKey reads a key of by's workspace that is about to change, with that.
func (store *Store) lockedKey(
	ctx context.Context, by identity.Actor, id identity.KeyID,
) (*account.Workspace, *account.Key, error) {
	k, err := store.key(ctx, by.Workspace, id, "") // its user never changes
	if err != nil {
		return nil, nil, err
	}
	w, err := store.keyring(ctx, by, k.User)
	if err != nil {
		return nil, nil, err
	}
	k, err = store.key(ctx, by.Workspace, id, store.Dialect.Lock)
	return w, k, err
}

// keysMadeBy reads the keys r of a workspace that meet a condition, and the keys that were created with them, directly
// or indirectly, unless they are revoked or an admin has kept them.
func (store *Store) keysMadeBy(
	ctx context.Context, ws identity.WorkspaceID, fit string, args ...any,
) ([]*account.Key, error) {
	var rows []keyRow
	if err := store.List(ctx, &rows, `
		WITH RECURSIVE made (id) AS (
			SELECT r.id FROM api_keys r WHERE r.workspace_id = ? AND `+fit+`
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

// saveKey writes a key that recorded anything. An answer that showed the token is erased: the key
// has ended, or another one takes its place.
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

// Holder implements ports.Keys.
func (s *Keys) Holder(
	ctx context.Context, h account.Hash,
) (identity.OrgID, identity.WorkspaceID, identity.KeyID, error) {
	var row keyRow
	found, err := s.db.Get(ctx, &row, `SELECT id, org_id, workspace_id FROM api_keys WHERE hash = ?`, h[:])
	if err == nil && !found {
		err = account.ErrKeyNotFound
	}
	return row.Org, row.Workspace, row.ID, err
}

// Used implements ports.Keys. The cache of callers stays, with the new times, since the use of a key does not change
// what it proves.
func (s *Keys) Used(ctx context.Context, org identity.OrgID, uses map[identity.KeyID]account.KeyUse) error {
	err := recordUses(ctx, s.db, uses, func(id identity.KeyID, use account.KeyUse) (string, []any) {
		return `UPDATE api_keys SET last_used_at = ?, last_used_by = ? WHERE id = ? AND org_id = ?
			AND last_used_at < ?`,
			[]any{db.Micros(use.At), use.Address, id, org, db.Micros(use.At.Add(-time.Minute))}
	})
	if err != nil || len(uses) == 0 {
		return err
	}
	s.db.Principals.Replace(func(p *account.Principal) (*account.Principal, bool) {
		use, exists := uses[p.Key.ID]
		if exists {
			p = new(*p)
			p.Key.LastUsedAt = use.At
		}
		return p, exists
	})
	s.db.Sessions.Replace(func(p *account.SessionPerson) (*account.SessionPerson, bool) {
		use, exists := uses[p.Key.ID]
		if exists {
			p = new(*p)
			p.Key.LastUsedAt = use.At
		}
		return p, exists
	})
	return nil
}

// recordUses runs the update of each credential that was used, at most db.UsesAtOnce in a transaction.
func recordUses[ID ~string, Use any](
	ctx context.Context, store *Store, uses map[ID]Use, update func(ID, Use) (string, []any),
) error {
	ids := slices.Sorted(maps.Keys(uses)) // in the same order on all nodes, to prevent deadlocks
	for batch := range slices.Chunk(ids, db.UsesAtOnce) {
		err := store.inTx(ctx, func(tx *Store) error {
			for _, id := range batch {
				statement, args := update(id, uses[id])
				if _, err := tx.Exec(ctx, statement, args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
