package accounts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// People stores people's accounts for operators.
type People struct{ db *Store }

var _ ports.People = (*People)(nil)

// List implements ports.People.
func (s *People) List(ctx context.Context, org identity.OrgID, q page.Query) (account.UserPage, error) {
	var rows []userRow
	err := s.db.List(ctx, &rows, `
		SELECT `+userColumns+` FROM users t
		WHERE t.org_id = ? AND t.email_key <> '' AND t.email_key > ? ORDER BY t.email_key LIMIT ?`,
		org, q.After, q.Limit+1)
	if err != nil {
		return account.UserPage{}, err
	}
	people := db.Convert(rows, (*userRow).user)
	return page.Cut(people, q.Limit, func(u account.User) string { return account.EmailKey(u.Email) }), nil
}

// lastWord, appended to a prefix, sorts after every word with that prefix.
const lastWord = "\U0010FFFF"

// Search implements ports.People.
func (s *People) Search(
	ctx context.Context, org identity.OrgID, f account.PeopleFilter, now time.Time, q page.Query,
) (account.PersonPage, error) {
	if len(f.Words) > 0 {
		if err := s.db.IndexPeople(ctx, wordsAtOnce); err != nil {
			return account.PersonPage{}, err
		}
	}
	conditions := db.NewConditions(`t.org_id = ? AND NOT t.service`, org)
	conditions.When(f.Status == account.PersonActive, `t.disabled_at = 0`)
	conditions.When(f.Status == account.PersonDisabled, `t.disabled_at > 0 AND t.erased_at = 0`)
	conditions.When(f.Status == account.PersonErased, `t.disabled_at > 0 AND t.erased_at > 0`)
	conditions.PageBounds(`t.id`, q.After, "")
	for _, word := range f.Words {
		conditions.When(true, `t.id IN (SELECT w.user_id FROM people_words w
			WHERE w.org_id = ? AND w.word >= ? AND w.word < ?)`,
			org, word, word+lastWord)
	}
	return s.summaries(ctx, conditions, now, q)
}

// Person implements ports.People.
func (s *People) Person(
	ctx context.Context, org identity.OrgID, id identity.UserID, now time.Time,
) (*account.PersonSummary, error) {
	conditions := db.NewConditions(`t.org_id = ? AND NOT t.service AND t.id = ?`, org, id)
	found, err := s.summaries(ctx, conditions, now, page.Query{Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found.Items) == 0 {
		return nil, account.ErrUserNotFound
	}
	return &found.Items[0], nil
}

// summaries reads one page of people. Workspaces, sessions and keys are counted only for the people of the page.
func (s *People) summaries(
	ctx context.Context, conditions *db.Conditions, now time.Time, q page.Query,
) (account.PersonPage, error) {
	var rows []struct {
		userRow
		Workspaces int   `db:"workspaces"`
		Sessions   int   `db:"sessions"`
		Keys       int   `db:"api_keys"`
		SessionAt  int64 `db:"session_at"`
		KeyAt      int64 `db:"key_at"`
		TokenAt    int64 `db:"token_at"`
	}
	idle := db.Micros(now.Add(-session.Idle))
	args := append([]any{db.Micros(now), idle, db.Micros(now)}, conditions.Args(q.Limit+1)...)
	if err := s.db.List(ctx, &rows, `SELECT `+userColumns+`,
		(SELECT COUNT(*) FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
			WHERE m.user_id = t.id AND w.deleted_at = 0) AS workspaces,
		(SELECT COUNT(*) FROM sessions s WHERE s.user_id = t.id AND s.ended_at = 0 AND s.expires_at > ?
			AND s.last_seen_at > ?) AS sessions,
		(SELECT COUNT(*) FROM api_keys k WHERE k.user_id = t.id AND k.revoked_at = 0
			AND (k.expires_at = 0 OR k.expires_at > ?)) AS api_keys,
		(SELECT COALESCE(MAX(s.last_seen_at), 0) FROM sessions s WHERE s.user_id = t.id) AS session_at,
		(SELECT COALESCE(MAX(k.last_used_at), 0) FROM api_keys k WHERE k.user_id = t.id) AS key_at,
		(SELECT COALESCE(MAX(i.issued_at), 0) FROM sign_ins i WHERE i.user_id = t.id) AS token_at
		FROM users t WHERE `+conditions.SQL()+` ORDER BY t.id DESC LIMIT ?`, args...); err != nil {
		return account.PersonPage{}, err
	}
	people := make([]account.PersonSummary, len(rows))
	for i := range rows {
		r := &rows[i]
		people[i] = account.PersonSummary{
			User: r.user(), LastSeenAt: db.FromMicros(max(r.SessionAt, r.KeyAt, r.TokenAt)),
			Workspaces: r.Workspaces, Sessions: r.Sessions, Keys: r.Keys,
		}
	}
	return page.Cut(people, q.Limit, func(p account.PersonSummary) string { return string(p.User.ID) }), nil
}

// Memberships implements ports.People.
func (s *People) Memberships(
	ctx context.Context, by identity.Actor, q page.Query,
) (account.MembershipPage, error) {
	conditions := db.NewConditions(`m.user_id = ? AND t.org_id = ? AND t.deleted_at = 0`, by.User, by.Org)
	conditions.When(by.Key != "", `m.workspace_id = ?`, by.Workspace)
	conditions.PageBounds(`m.workspace_id`, q.After, "")
	var rows []membershipRow
	if err := s.db.List(ctx, &rows, `
		SELECT `+membershipColumns+` FROM memberships m JOIN workspaces t ON t.id = m.workspace_id
		WHERE `+conditions.SQL()+` ORDER BY m.workspace_id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return account.MembershipPage{}, err
	}
	found := db.Convert(rows, (*membershipRow).membership)
	return page.Cut(found, q.Limit, func(m account.Membership) string { return string(m.Workspace.ID) }), nil
}
