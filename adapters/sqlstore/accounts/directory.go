package accounts

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// DirectoryUsers stores the people in the directories of orgs.
type DirectoryUsers struct{ db *Store }

var _ ports.DirectoryUsers = (*DirectoryUsers)(nil)

const directoryUserColumns = `t.user_id, t.org_id, t.subject, t.user_name, t.external_id, t.formatted, t.given_name,
	t.family_name, t.display, t.email, t.email_type, t.active, t.unsettled, t.created_at, t.updated_at, t.removed_at`

type directoryUserRow struct {
	ID         identity.UserID `db:"user_id"`
	Org        identity.OrgID  `db:"org_id"`
	Subject    string          `db:"subject"`
	UserName   string          `db:"user_name"`
	ExternalID string          `db:"external_id"`
	Formatted  string          `db:"formatted"`
	GivenName  string          `db:"given_name"`
	FamilyName string          `db:"family_name"`
	Display    string          `db:"display"`
	Email      string          `db:"email"`
	EmailType  string          `db:"email_type"`
	Active     bool            `db:"active"`
	Unsettled  int64           `db:"unsettled"`
	CreatedAt  int64           `db:"created_at"`
	UpdatedAt  int64           `db:"updated_at"`
	RemovedAt  int64           `db:"removed_at"`
}

func (r *directoryUserRow) user() account.DirectoryUser {
	return account.DirectoryUser{
		ID: r.ID, Org: r.Org, Subject: r.Subject,
		DirectoryPerson: account.DirectoryPerson{
			UserName: r.UserName, ExternalID: r.ExternalID, Formatted: r.Formatted, GivenName: r.GivenName,
			FamilyName: r.FamilyName, Display: r.Display, Email: r.Email, EmailType: r.EmailType,
			Active: r.Active,
		},
		Unsettled: r.Unsettled,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
		RemovedAt: db.FromMicros(r.RemovedAt),
	}
}

// AddUser implements ports.DirectoryUsers.
func (s *DirectoryUsers) AddUser(ctx context.Context, by identity.Actor, u *account.DirectoryUser) error {
	count, err := s.db.Exec(ctx, `INSERT INTO scim_users (user_id, org_id, subject, user_name, name_key, external_id,
		formatted, given_name, family_name, display, email, email_type, active, rules, unsettled, created_at,
		updated_at, removed_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, ?, ?, 0) ON CONFLICT DO NOTHING`,
		u.ID, by.Org, u.Subject, u.UserName, account.DirectoryKey(u.UserName), u.ExternalID, u.Formatted, u.GivenName,
		u.FamilyName, u.Display, account.EmailKey(u.Email), u.EmailType, u.Active, db.Micros(u.CreatedAt),
		db.Micros(u.UpdatedAt))
	if err == nil && count == 0 {
		err = account.ErrDirectoryUserExists
	}
	return err
}

// User implements ports.DirectoryUsers.
func (s *DirectoryUsers) User(
	ctx context.Context, org identity.OrgID, id identity.UserID,
) (*account.DirectoryUser, error) {
	return s.find(ctx, `t.org_id = ? AND t.user_id = ? AND t.removed_at = 0`, org, id)
}

// UserNamed implements ports.DirectoryUsers.
func (s *DirectoryUsers) UserNamed(
	ctx context.Context, org identity.OrgID, name string,
) (*account.DirectoryUser, error) {
	return s.find(ctx, `t.org_id = ? AND t.name_key = ?`, org, account.DirectoryKey(name))
}

// find returns a user with their groups. In a transaction it locks the user.
func (s *DirectoryUsers) find(ctx context.Context, condition string, args ...any) (*account.DirectoryUser, error) {
	var row directoryUserRow
	found, err := s.db.Get(ctx, &row, `SELECT `+directoryUserColumns+` FROM scim_users t WHERE `+condition+
		s.db.lockInTx(), args...)
	if err == nil && !found {
		err = account.ErrDirectoryUserNotFound
	}
	if err != nil {
		return nil, err
	}
	all := []account.DirectoryUser{row.user()}
	if err := s.loadGroups(ctx, all); err != nil {
		return nil, err
	}
	return &all[0], nil
}

// loadGroups sets the groups of users.
func (s *DirectoryUsers) loadGroups(ctx context.Context, users []account.DirectoryUser) error {
	if len(users) == 0 {
		return nil
	}
	ids, indexes := make([]identity.UserID, len(users)), map[identity.UserID]int{}
	for i := range users {
		ids[i], indexes[users[i].ID] = users[i].ID, i
	}
	conditions := db.NewConditions(`m.group_id = t.id`)
	db.OneOf(conditions, `m.user_id`, ids)
	var rows []struct {
		directoryGroupRow
		User identity.UserID `db:"user_id"`
	}
	if err := s.db.List(ctx, &rows, `SELECT `+directoryGroupColumns+`, m.user_id FROM scim_members m, scim_groups t
		WHERE `+conditions.SQL()+` ORDER BY t.id`, conditions.Args()...); err != nil {
		return err
	}
	for _, r := range rows {
		u := &users[indexes[r.User]]
		u.Groups = append(u.Groups, r.group())
	}
	return nil
}

// Users implements ports.DirectoryUsers.
func (s *DirectoryUsers) Users(
	ctx context.Context, org identity.OrgID, q account.DirectoryQuery,
) ([]account.DirectoryUser, int, error) {
	conditions := db.NewConditions(`t.org_id = ? AND t.removed_at = 0`, org)
	directoryWhere(conditions, q.Filter, map[account.DirectoryField]directoryColumn{
		account.DirectoryID:         {sql: `t.user_id`},
		account.DirectoryName:       {sql: `t.name_key`, key: account.DirectoryKey},
		account.DirectoryExternalID: {sql: `t.external_id`},
		account.DirectoryDisplay:    {sql: `t.display`, folded: true},
		account.DirectoryEmail:      {sql: `t.email`, key: account.EmailKey},
		account.DirectoryEmailType:  {sql: `t.email_type`, folded: true},
		account.DirectoryActive:     {sql: `CASE WHEN t.active THEN 'true' ELSE 'false' END`},
	})
	var rows []directoryUserRow
	total, err := s.db.directoryPage(ctx, &rows, `scim_users`, directoryUserColumns, `t.user_id`, conditions, q)
	if err != nil {
		return nil, 0, err
	}
	users := db.Convert(rows, (*directoryUserRow).user)
	return users, total, s.loadGroups(ctx, users)
}

// SaveUser implements ports.DirectoryUsers.
func (s *DirectoryUsers) SaveUser(ctx context.Context, by identity.Actor, u *account.DirectoryUser) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		var other string
		exists, err := tx.Get(ctx, &other, `SELECT user_id FROM scim_users WHERE org_id = ? AND name_key = ?
			AND user_id <> ?`, by.Org, account.DirectoryKey(u.UserName), u.ID)
		if exists {
			return account.ErrDirectoryUserExists
		}
		if err != nil {
			return err
		}
		if !u.RemovedAt.IsZero() {
			if _, err := tx.Exec(ctx, `DELETE FROM scim_members WHERE user_id = ?`, u.ID); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `UPDATE scim_users SET user_name = ?, name_key = ?, external_id = ?, formatted = ?,
			given_name = ?, family_name = ?, display = ?, email = ?, email_type = ?, active = ?, created_at = ?,
			updated_at = ?, removed_at = ? WHERE org_id = ? AND user_id = ?`,
			u.UserName, account.DirectoryKey(u.UserName), u.ExternalID, u.Formatted, u.GivenName, u.FamilyName,
			u.Display, account.EmailKey(u.Email), u.EmailType, u.Active, db.Micros(u.CreatedAt),
			db.Micros(u.UpdatedAt), db.Micros(u.RemovedAt), by.Org, u.ID)
		return err
	})
}

// Unsettled implements ports.DirectoryUsers.
func (s *DirectoryUsers) Unsettled(
	ctx context.Context, org identity.OrgID, rules string, limit int,
) (ids []identity.UserID, err error) {
	err = s.db.List(ctx, &ids, `SELECT t.user_id FROM scim_users t WHERE t.org_id = ? AND t.removed_at = 0
		AND t.active AND (t.unsettled > 0 OR t.rules <> ?) ORDER BY t.user_id LIMIT ?`, org, rules, limit)
	return ids, err
}

// Several implements ports.DirectoryUsers. In a transaction it locks the users.
func (s *DirectoryUsers) Several(
	ctx context.Context, org identity.OrgID, ids []identity.UserID,
) (users []account.DirectoryUser, err error) {
	for batch := range slices.Chunk(ids, 500) {
		conditions := db.NewConditions(`t.org_id = ? AND t.removed_at = 0`, org)
		db.OneOf(conditions, `t.user_id`, batch)
		var rows []directoryUserRow
		if err := s.db.List(ctx, &rows, `SELECT `+directoryUserColumns+` FROM scim_users t WHERE `+conditions.SQL()+
			` ORDER BY t.user_id`+s.db.lockInTx(), conditions.Args()...); err != nil {
			return nil, err
		}
		found := db.Convert(rows, (*directoryUserRow).user)
		if err := s.loadGroups(ctx, found); err != nil {
			return nil, err
		}
		users = append(users, found...)
	}
	return users, nil
}

// Settle implements ports.DirectoryUsers.
func (s *DirectoryUsers) Settle(
	ctx context.Context, by identity.Actor, users []account.DirectoryUser, rules string,
) error {
	byCount := map[int64][]identity.UserID{}
	for _, u := range users {
		byCount[u.Unsettled] = append(byCount[u.Unsettled], u.ID)
	}
	return s.db.inTx(ctx, func(tx *Store) error {
		for count, ids := range byCount {
			for batch := range slices.Chunk(ids, 500) {
				conditions := db.NewConditions(`org_id = ? AND unsettled = ?`, by.Org, count)
				db.OneOf(conditions, `user_id`, batch)
				if _, err := tx.Exec(ctx, `UPDATE scim_users SET unsettled = 0, rules = ? WHERE `+conditions.SQL(),
					append([]any{rules}, conditions.Args()...)...); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
