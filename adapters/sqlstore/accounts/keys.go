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
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// Keys stores API keys.
type Keys struct{ db *Store }

var _ ports.Keys = (*Keys)(nil)

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
			if err := tx.saveMembers(ctx, w, w.Members[bearer.ID]); err != nil {
				return err
			}
		}
		return tx.addKey(ctx, k)
	})
}

// keyring returns by's workspace, in which one of the user's keys is about to change, and counts its keys. The
// workspace is locked before any key, as when a member is removed.
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
	// there may be many expired ones
	conditions.When(true, `(t.expires_at = 0 OR t.expires_at > ?)`, db.Micros(now))
	var rows []keyRow
	if err := s.db.List(ctx, &rows, `SELECT `+keyColumns+` FROM api_keys t WHERE `+conditions.SQL()+
		` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return account.KeyPage{}, err
	}
	keys := db.Convert(rows, (*keyRow).key)
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
		children, err := tx.keysMadeWith(ctx, w.ID, id)
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

// lockedKey returns by's workspace and one of its keys, which is about to change.
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

// Used implements ports.Keys. Cached callers stay, with the new times, since using a key does not change what it
// proves.
func (s *Keys) Used(ctx context.Context, org identity.OrgID, uses map[identity.KeyID]account.KeyUse) error {
	err := recordUses(ctx, s.db, uses, `
		WITH used (id, org_id, at, address) AS (
			VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT))`, `),
		due AS (
			SELECT u.* FROM used u JOIN api_keys t ON t.id = u.id AND t.org_id = u.org_id
			WHERE t.last_used_at < u.at - 60000000 ORDER BY t.id`+s.db.Dialect.Lock+`)
		UPDATE api_keys SET last_used_at = due.at, last_used_by = due.address FROM due WHERE api_keys.id = due.id`,
		func(id identity.KeyID, use account.KeyUse) []any {
			return []any{id, org, db.Micros(use.At), use.Address}
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
	s.db.Sessions.Replace(func(p *session.Person) (*session.Person, bool) {
		use, exists := uses[p.Key.ID]
		if exists {
			p = new(*p)
			p.Key.LastUsedAt = use.At
		}
		return p, exists
	})
	return nil
}

// recordUses writes the rows of used credentials, at most db.UsesAtOnce in a transaction. begin and end are those of
// DB.WriteRows.
func recordUses[ID ~string, Use any](
	ctx context.Context, store *Store, uses map[ID]Use, begin, end string, row func(ID, Use) []any,
) error {
	ids := slices.Sorted(maps.Keys(uses)) // in the same order on all nodes, to prevent deadlocks
	for batch := range slices.Chunk(ids, db.UsesAtOnce) {
		rows := make([][]any, len(batch))
		for i, id := range batch {
			rows[i] = row(id, uses[id])
		}
		err := store.inTx(ctx, func(tx *Store) error { return tx.WriteRows(ctx, begin, end, rows) })
		if err != nil {
			return err
		}
	}
	return nil
}
