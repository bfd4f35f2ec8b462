package accounts

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// sessionPersonRow is a session with its user and one of the user's memberships. Without a membership, or without a
// key, their columns are empty. Columns that the key and the session share are not read twice.
type sessionPersonRow struct {
	Session   sessionRow    `db:"s"`
	User      userRow       `db:"u"`
	Key       keyRow        `db:"k"`
	Workspace workspaceRow  `db:"w"`
	Role      identity.Role `db:"role"`
	ByHand    identity.Role `db:"by_hand"`
	Grouped   bool          `db:"grouped"`
}

// sessionPersonPacked has all columns except the hashes, whose bytes are not text, and the passkey. A key or a
// workspace may be missing.
var sessionPersonPacked = db.NewPackedRow[sessionPersonRow](slices.Concat(
	db.ColumnsOf(`s.%`, `s.`, slices.DeleteFunc(slices.Clone(sessionNames), func(name string) bool {
		return name == "cookie_hash" || name == "proof_hash" || name == "passkey_id"
	})),
	optionalMembership,
	db.ColumnsOf(`u.%`, `u.`, userNames),
	db.ColumnsOf(`COALESCE(k.%, '')`, `k.`, []string{"id", "scopes", "networks"}),
	db.ColumnsOf(`COALESCE(k.%, 0)`, `k.`, []string{"ceiling", "expires_at", "last_used_at", "revoked_at",
		"suspended_at"}),
	db.ColumnsOf(`COALESCE(k.%, FALSE)`, `k.`, []string{"service"}),
	db.ColumnsOf(`COALESCE(w.%, '')`, `w.`, []string{"id", "slug", "name", "created_by"}),
	db.ColumnsOf(`COALESCE(w.%, 0)`, `w.`, []string{"revision", "created_at", "updated_at"}),
))

const (
	sessionMemberships = ` FROM sessions s LEFT JOIN memberships m ON m.user_id = s.user_id`
	sessionJoins       = ` JOIN users u ON u.id = s.user_id
		LEFT JOIN api_keys k ON k.id = NULLIF(s.key_id, '')
		LEFT JOIN workspaces w ON w.id = m.workspace_id AND w.org_id = s.org_id AND w.deleted_at = 0`
)

var (
	personQuery = `SELECT ` + sessionPersonPacked.Text() + ` AS text, proof FROM (SELECT ` +
		sessionPersonPacked.Columns() + `, s.proof_hash AS proof` + sessionMemberships + sessionJoins +
		` WHERE s.cookie_hash = ? AND s.org_id = ?) p`
	provenPersonsQuery = `SELECT ` + sessionPersonPacked.Columns() + `, s.cookie_hash AS "s.cookie_hash",
		s.proof_hash AS "s.proof_hash"` + sessionMemberships + ` AND m.workspace_id = s.workspace_id` + sessionJoins
)

// Person implements ports.Sessions. It runs one statement, as Keys.Principal does.
func (s *Sessions) Person(
	ctx context.Context, org identity.OrgID, cookie account.Hash,
) (*session.Person, error) {
	read := func() (*session.Person, error) { return s.db.sessionPerson(ctx, org, cookie) }
	if s.db.IsTransaction() {
		return read()
	}
	return s.db.Sessions.Get(ctx, db.CredentialKey{Org: org, Hash: cookie}, read)
}

// sessionPerson reads packed rows, and reads them again as columns if one cannot be unpacked.
func (store *Store) sessionPerson(
	ctx context.Context, org identity.OrgID, cookie account.Hash,
) (*session.Person, error) {
	var texts []struct {
		Text  string `db:"text"`
		Proof []byte `db:"proof"`
	}
	if err := store.forCredentials().List(ctx, &texts, personQuery, cookie[:], org); err != nil {
		return nil, err
	}
	rows := make([]sessionPersonRow, len(texts))
	for i := range texts {
		if err := sessionPersonPacked.Unpack(texts[i].Text, &rows[i]); err != nil {
			return nil, err
		}
		rows[i].Session.Cookie, rows[i].Session.Proof = cookie[:], texts[i].Proof
	}
	if len(rows) == 0 {
		return nil, identity.ErrUnauthenticated
	}
	return sessionPerson(rows), nil
}

// sessionPerson returns the person of the rows of one session. The ids are copied, because rate limits and
// records of use keep them for longer than a packed row's string.
func sessionPerson(rows []sessionPersonRow) *session.Person {
	first := &rows[0]
	first.Session.ID = identity.SessionID(strings.Clone(string(first.Session.ID)))
	first.User.ID = identity.UserID(strings.Clone(string(first.User.ID)))
	first.Key.ID = identity.KeyID(strings.Clone(string(first.Key.ID)))
	p := &session.Person{
		Person: account.Person{User: first.User.user()}, Session: first.Session.session(), Key: first.Key.key(),
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
	ctx context.Context, org identity.OrgID, cookies [][]byte, found map[account.Hash]*session.Principal,
) error {
	conditions := db.NewConditions(`s.org_id = ?`, org)
	db.OneOf(conditions, `s.cookie_hash`, cookies)
	var rows []sessionPersonRow
	if err := s.db.forCredentials().List(ctx, &rows, provenPersonsQuery+` WHERE `+conditions.SQL(),
		conditions.Args()...); err != nil {
		return err
	}
	for i := range rows {
		p := sessionPerson(rows[i : i+1])
		found[p.Session.Cookie] = p.Principal()
	}
	return nil
}
