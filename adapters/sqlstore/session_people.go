package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// sessionPersonRow is a session with its user and one of the user's memberships. Without a membership, or without a
// key, their columns are empty. What the key has in common with the session is not read twice.
type sessionPersonRow struct {
	Session   sessionRow    `db:"s"`
	User      userRow       `db:"u"`
	Key       keyRow        `db:"k"`
	Workspace workspaceRow  `db:"w"`
	Role      identity.Role `db:"role"`
	ByHand    identity.Role `db:"by_hand"`
	Grouped   bool          `db:"grouped"`
}

var sessionPersonColumns = columns(`s.% AS "s.%"`, sessionNames) + `, ` + columns(`u.% AS "u.%"`, userNames) + `, ` +
	columns(`COALESCE(k.%, '') AS "k.%"`, []string{"id", "scopes", "networks"}) + `, ` +
	columns(`COALESCE(k.%, 0) AS "k.%"`, []string{"ceiling", "expires_at", "last_used_at", "revoked_at"}) + `,
	COALESCE(k.service, FALSE) AS "k.service", ` +
	columns(`COALESCE(w.%, '') AS "w.%"`, []string{"id", "slug", "name", "created_by"}) + `, ` +
	columns(`COALESCE(w.%, 0) AS "w.%"`, []string{"revision", "created_at", "updated_at"}) + `,
	COALESCE(m.role, 0) AS role, COALESCE(m.by_hand, 0) AS by_hand,
	COALESCE(m.grouped, FALSE) AS grouped
	FROM sessions s JOIN users u ON u.id = s.user_id LEFT JOIN api_keys k ON k.id = NULLIF(s.key_id, '') `

const (
	sessionWorkspaces = `LEFT JOIN workspaces w ON w.id = m.workspace_id AND w.org_id = s.org_id AND w.deleted_at = 0 `

	ofSessionKey = `LEFT JOIN memberships m ON m.user_id = s.user_id AND m.workspace_id = s.workspace_id ` +
		sessionWorkspaces
	ofSessionUser = `LEFT JOIN memberships m ON m.user_id = s.user_id ` + sessionWorkspaces
)

// Person implements ports.Sessions. It runs one statement, as Keys.Principal does.
func (s *Sessions) Person(
	ctx context.Context, org identity.OrgID, cookie account.Hash,
) (*account.SessionPerson, error) {
	read := func() (*account.SessionPerson, error) { return s.db.sessionPerson(ctx, org, cookie) }
	if s.db.tx != nil {
		return read()
	}
	return s.db.sessions.get(ctx, principalKey{org: org, hash: cookie}, read)
}

func (db *DB) sessionPerson(
	ctx context.Context, org identity.OrgID, cookie account.Hash,
) (*account.SessionPerson, error) {
	var rows []sessionPersonRow
	if err := db.forCredentials().list(ctx, &rows, `SELECT `+sessionPersonColumns+ofSessionUser+
		`WHERE s.cookie_hash = ? AND s.org_id = ?`, cookie[:], org); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, identity.ErrUnauthenticated
	}
	return sessionPerson(rows), nil
}

// sessionPerson returns the person of the rows of one session.
func sessionPerson(rows []sessionPersonRow) *account.SessionPerson {
	p := &account.SessionPerson{
		Person: account.Person{User: rows[0].User.user()}, Session: rows[0].Session.session(), Key: rows[0].Key.key(),
	}
	if p.Key.ID != "" {
		p.Key.Org, p.Key.Workspace, p.Key.User = p.Session.Org, p.Session.Workspace, p.Session.User
	}
	for i := range rows {
		w := rows[i].Workspace.ID
		if bound := p.Session.Workspace; w != "" && (bound == "" || bound == w) {
			rows[i].Workspace.Org = p.Session.Org
			p.Memberships = append(p.Memberships, account.Membership{
				Workspace: rows[i].Workspace.workspace(), Role: rows[i].Role, ByHand: rows[i].ByHand,
				Grouped: rows[i].Grouped,
			})
		}
	}
	// Sorting here is cheaper than in the database: there is usually one wide row.
	slices.SortFunc(p.Memberships, func(a, b account.Membership) int {
		return cmp.Compare(a.Workspace.ID, b.Workspace.ID)
	})
	return p
}

// provenBySession adds the principals behind sessions to found.
func (s *Tickets) provenBySession(
	ctx context.Context, org identity.OrgID, cookies [][]byte, found map[account.Hash]*account.Principal,
) error {
	where := newConditions(`s.org_id = ?`, org)
	in(where, `s.cookie_hash`, cookies)
	var rows []sessionPersonRow
	if err := s.db.forCredentials().list(ctx, &rows, `SELECT `+sessionPersonColumns+ofSessionKey+
		`WHERE `+where.sql(), where.args()...); err != nil {
		return err
	}
	for i := range rows {
		p := sessionPerson(rows[i : i+1])
		found[p.Session.Cookie] = p.Principal()
	}
	return nil
}
