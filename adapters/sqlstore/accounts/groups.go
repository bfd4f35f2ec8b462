package accounts

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Groups stores the groups of workspaces. A group has a row in users, so that shares can refer to it.
type Groups struct{ db *Store }

var _ ports.Groups = (*Groups)(nil)

const groupColumns = `t.id, t.org_id, t.workspace_id, t.name, t.role, t.external_id, t.created_by, t.revision,
	t.created_at, t.updated_at, (SELECT COUNT(*) FROM group_people p WHERE p.group_id = t.id) AS size`

type groupRow struct {
	ID        identity.UserID      `db:"id"`
	Org       identity.OrgID       `db:"org_id"`
	Workspace identity.WorkspaceID `db:"workspace_id"`
	Name      string               `db:"name"`
	Role      identity.Role        `db:"role"`
	External  string               `db:"external_id"`
	CreatedBy identity.UserID      `db:"created_by"`
	Revision  int64                `db:"revision"`
	CreatedAt int64                `db:"created_at"`
	UpdatedAt int64                `db:"updated_at"`
	Size      int                  `db:"size"`
}

func (r *groupRow) group() account.Group {
	return account.Group{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, Name: r.Name, Role: r.Role, External: r.External,
		CreatedBy: r.CreatedBy, Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt),
		UpdatedAt: db.FromMicros(r.UpdatedAt), Size: r.Size,
	}
}

// groupIDs are the ids of groups, separated by spaces.
type groupIDs string

func idsOfGroups(ids []identity.UserID) groupIDs {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return groupIDs(strings.Join(texts, " "))
}

// list returns the ids, or nil.
func (g groupIDs) list() (ids []identity.UserID) {
	for id := range strings.FieldsSeq(string(g)) {
		ids = append(ids, identity.UserID(id))
	}
	return ids
}

// List implements ports.Groups.
func (s *Groups) List(
	ctx context.Context, ws identity.WorkspaceID, q page.Query,
) (account.GroupPage, error) {
	conditions := db.NewConditions(`t.workspace_id = ?`, ws)
	conditions.PageBounds(`t.id`, q.After, "")
	var rows []groupRow
	if err := s.db.List(ctx, &rows, `SELECT `+groupColumns+` FROM user_groups t WHERE `+conditions.SQL()+
		` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return account.GroupPage{}, err
	}
	found := db.Convert(rows, (*groupRow).group)
	return page.Cut(found, q.Limit, func(g account.Group) string { return string(g.ID) }), nil
}

// Get implements ports.Groups.
func (s *Groups) Get(ctx context.Context, ws identity.WorkspaceID, id identity.UserID) (*account.Group, error) {
	return s.db.group(ctx, ws, id)
}

func (store *Store) group(ctx context.Context, ws identity.WorkspaceID, id identity.UserID) (*account.Group, error) {
	var row groupRow
	found, err := store.Get(ctx, &row, `SELECT `+groupColumns+` FROM user_groups t WHERE t.id = ? AND t.workspace_id = ?`,
		id, ws)
	if err == nil && !found {
		err = account.ErrGroupNotFound
	}
	if err != nil {
		return nil, err
	}
	g := row.group()
	return &g, nil
}

const groupPeople = `SELECT ` + memberColumns + ` FROM group_people p
	JOIN memberships m ON m.workspace_id = p.workspace_id AND m.user_id = p.user_id JOIN users u ON u.id = p.user_id
	WHERE p.group_id = ? AND p.workspace_id = ? `

// People implements ports.Groups.
func (s *Groups) People(
	ctx context.Context, ws identity.WorkspaceID, id identity.UserID, q page.Query,
) (account.MemberPage, error) {
	var rows []memberRow
	if err := s.db.List(ctx, &rows, groupPeople+`AND p.user_id > ? ORDER BY p.user_id LIMIT ?`, id, ws, q.After,
		q.Limit+1); err != nil {
		return account.MemberPage{}, err
	}
	found := db.Convert(rows, (*memberRow).member)
	return page.Cut(found, q.Limit, func(m account.Member) string { return string(m.User) }), nil
}

// Add implements ports.Groups.
func (s *Groups) Add(
	ctx context.Context, by identity.Actor, change func(*account.Workspace, int) (*account.Group, error),
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		w, err := tx.LockedWorkspace(ctx, by.Org, by.Workspace, by.User)
		if err != nil {
			return err
		}
		if err := tx.loadMakersRoles(ctx, w, by.User); err != nil {
			return err
		}
		var count int
		if _, err := tx.Get(ctx, &count, `SELECT COUNT(*) FROM user_groups WHERE workspace_id = ?`, w.ID); err != nil {
			return err
		}
		g, err := change(w, count)
		if err != nil {
			return err
		}
		if err := tx.groupNameIsFree(ctx, g); err != nil {
			return err
		}
		u := &account.User{
			ID: g.ID, Org: g.Org, Name: g.Name, Service: true, Revision: 1, CreatedAt: g.CreatedAt,
			UpdatedAt: g.UpdatedAt,
		}
		if err := tx.addUser(ctx, u); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO user_groups (id, org_id, workspace_id, name, name_key, role, external_id,
			created_by, revision, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			g.ID, g.Org, g.Workspace, g.Name, groupNameKey(g), g.Role, g.External, g.CreatedBy, g.Revision,
			db.Micros(g.CreatedAt), db.Micros(g.UpdatedAt)); err != nil {
			return err
		}
		if g.External != "" {
			if err := tx.markAllUnsettled(ctx, g.Org); err != nil {
				return err
			}
		}
		return tx.Record(ctx, g.RecordedAt(g.Revision, string(g.ID)))
	})
}

// groupNameKey returns the name by which a group is unique in its workspace.
func groupNameKey(g *account.Group) string { return strings.ToLower(g.Name) }

// groupNameIsFree returns account.ErrGroupNameTaken for a duplicate. No transaction can add one in between, since the
// workspace is locked.
func (store *Store) groupNameIsFree(ctx context.Context, g *account.Group) error {
	var other string
	found, err := store.Get(ctx, &other, `SELECT id FROM user_groups WHERE workspace_id = ? AND name_key = ? AND id <> ?`,
		g.Workspace, groupNameKey(g), g.ID)
	if found {
		return account.ErrGroupNameTaken
	}
	return err
}

// Update implements ports.Groups.
func (s *Groups) Update(
	ctx context.Context, by identity.Actor, id identity.UserID, others []identity.UserID,
	change func(*account.Workspace, *account.Group) error,
) (g *account.Group, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		w, err := tx.LockedWorkspace(ctx, by.Org, by.Workspace, append(slices.Clone(others), by.User)...)
		if err != nil {
			return err
		}
		if g, err = tx.group(ctx, w.ID, id); err != nil {
			return err
		}
		if err := tx.loadMakersRoles(ctx, w, by.User); err != nil {
			return err
		}
		if err := tx.loadGroupPeople(ctx, w, g, others); err != nil {
			return err
		}
		makers, err := tx.makersAmong(ctx, w.ID, w.Members)
		if err != nil {
			return err
		}
		if err := tx.LoadPowers(ctx, w, makers...); err != nil {
			return err
		}
		people, members, external := maps.Clone(g.People), maps.Clone(w.Members), g.External
		if err := change(w, g); err != nil {
			return err
		}
		if len(g.Recorded()) == 0 {
			return nil
		}
		var changes []account.Member
		for user, m := range w.Members {
			if m.Revision != members[user].Revision {
				changes = append(changes, m)
			}
		}
		if err := tx.saveMembers(ctx, w, changes...); err != nil {
			return err
		}
		if err := tx.savePowers(ctx, slices.Collect(maps.Values(w.Powers))...); err != nil {
			return err
		}
		if err := tx.saveGroup(ctx, g, people); err != nil {
			return err
		}
		if g.External != external {
			if err := tx.markAllUnsettled(ctx, g.Org); err != nil {
				return err
			}
		}
		g.Size = len(g.People)
		tx.Forget()
		return tx.Record(ctx, append(w.RecordedAt(w.Revision, string(w.ID)), g.RecordedAt(g.Revision, string(g.ID))...))
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// loadGroupPeople reads the people of a group that is about to change, with their memberships. For others who are
// members it also counts their groups.
func (store *Store) loadGroupPeople(
	ctx context.Context, w *account.Workspace, g *account.Group, others []identity.UserID,
) error {
	var rows []memberRow
	if err := store.List(ctx, &rows, groupPeople, g.ID, w.ID); err != nil {
		return err
	}
	g.People = map[identity.UserID]struct{}{}
	for i := range rows {
		m := rows[i].member()
		w.Members[m.User], g.People[m.User] = m, struct{}{}
	}
	for _, user := range others {
		m, isMember := w.Members[user]
		if !isMember {
			continue
		}
		if _, err := store.Get(ctx, &m.Groups, `SELECT COUNT(*) FROM group_people WHERE workspace_id = ? AND user_id = ?`,
			w.ID, user); err != nil {
			return err
		}
		w.Members[user] = m
	}
	return nil
}

// saveGroup writes a group. previous are the people who were in it before the change.
func (store *Store) saveGroup(ctx context.Context, g *account.Group, previous map[identity.UserID]struct{}) error {
	for user := range previous {
		if _, stays := g.People[user]; !stays {
			if err := store.leaveGroup(ctx, g, user); err != nil {
				return err
			}
		}
	}
	for user := range g.People {
		if _, wasMember := previous[user]; !wasMember {
			if err := store.joinGroup(ctx, g, user); err != nil {
				return err
			}
		}
	}
	if g.Deleted {
		return store.deleteGroup(ctx, g)
	}
	if err := store.groupNameIsFree(ctx, g); err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `UPDATE user_groups SET name = ?, name_key = ?, role = ?, external_id = ?, revision = ?,
		updated_at = ? WHERE id = ? AND workspace_id = ?`, g.Name, groupNameKey(g), g.Role, g.External, g.Revision,
		db.Micros(g.UpdatedAt), g.ID, g.Workspace); err != nil {
		return err
	}
	_, err := store.Exec(ctx, `UPDATE users SET name = ? WHERE id = ? AND org_id = ? AND name <> ?`, g.Name, g.ID, g.Org,
		g.Name)
	return err
}

// joinGroup adds a person to a group. Reads look up groups only for members with memberships.grouped.
func (store *Store) joinGroup(ctx context.Context, g *account.Group, user identity.UserID) error {
	if _, err := store.Exec(ctx, `INSERT INTO group_people (group_id, workspace_id, user_id, created_at)
		VALUES (?, ?, ?, ?)`, g.ID, g.Workspace, user, db.Micros(g.UpdatedAt)); err != nil {
		return err
	}
	_, err := store.Exec(ctx, `UPDATE memberships SET grouped = TRUE WHERE workspace_id = ? AND user_id = ?`, g.Workspace,
		user)
	return err
}

func (store *Store) leaveGroup(ctx context.Context, g *account.Group, user identity.UserID) error {
	if _, err := store.Exec(ctx, `DELETE FROM group_people WHERE group_id = ? AND user_id = ?`, g.ID, user); err != nil {
		return err
	}
	return store.Ungroup(ctx, g.Workspace, user)
}

// deleteGroup removes a group that has no people left, and its shares.
func (store *Store) deleteGroup(ctx context.Context, g *account.Group) error {
	if err := store.removeOf(ctx, g.Workspace, []identity.UserID{g.ID}, sharing...); err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `DELETE FROM user_groups WHERE id = ? AND workspace_id = ?`, g.ID,
		g.Workspace); err != nil {
		return err
	}
	_, err := store.Exec(ctx, `DELETE FROM users WHERE id = ? AND org_id = ?`, g.ID, g.Org)
	return err
}
