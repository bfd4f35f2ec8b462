package accounts

import (
	"context"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// wordsAtOnce is for how many people IndexPeople writes words in one transaction.
const wordsAtOnce = 500

// saveWords replaces the words by which a person is found, in the transaction that writes the user with its
// words_revision. Words that stay are not written again.
func (store *Store) saveWords(ctx context.Context, u *account.User) error {
	if u.Service {
		return nil
	}
	words := account.SearchWords(u.Name, u.Email)
	if len(words) == 0 {
		_, err := store.Exec(ctx, `DELETE FROM people_words WHERE user_id = ?`, u.ID)
		return err
	}
	stay, rows := []any{u.ID}, make([]any, 0, 3*len(words))
	for _, word := range words {
		stay, rows = append(stay, word), append(rows, u.Org, word, u.ID)
	}
	if _, err := store.Exec(ctx, `DELETE FROM people_words WHERE user_id = ? AND word NOT IN (`+
		db.Placeholders(len(words))+`)`, stay...); err != nil {
		return err
	}
	_, err := store.Exec(ctx, `INSERT INTO people_words (org_id, word, user_id) VALUES (?, ?, ?)`+
		strings.Repeat(`, (?, ?, ?)`, len(words)-1)+` ON CONFLICT DO NOTHING`, rows...)
	return err
}

// IndexPeople writes the words of people that a release without them has written, at most limit.
func (store *Store) IndexPeople(ctx context.Context, limit int) error {
	for limit > 0 {
		var rows []userRow
		err := store.inTx(ctx, func(tx *Store) error {
			rows = nil
			if err := tx.List(ctx, &rows, `SELECT `+userColumns+` FROM users t
				WHERE t.words_revision <> t.revision AND NOT t.service ORDER BY t.id LIMIT ?`+tx.Dialect.Lock,
				min(limit, wordsAtOnce)); err != nil {
				return err
			}
			for i := range rows {
				u := rows[i].user()
				if err := tx.saveWords(ctx, &u); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, `UPDATE users SET words_revision = revision WHERE org_id = ? AND id = ?`,
					u.Org, u.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		limit -= len(rows)
	}
	return nil
}

// lastWord follows every word with the same beginning.
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

// summaries reads one page of people. What is counted is read for the people of the page only.
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
	idle := db.Micros(now.Add(-account.SessionIdle))
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
