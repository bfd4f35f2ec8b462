package account

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

const (
	// MaxGroups is the maximum number of groups in a workspace.
	MaxGroups = 200
	// MaxGroupPeople is the maximum number of people in one group.
	MaxGroupPeople = 500
	// MaxGroupsOfPerson is the maximum number of workspace groups that a person can be in.
	MaxGroupsOfPerson = 50
)

// Errors about groups.
var (
	ErrGroupNotFound = &fault.Error{Kind: fault.NotFound, Code: "group_not_found",
		Detail: "The workspace has no such group."}
	ErrGroupNameTaken = &fault.Error{Kind: fault.Conflict, Code: "name_taken",
		Detail: "Another group of the workspace has this name."}
	ErrTooManyGroups = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "The workspace already has 200 groups. Delete one first."}
	ErrTooManyInGroup = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "The group already has 500 people. Remove one first, or use another group."}
	ErrTooManyGroupsOfPerson = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "This person is already in 50 groups of the workspace."}
)

// Group is a named set of workspace members. Where a user can be given access, a group's id gives it to all of its
// people. What people have by their groups ends when they leave the group or the workspace.
type Group struct {
	event.Log
	ID        identity.UserID // with identity.GroupPrefix
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Name      string        // 1 to 80 characters, unique in the workspace without regard to case
	Role      identity.Role // the lowest role of its people in the workspace, at most Admin; NoRole: none
	External  string        // its name in tokens or the directory (SignIn.Groups), up to 255 bytes; empty: none
	CreatedBy identity.UserID
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
	Deleted   bool // it is removed when it is saved

	Size   int                          // how many people are in it; set where it is read
	People map[identity.UserID]struct{} // set where it is about to change
}

// GroupPage is one page of groups.
type GroupPage = page.Of[Group]

// GroupDraft is the caller's request for a new group.
type GroupDraft struct {
	Name     string
	Role     identity.Role // NoRole: the group gives none
	External string
}

// GroupChanges are new values for some group fields; nil keeps the old one.
type GroupChanges struct {
	Name     *string
	Role     *identity.Role // NoRole: the group gives none
	External *string
}

// manageGroups returns the highest role that by can give to a group of w: nothing above their own, and never Owner.
// Requires the admin role, or the system.
func (w *Workspace) manageGroups(by identity.Actor) (identity.Role, error) {
	if by.User == "" && by.Org == w.Org && w.DeletedAt.IsZero() {
		return identity.Admin, nil
	}
	if err := w.Allow(by, identity.Admin); err != nil {
		return identity.NoRole, err
	}
	return min(w.RoleOf(by), identity.Admin), nil
}

// NewGroup creates a group without people in w, which has count groups. Requires the admin role, or the system.
func (w *Workspace) NewGroup(by identity.Actor, count int, d GroupDraft) (*Group, error) {
	highest, err := w.manageGroups(by)
	if err != nil {
		return nil, err
	}
	g := &Group{
		ID: identity.UserID(id.New(identity.GroupPrefix)), Org: w.Org, Workspace: w.ID, Name: naming.Normal(d.Name),
		Role: d.Role, External: d.External, CreatedBy: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	switch {
	case d.Role > highest:
		return nil, identity.ErrRoleCeiling
	case count >= MaxGroups:
		return nil, ErrTooManyGroups
	}
	if err := w.mayFollow(by, g); err != nil {
		return nil, err
	}
	g.record(by, "group.created", map[string]any{"name": g.Name, "role": g.Role.String()})
	return g, nil
}

// ChangeGroup applies changes to g. A new role takes effect for all of its people. Requires the admin role, or the
// system.
func (w *Workspace) ChangeGroup(by identity.Actor, match revision.Match, g *Group, c GroupChanges) error {
	highest, err := w.manageGroups(by)
	if err != nil {
		return err
	}
	if err := match.Check(g.Revision); err != nil {
		return err
	}
	previous, changes := *g, map[string]any{}
	c.Name = naming.Changed(g.Name, c.Name)
	event.Set(&g.Name, c.Name, "name", changes)
	if c.External != nil && *c.External != g.External {
		g.External = *c.External
		changes["external_id"] = true
	}
	if c.Role != nil && *c.Role != g.Role {
		if max(*c.Role, g.Role) > highest {
			return identity.ErrRoleCeiling
		}
		changes["role"] = event.Change{From: g.Role.String(), To: c.Role.String()}
		g.Role = *c.Role
		for _, user := range slices.Sorted(maps.Keys(g.People)) {
			if g.Role > w.Members[user].Role && w.madeBy(by.User, user) {
				return errRaisesMaker
			}
			w.settleGroup(by, g, user, g.Role)
		}
	}
	if err := g.check(); err != nil {
		return err
	}
	if g.Role > previous.Role || g.External != previous.External {
		if err := w.mayFollow(by, g); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		g.touch(by)
		g.record(by, "group.updated", changes)
	}
	return nil
}

// DeleteGroup ends g and the access that it gives its people. Requires the admin role, or the system.
func (w *Workspace) DeleteGroup(by identity.Actor, match revision.Match, g *Group) error {
	highest, err := w.manageGroups(by)
	if err != nil {
		return err
	}
	if err := match.Check(g.Revision); err != nil {
		return err
	}
	if g.Role > highest {
		return identity.ErrRoleCeiling
	}
	for _, user := range slices.Sorted(maps.Keys(g.People)) {
		w.settleGroup(by, g, user, identity.NoRole)
	}
	clear(g.People)
	g.Deleted = true
	g.record(by, "group.deleted", map[string]any{"name": g.Name})
	return nil
}

// AddToGroup adds a person of w to g. Requires the admin role, and a role at least as high as the group's, or the
// system. ErrMemberNotFound if the user is not a member, or is a service key's user. Adding someone again changes
// nothing.
func (w *Workspace) AddToGroup(by identity.Actor, g *Group, user identity.UserID) error {
	highest, err := w.manageGroups(by)
	if err != nil {
		return err
	}
	_, isIn := g.People[user]
	switch {
	case isIn:
	case g.Role > highest:
		return identity.ErrRoleCeiling
	case g.Role > w.Members[user].Role && w.madeBy(by.User, user):
		return errRaisesMaker
	}
	return w.join(by, g, user)
}

// InviteToGroups sets the groups of w that the person joins who accepts i. It requires what AddToGroup does.
func (w *Workspace) InviteToGroups(by identity.Actor, i *Invitation, groups []*Group) error {
	if len(groups) == 0 {
		i.Groups = nil
		return nil
	}
	highest, err := w.manageGroups(by)
	if err != nil {
		return err
	}
	ids := make([]identity.UserID, len(groups))
	for n, g := range groups {
		if g.Role > highest {
			return identity.ErrRoleCeiling
		}
		ids[n] = g.ID
	}
	slices.Sort(ids)
	i.Groups = slices.Compact(ids)
	return nil
}

// JoinInvited adds by, who has just accepted i, to a group of i. After a limit is reached nothing changes.
func (w *Workspace) JoinInvited(by identity.Actor, g *Group, i *Invitation) error {
	if !i.Accepted || i.Workspace != w.ID || !slices.Contains(i.Groups, g.ID) {
		return ErrGroupNotFound
	}
	if err := w.join(by, g, by.User); !errors.Is(err, ErrTooManyInGroup) {
		return err
	}
	return nil
}

// join adds a member of w to g.
func (w *Workspace) join(by identity.Actor, g *Group, user identity.UserID) error {
	m, isMember := w.Members[user]
	_, isIn := g.People[user]
	switch {
	case !isMember || m.Role == identity.NoRole || m.Service:
		return ErrMemberNotFound
	case isIn:
		return nil
	case len(g.People) >= MaxGroupPeople:
		return ErrTooManyInGroup
	case m.Groups >= MaxGroupsOfPerson:
		return ErrTooManyGroupsOfPerson
	}
	g.People[user] = struct{}{}
	m.Groups++
	w.Members[user] = m
	g.touch(by)
	g.record(by, "group_member.added", map[string]any{"user_id": user})
	w.settleGroup(by, g, user, g.Role)
	return nil
}

// RemoveFromGroup removes a person from g. It requires what AddToGroup does; everyone may leave, except with a
// read-only credential. ErrMemberNotFound if the user is not in the group.
func (w *Workspace) RemoveFromGroup(
	by identity.Actor, match revision.Match, g *Group, user identity.UserID,
) error {
	highest, err := w.manageGroups(by)
	if leaves := user == by.User && w.RoleOf(by) != identity.NoRole && !by.ReadOnly(); leaves {
		highest, err = identity.Admin, nil
	}
	if err != nil {
		return err
	}
	if _, isIn := g.People[user]; !isIn {
		return ErrMemberNotFound
	}
	if g.Role > highest {
		return identity.ErrRoleCeiling
	}
	if err := match.Check(g.Revision); err != nil {
		return err
	}
	delete(g.People, user)
	g.touch(by)
	g.record(by, "group_member.removed", map[string]any{"user_id": user})
	w.settleGroup(by, g, user, identity.NoRole)
	return nil
}

// settleGroup updates the role that g gives a member of w. The last owner stays owner.
func (w *Workspace) settleGroup(by identity.Actor, g *Group, user identity.UserID, role identity.Role) {
	m, isMember := w.Members[user]
	if !isMember {
		return
	}
	next := maps.Clone(m.Granted)
	delete(next, string(g.ID))
	if role != identity.NoRole {
		next = next.merge(Granted{string(g.ID): role})
	}
	if maps.Equal(m.Granted, next) {
		return
	}
	highest := next.highest(m.ByHand)
	if highest < m.Role && w.lastOwner(m) {
		highest = m.Role
	}
	lost := w.set(by, user, standing{highest, m.ByHand, next}, keysEnd)
	if highest == m.Role {
		return
	}
	data := map[string]any{
		"user_id": user, "role": event.Change{From: m.Role.String(), To: highest.String()}, "group_id": g.ID,
	}
	lost.describe(data)
	w.record(by, "member.updated", data)
}

// check returns all errors in the fields of g.
func (g *Group) check() error {
	var errs fault.Fields
	switch n := utf8.RuneCountInString(g.Name); {
	case n == 0:
		errs.Add("/name", "too_short", "Must not be empty.")
	case n > 80:
		errs.Add("/name", "too_long", "Must have at most 80 characters.")
	case naming.Deceptive(g.Name):
		errs.Add("/name", "invalid_characters", naming.Refusal)
	}
	if len(g.External) > MaxDirectoryText || strings.ContainsFunc(g.External, unicode.IsControl) {
		errs.Add("/external_id", "invalid_format", "Must have at most 255 bytes, none of them a control character.")
	}
	if g.Role > identity.Admin {
		errs.Add("/role", "not_allowed_value", "Must be viewer, member or admin.")
	}
	return errs.Err()
}

func (g *Group) touch(by identity.Actor) {
	g.Revision++
	g.UpdatedAt = by.At
}

// record adds an event to the trail of g's workspace.
func (g *Group) record(by identity.Actor, kind string, data map[string]any) {
	by.Workspace = g.Workspace
	g.Record(by, kind, string(g.ID), data)
}
