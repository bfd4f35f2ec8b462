package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

// LoadPowers reads the keys and endpoints in w that act for users without them.
func (store *Store) LoadPowers(ctx context.Context, w *account.Workspace, users ...identity.UserID) (err error) {
	w.Powers = map[identity.UserID]account.Powers{}
	for _, user := range users {
		if user == "" { // keys that the system created depend on no membership
			continue
		}
		if w.Powers[user], err = store.powers(ctx, w.ID, user); err != nil {
			return err
		}
	}
	return nil
}

// loadOwningPrograms reads the memberships of the programs among w.Powers that are owners: a transfer lowers the roles
// of kept programs.
func (store *Store) loadOwningPrograms(ctx context.Context, w *account.Workspace) error {
	var programs []identity.UserID
	for _, p := range w.Powers {
		for _, k := range p.Keys {
			if _, isLoaded := w.Members[k.User]; k.Service && k.Ceiling == identity.Owner && !isLoaded {
				programs = append(programs, k.User)
			}
		}
	}
	if len(programs) == 0 {
		return nil
	}
	slices.Sort(programs)
	return store.loadMembers(ctx, w, slices.Compact(programs)...)
}

// powers reads a user's keys and endpoints in a workspace, including those of programs that the user is responsible
// for.
func (store *Store) powers(
	ctx context.Context, ws identity.WorkspaceID, user identity.UserID,
) (p account.Powers, err error) {
	if p.Keys, err = store.keysOf(ctx, ws, user); err != nil {
		return p, err
	}
	var rows []struct {
		Kind  account.EndpointKind `db:"kind"`
		ID    string               `db:"id"`
		Owner identity.UserID      `db:"owner"`
	}
	err = store.List(ctx, &rows, `
		WITH RECURSIVE made (id, user_id) AS (
			SELECT r.id, r.user_id FROM api_keys r WHERE r.workspace_id = ? AND `+responsible+` = ? AND r.service
			UNION SELECT c.id, c.user_id FROM api_keys c JOIN made ON c.made_by_key = made.id
			WHERE c.made_by_key <> '' AND c.kept_by = ''
		), endpoints AS (
			SELECT 'webhook' AS kind, w.id, COALESCE(NULLIF(w.owner_id, ''), w.created_by) AS owner FROM webhooks w
			WHERE w.workspace_id = ? AND NOT w.ownerless
			UNION ALL SELECT 'reply_endpoint', c.id, COALESCE(NULLIF(c.owner_id, ''), c.created_by) FROM connections c
			WHERE c.workspace_id = ? AND NOT c.ownerless AND c.revoked_at = 0 AND c.kind IN (?, ?)
		) SELECT kind, id, owner FROM endpoints WHERE owner = ? OR owner IN (SELECT user_id FROM made) ORDER BY id`,
		ws, user, ws, ws, connection.ReplyEndpoint, connection.OpenAICompatible, user)
	for _, r := range rows {
		p.Endpoints = append(p.Endpoints, &account.Endpoint{Kind: r.Kind, ID: r.ID, Owner: r.Owner})
	}
	return p, err
}

// savePowers writes the keys and endpoints that changed since LoadPowers.
func (store *Store) savePowers(ctx context.Context, powers ...account.Powers) error {
	for _, p := range powers {
		for _, k := range p.Keys {
			if err := store.saveKey(ctx, k); err != nil {
				return err
			}
		}
		for _, e := range p.Endpoints {
			if e.LostAt.IsZero() {
				continue
			}
			table := map[account.EndpointKind]string{account.Webhook: "webhooks", account.ReplyEndpoint: "connections"}
			if _, err := store.Exec(ctx, `UPDATE `+table[e.Kind]+` SET ownerless = TRUE, revision = revision + 1,
				updated_at = ? WHERE id = ?`, db.Micros(e.LostAt), e.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// makersAmong returns the users who have keys of programs or endpoints in a workspace: of a group's many people, few
// have any.
func (store *Store) makersAmong(
	ctx context.Context, ws identity.WorkspaceID, users map[identity.UserID]account.Member,
) ([]identity.UserID, error) {
	var makers []identity.UserID
	if err := store.List(ctx, &makers, `
		SELECT `+responsible+` FROM api_keys r WHERE r.workspace_id = ? AND r.service
		UNION SELECT COALESCE(NULLIF(owner_id, ''), created_by) FROM webhooks WHERE workspace_id = ? AND NOT ownerless
		UNION SELECT COALESCE(NULLIF(owner_id, ''), created_by) FROM connections
		WHERE workspace_id = ? AND NOT ownerless AND revoked_at = 0 AND kind IN (?, ?) ORDER BY 1`,
		ws, ws, ws, connection.ReplyEndpoint, connection.OpenAICompatible); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(makers, func(id identity.UserID) bool { return users[id].Role == identity.NoRole }), nil
}

// KeysAbove returns the ids of live service keys with a higher role than the person who is responsible for them has: at
// most limit, oldest first, and the number of all. Since release 0.3.0, keys lose a role with that person.
func (store *Store) KeysAbove(
	ctx context.Context, now time.Time, limit int,
) (ids []identity.KeyID, count int, err error) {
	const above = `FROM api_keys r JOIN workspaces w ON w.id = r.workspace_id AND w.deleted_at = 0
		JOIN users u ON u.id = ` + responsible + ` AND NOT u.service
		LEFT JOIN memberships own ON own.workspace_id = r.workspace_id AND own.user_id = u.id
		JOIN memberships p ON p.workspace_id = r.workspace_id AND p.user_id = r.user_id
		WHERE r.service AND r.revoked_at = 0 AND (r.expires_at = 0 OR r.expires_at > ?)
		AND COALESCE(own.role, 0) < r.ceiling AND COALESCE(own.role, 0) < p.role`
	if _, err := store.Get(ctx, &count, `SELECT COUNT(*) `+above, db.Micros(now)); err != nil || count == 0 {
		return nil, 0, err
	}
	err = store.List(ctx, &ids, `SELECT r.id `+above+` ORDER BY r.id LIMIT ?`, db.Micros(now), limit)
	return ids, count, err
}
