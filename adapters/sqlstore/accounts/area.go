package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/ports"
)

// Area returns what people, their workspaces and credentials add to what concerns all areas. The stores queue jobs by
// enqueue.
func Area(enqueue db.Enqueue) db.Area {
	a := area
	a.AddStores = func(s *ports.Stores, d *db.DB) { addStores(s, NewStore(d, enqueue)) }
	a.Sweep = func(ctx context.Context, d *db.DB, now time.Time, _ time.Duration) error {
		return errors.Join(
			NewStore(d, enqueue).sweepSessions(ctx, now), // before they are removed
			d.InBatches(ctx, `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at < ? LIMIT ?)`,
				db.Micros(now)),
			d.InBatches(ctx, `DELETE FROM key_requests WHERE (key_id, day) IN (SELECT key_id, day FROM key_requests
				WHERE day <= ? LIMIT ?)`, account.DayOf(now)-account.RequestDays))
	}
	return a
}

// area has the tables of accounts.
var area = db.Area{
	Name: "accounts",
	Tables: []db.Table{
		{Name: "captured_members", Key: "workspace_id, user_id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "invitations", Key: "id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "invitation_links", Key: "hash", Of: "invitations", Owner: "invitation_id"},
		{Name: "group_people", Key: "group_id, user_id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "key_requests", Key: "key_id, day", Of: "api_keys", Owner: "key_id"},
	},
	Expiries: []db.Expiry{
		{Table: "invitation_mails", Key: "scope", Condition: "last_at < ?", Kept: mailsKept},
		{Table: "stream_tickets", Key: "hash", Condition: "expires_at < ?"},
		{Table: "sign_in_links", Key: "hash", Condition: "expires_at < ?"},
		{Table: "logout_tokens", Key: "org_id, hash", Condition: "expires_at < ?"},
		{Table: "passkey_challenges", Key: "hash", Condition: "expires_at < ?"},
		{Table: "erased_sign_ins", Key: "org_id, digest", Condition: "erased_at < ?", Kept: erasedSignInsKept},
		{Table: "stream_resumptions", Key: "hash", Condition: "expires_at < ?"},
		{Table: "api_keys", Key: "id", Condition: "revoked_at > 0 AND revoked_at < ? AND " + madeNoKey,
			Kept: endedKeysKept},
		{Table: "api_keys", Key: "id", Condition: "expires_at > 0 AND expires_at < ? AND " + madeNoKey,
			Kept: endedKeysKept},
		{Table: "invitations", Key: "id", Condition: "expires_at < ?", Kept: db.InvitationsKept},
		{Table: "scim_requests", Key: "id", Condition: "created_at < ?", Kept: account.DirectoryRequestsKept},
	},
	Exports: []db.Section{
		{Name: "account", Users: 1,
			Query: `SELECT id, email, email_verified, email_verified_by, name, operator, disabled_at, erased_at,
				default_workspace_id, created_at, updated_at FROM users WHERE org_id = ? AND id = ?`},
		{Name: "sign_ins", Users: 1,
			Query: `SELECT issuer, subject, issued_at, created_at FROM sign_ins WHERE org_id = ? AND user_id = ?
				ORDER BY created_at DESC`},
		{Name: "memberships", Users: 1,
			Query: `SELECT m.workspace_id, w.slug, w.name, m.role, m.created_at, m.updated_at FROM memberships m
				JOIN workspaces w ON w.id = m.workspace_id WHERE w.org_id = ? AND m.user_id = ?
				ORDER BY m.workspace_id DESC`},
		{Name: "groups", Users: 1,
			Query: `SELECT g.id, g.workspace_id, g.name, p.created_at FROM group_people p
				JOIN user_groups g ON g.id = p.group_id WHERE g.org_id = ? AND p.user_id = ? ORDER BY g.id DESC`},
		{Name: "invitations", Users: 1,
			Query: `SELECT i.id, i.workspace_id, i.email, i.role, i.invited_by, i.created_at, i.expires_at
				FROM invitations i JOIN users u ON u.org_id = i.org_id AND u.email_key = i.email_key
				AND u.email_key <> ''
				WHERE i.org_id = ? AND u.id = ? ORDER BY i.id DESC`},
		{Name: "sessions", Users: 1,
			Query: `SELECT id, source, agent, address, created_at, last_seen_at, expires_at, ended_at FROM sessions
				WHERE org_id = ? AND user_id = ? ORDER BY id DESC`},
		{Name: "api_keys", Users: 3,
			Query: `SELECT id, workspace_id, service, name, hint, created_at, last_used_at, last_used_by, expires_at,
				revoked_at
				FROM api_keys WHERE org_id = ? AND (user_id = ? OR created_by = ? OR kept_by = ?) ORDER BY id DESC`},
		{Name: "directory_requests", Users: 1,
			Query: `SELECT id, method, attributes, status, code, detail, created_at FROM scim_requests
				WHERE org_id = ? AND subject = ? ORDER BY id DESC`},
		{Name: "passkeys", Users: 1,
			Query: `SELECT id, host, name, created_at, last_used_at FROM passkeys WHERE org_id = ? AND user_id = ?
				ORDER BY id DESC`},
	},
	Erasures: []db.Erasure{
		{Query: `DELETE FROM stream_tickets WHERE org_id = ? AND (key_hash IN (SELECT hash FROM api_keys WHERE user_id = ?)
			OR session_hash IN (SELECT cookie_hash FROM sessions WHERE user_id = ?)
			OR EXISTS (SELECT 1 FROM sign_ins i WHERE i.org_id = stream_tickets.org_id
				AND i.issuer = stream_tickets.issuer
				AND i.subject = stream_tickets.subject AND i.user_id = ?))`, Args: orgThrice, Count: others},
		{Query: `DELETE FROM stream_resumptions WHERE org_id = ?
			AND (key_hash IN (SELECT hash FROM api_keys WHERE user_id = ?)
			OR session_hash IN (SELECT cookie_hash FROM sessions WHERE user_id = ?)
			OR EXISTS (SELECT 1 FROM sign_ins i WHERE i.org_id = stream_resumptions.org_id
				AND i.issuer = stream_resumptions.issuer AND i.subject = stream_resumptions.subject AND i.user_id = ?))`,
			Args: orgThrice, Count: others},
		{Query: `DELETE FROM sessions WHERE org_id = ? AND user_id = ?`, Args: (*db.ErasedPerson).ByUser,
			Count: func(r *account.ErasureReport) *int { return &r.Sessions }},
		{Query: `DELETE FROM passkeys WHERE org_id = ? AND user_id = ?`, Args: (*db.ErasedPerson).ByUser, Count: others},
		{Query: `DELETE FROM sign_in_links WHERE org_id = ? AND user_id = ?`, Args: (*db.ErasedPerson).ByUser,
			Count: others},
		{Query: `DELETE FROM scim_users WHERE org_id = ? AND user_id = ?`, Args: (*db.ErasedPerson).ByUser, Count: others},
		{Query: `DELETE FROM scim_requests WHERE org_id = ? AND subject = ?`, Args: (*db.ErasedPerson).ByUser,
			Count: others},
		{Query: `DELETE FROM sign_ins WHERE org_id = ? AND user_id = ?`, Args: (*db.ErasedPerson).ByUser,
			Count: func(r *account.ErasureReport) *int { return &r.SignIns }},
		{Query: `DELETE FROM invitations WHERE org_id = ? AND email_key = ?`, Args: (*db.ErasedPerson).ByEmail,
			Count: func(r *account.ErasureReport) *int { return &r.Invitations }},
		{Query: `DELETE FROM invitation_mails WHERE scope IN (?, ?, ?, ?)`, Args: erasedScopes, Count: others},
		{Query: `UPDATE api_keys SET name = 'Erased', last_used_by = '' WHERE org_id = ? AND user_id = ?`,
			Args: (*db.ErasedPerson).ByUser},
	},
}

func others(r *account.ErasureReport) *int { return &r.Others }

func orgThrice(p *db.ErasedPerson) []any { return []any{p.Org, p.User, p.User, p.User} }

func erasedScopes(p *db.ErasedPerson) []any {
	return []any{userScope(p.Org, p.User), addressScope(p.Org, p.Email), linkScope(p.Org, p.Email),
		noticeScope(p.Org, p.User)}
}

// addStores adds the stores of accounts except ports.Erasures, which concerns all areas.
func addStores(s *ports.Stores, store *Store) {
	s.AccountStores = ports.AccountStores{
		Users: &Users{store}, LinkedSignIns: &Users{store}, People: &People{store}, Workspaces: &Workspaces{store},
		Invitations: &Invitations{store}, Captures: &Captures{store}, Groups: &Groups{store},
		Keys: &Keys{store}, KeyRequests: &KeyRequests{store}, SecurityNotices: &SecurityNotices{store},
	}
	s.SessionStores = ports.SessionStores{
		Sessions: &Sessions{store}, ProviderSessions: &ProviderSessions{store}, Passkeys: &Passkeys{store},
		Tickets: &Tickets{store},
	}
	s.DirectoryStores = ports.DirectoryStores{
		DirectoryUsers: &DirectoryUsers{store}, DirectoryGroups: &DirectoryGroups{store},
		DirectoryRequests: &DirectoryRequests{store},
	}
}

// PeopleTables have the workspace's rows that are removed after its programs, which are found by them.
var PeopleTables = []db.Table{
	{Name: "api_keys", Key: "id", Of: "workspaces", Owner: "workspace_id"},
	{Name: "user_groups", Key: "id", Of: "workspaces", Owner: "workspace_id"},
	{Name: "memberships", Key: "workspace_id, user_id", Of: "workspaces", Owner: "workspace_id"},
}

// endedKeysKept is the time for which an expired or revoked API key is kept, so that its owner can see when it was
// used.
const endedKeysKept = 90 * 24 * time.Hour

// madeNoKey excludes keys that created others: a key stops working with the key that created it, directly or
// indirectly, so no link of the chain may be missing.
const madeNoKey = `NOT EXISTS (SELECT 1 FROM api_keys made
	WHERE made.made_by_key <> '' AND made.made_by_key = api_keys.id)`
