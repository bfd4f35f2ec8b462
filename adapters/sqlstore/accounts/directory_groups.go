package accounts

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// DirectoryGroups stores the groups of directories.
type DirectoryGroups struct{ db *Store }

var _ ports.DirectoryGroups = (*DirectoryGroups)(nil)

// AddGroup implements ports.DirectoryGroups.
func (s *DirectoryGroups) AddGroup(ctx context.Context, by identity.Actor, g *account.DirectoryGroup) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		var count int
		if _, err := tx.Get(ctx, &count, `SELECT COUNT(*) FROM scim_groups WHERE org_id = ?`, by.Org); err != nil {
			return err
		}
		if count >= account.MaxDirectoryGroups {
			return account.ErrDirectoryFull
		}
		rows, err := tx.Exec(ctx, `INSERT INTO scim_groups (id, org_id, name, name_key, external_id, created_at,
			updated_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, g.ID, by.Org, g.Name,
			account.DirectoryKey(g.Name), g.ExternalID, db.Micros(g.CreatedAt), db.Micros(g.UpdatedAt))
		if err != nil {
			return err
		}
		if rows == 0 {
			return account.ErrDirectoryGroupExists
		}
		return tx.joinDirectoryGroup(ctx, g, g.People)
	})
}

// joinDirectoryGroup adds people to a group.
func (store *Store) joinDirectoryGroup(
	ctx context.Context, g *account.DirectoryGroup, people []identity.UserID,
) error {
	for batch := range slices.Chunk(people, 500) {
		conditions := db.NewConditions(`org_id = ? AND removed_at = 0`, g.Org)
		db.OneOf(conditions, `user_id`, batch)
		// locked, so that none of them is erased before the commit
		count, err := store.Exec(ctx, `INSERT INTO scim_members (group_id, user_id) SELECT CAST(? AS TEXT), user_id
			FROM scim_users t WHERE `+conditions.SQL()+` ORDER BY user_id`+store.Dialect.Lock,
			append([]any{g.ID}, conditions.Args()...)...)
		if err != nil {
			return err
		}
		if int(count) < len(batch) {
			return account.ErrDirectoryUserNotFound
		}
	}
	return store.markUnsettled(ctx, g.Org, people)
}

// Group implements ports.DirectoryGroups.
func (s *DirectoryGroups) Group(
	ctx context.Context, org identity.OrgID, id account.DirectoryGroupID,
) (*account.DirectoryGroup, error) {
	return s.db.directoryGroup(ctx, org, id, "")
}

// directoryGroup returns a group with its people, or account.ErrDirectoryGroupNotFound. lock is empty or Dialect.Lock.
func (store *Store) directoryGroup(
	ctx context.Context, org identity.OrgID, id account.DirectoryGroupID, lock string,
) (*account.DirectoryGroup, error) {
	var row directoryGroupRow
	found, err := store.Get(ctx, &row, `SELECT `+directoryGroupColumns+` FROM scim_groups t
		WHERE t.org_id = ? AND t.id = ?`+lock, org, id)
	if err == nil && !found {
		err = account.ErrDirectoryGroupNotFound
	}
	if err != nil {
		return nil, err
	}
	g := row.group()
	return &g, store.List(ctx, &g.People, `SELECT user_id FROM scim_members WHERE group_id = ? ORDER BY user_id`, id)
}

// Groups implements ports.DirectoryGroups.
func (s *DirectoryGroups) Groups(
	ctx context.Context, org identity.OrgID, q account.DirectoryQuery,
) ([]account.DirectoryGroup, int, error) {
	conditions := db.NewConditions(`t.org_id = ?`, org)
	directoryWhere(conditions, q.Filter, map[account.DirectoryField]directoryColumn{
		account.DirectoryID:         {sql: `t.id`},
		account.DirectoryName:       {sql: `t.name_key`, key: account.DirectoryKey},
		account.DirectoryExternalID: {sql: `t.external_id`},
		account.DirectoryMember:     {sql: `m.user_id`, rows: `scim_members m WHERE m.group_id = t.id`},
	})
	var rows []directoryGroupRow
	total, err := s.db.directoryPage(ctx, &rows, `scim_groups`, directoryGroupColumns, `t.id`, conditions, q)
	if err != nil {
		return nil, 0, err
	}
	groups := db.Convert(rows, (*directoryGroupRow).group)
	return groups, total, nil
}

// UpdateGroup implements ports.DirectoryGroups.
func (s *DirectoryGroups) UpdateGroup(
	ctx context.Context, org identity.OrgID, id account.DirectoryGroupID,
	change func(*account.DirectoryGroup) error,
) (g *account.DirectoryGroup, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		if g, err = tx.directoryGroup(ctx, org, id, tx.Dialect.Lock); err != nil {
			return err
		}
		name, previous := g.Name, slices.Clone(g.People)
		if err := change(g); err != nil {
			return err
		}
		var other string
		exists, err := tx.Get(ctx, &other, `SELECT id FROM scim_groups WHERE org_id = ? AND name_key = ? AND id <> ?`,
			org, account.DirectoryKey(g.Name), id)
		if exists {
			return account.ErrDirectoryGroupExists
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE scim_groups SET name = ?, name_key = ?, external_id = ?, updated_at = ?
			WHERE org_id = ? AND id = ?`, g.Name, account.DirectoryKey(g.Name), g.ExternalID, db.Micros(g.UpdatedAt), org,
			id); err != nil {
			return err
		}
		joining, unsettled := difference(g.People, previous), difference(previous, g.People)
		if name != g.Name {
			unsettled = previous
		}
		if err := tx.markUnsettled(ctx, org, unsettled); err != nil {
			return err
		}
		if err := tx.leaveDirectoryGroup(ctx, g, difference(previous, g.People)); err != nil {
			return err
		}
		return tx.joinDirectoryGroup(ctx, g, joining)
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (store *Store) leaveDirectoryGroup(
	ctx context.Context, g *account.DirectoryGroup, people []identity.UserID,
) error {
	for batch := range slices.Chunk(people, 500) {
		conditions := db.NewConditions(`group_id = ?`, g.ID)
		db.OneOf(conditions, `user_id`, batch)
		if _, err := store.Exec(ctx, `DELETE FROM scim_members WHERE `+conditions.SQL(),
			conditions.Args()...); err != nil {
			return err
		}
	}
	return nil
}

// difference returns the people who are not among others. Both lists are sorted.
func difference(people, others []identity.UserID) (out []identity.UserID) {
	for _, one := range people {
		if _, found := slices.BinarySearch(others, one); !found {
			out = append(out, one)
		}
	}
	return out
}

// DeleteGroup implements ports.DirectoryGroups.
func (s *DirectoryGroups) DeleteGroup(
	ctx context.Context, org identity.OrgID, id account.DirectoryGroupID, check func(*account.DirectoryGroup) error,
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		g, err := tx.directoryGroup(ctx, org, id, tx.Dialect.Lock)
		if err != nil {
			return err
		}
		if err := check(g); err != nil {
			return err
		}
		if err := tx.markUnsettled(ctx, org, g.People); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM scim_groups WHERE org_id = ? AND id = ?`, org, id)
		return err
	})
}
