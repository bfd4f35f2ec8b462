package account

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// noRole is the error for a request that grants no role.
var noRole = fault.Field{Pointer: "/role", Code: "not_allowed_value", Detail: "Must be viewer, member, admin or owner."}

// MaxWorkspaces is the maximum number of workspaces that one user can create. Deleted ones count until they can no
// longer be restored.
const MaxWorkspaces = 20

// RestoreWithin is the time within which a deleted workspace can be restored.
const RestoreWithin = 30 * 24 * time.Hour

// Errors about workspaces and their members.
var (
	ErrSlugTaken = &fault.Error{Kind: fault.Conflict, Code: "slug_taken",
		Detail: "Another workspace of this organisation has that slug, or the slug is reserved."}
	ErrTooManyWorkspaces = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "You have already created 20 workspaces, including deleted ones."}
	ErrMemberNotFound = &fault.Error{Kind: fault.NotFound, Code: "member_not_found",
		Detail: "The workspace has no such member."}
	ErrWorkspaceInUse = &fault.Error{Kind: fault.Conflict, Code: "workspace_in_use",
		Detail: "The workspace has active connections or a subscription. Revoke the connections and end the " +
			"subscription first."}
	ErrWorkspacesByOperators = &fault.Error{Kind: fault.Forbidden, Code: "workspaces_by_operators",
		Detail: "Only operators of this organisation may create workspaces."}
	ErrLastOwner = &fault.Error{Kind: fault.Conflict, Code: "last_owner",
		Detail: "A workspace needs at least one person as owner. Make another person an owner first."}
)

// Workspace holds a team's members and data in an org.
type Workspace struct {
	event.Log
	ID        identity.WorkspaceID
	Org       identity.OrgID
	Slug      string // unique in the org
	Name      string // 1 to 120 characters
	CreatedBy identity.UserID
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt time.Time // zero: live

	// Members holds only the caller and the users that a change names.
	Members map[identity.UserID]Member
	Owners  int // how many people among all members are owners; users of service keys do not count

	// Powers holds what the users that a change names made in w, and Lost what became of it as far as they lost
	// their roles.
	Powers map[identity.UserID]Powers
	Lost   Loss

	// Makers holds, for each user of a service key in Members, who created its keys, and the keys with which these
	// were created, recursively.
	Makers map[identity.UserID][]identity.UserID
	// Retired holds the users of service keys in Members that have no key that works.
	Retired map[identity.UserID]bool

	Live LiveKeys // set if a key is about to be created
	Sent Sent     // set if someone is about to be invited
}

// WorkspacePage is one page of workspaces.
type WorkspacePage = page.Of[Workspace]

// UserPage is one page of people.
type UserPage = page.Of[User]

// MemberPage is one page of members.
type MemberPage = page.Of[Member]

// NewWorkspace creates a workspace of by's org. by owns it; if by is the system, it has no owner yet. An API key needs
// the owner role in its own workspace, and gets no access to the new one. A service key cannot create a workspace,
// because its user could never join another one. org's claim rules (reservedByRules) and WorkspacesBy apply; a nil org
// has neither. ErrWorkspacesByOperators if WorkspacesBy does not permit by.
func NewWorkspace(by identity.Actor, org *identity.Org, slug, name string) (*Workspace, error) {
	if org == nil {
		org = &identity.Org{}
	}
	switch {
	case by.Service:
		return nil, identity.ErrForbidden.Because(
			"A workspace must have a person as owner; a service key does not count.",
		)
	case by.Ceiling < identity.Owner || (by.Key != "" && by.Role < identity.Owner):
		return nil, identity.ErrForbidden.Because(
			"An API key can create a workspace only if it has the owner role, without a lower ceiling.",
		)
	case org.WorkspacesBy == identity.WorkspacesByOperators && by.User != "" && !by.Operator:
		return nil, ErrWorkspacesByOperators
	}
	if name == "" {
		name = slug
	}
	name = naming.Normal(name)
	if slug == "" {
		slug = slugOf(name)
	}
	w := &Workspace{
		ID: identity.WorkspaceID(id.New(identity.WorkspacePrefix)), Org: by.Org, Slug: slug, Name: name,
		CreatedBy: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At, Members: map[identity.UserID]Member{},
	}
	if err := w.check(true); err != nil {
		return nil, err
	}
	if reservedByRules(by, org, slug) {
		return nil, ErrSlugTaken
	}
	if by.User != "" {
		w.set(by, by.User, standing{role: identity.Owner, byHand: identity.Owner}, keysEnd)
	}
	w.record(by, "workspace.created", map[string]any{"slug": slug})
	return w, nil
}

// RoleOf returns by's role in w, capped at the ceiling of the credential. An API key has no role
// outside its own workspace. No other code decides this.
func (w *Workspace) RoleOf(by identity.Actor) identity.Role {
	if by.Org != w.Org || (by.Key != "" && by.Workspace != w.ID) || !w.DeletedAt.IsZero() {
		return identity.NoRole
	}
	return min(w.Members[by.User].Role, by.Ceiling)
}

// Allow returns nil if by has at least the role need. If by is not a member, it returns that w does not
// exist.
func (w *Workspace) Allow(by identity.Actor, need identity.Role) error {
	switch role := w.RoleOf(by); {
	case role == identity.NoRole:
		return identity.ErrWorkspaceNotFound
	case role < need && by.ReadOnly():
		return identity.ErrReadOnly
	case role < need:
		return identity.Needs(need)
	default:
		return nil
	}
}

// WorkspaceChanges are new values for some workspace fields; nil keeps the old one.
type WorkspaceChanges struct{ Slug, Name *string }

// Change applies changes. Requires the admin role. org is the org of w; nil has no rules (reservedByRules).
func (w *Workspace) Change(by identity.Actor, match revision.Match, org *identity.Org, c WorkspaceChanges) error {
	if err := w.Allow(by, identity.Admin); err != nil {
		return err
	}
	if err := match.Check(w.Revision); err != nil {
		return err
	}
	changes := map[string]any{}
	event.Set(&w.Slug, c.Slug, "slug", changes)
	c.Name = naming.Changed(w.Name, c.Name)
	event.Set(&w.Name, c.Name, "name", changes)
	if err := w.check(c.Name != nil); err != nil {
		return err
	}
	if _, isRenamed := changes["slug"]; isRenamed && reservedByRules(by, org, w.Slug) {
		return ErrSlugTaken
	}
	if len(changes) > 0 {
		w.touch(by)
		w.record(by, "workspace.updated", changes)
	}
	return nil
}

// Delete hides w from everyone. It can be restored within RestoreWithin. Requires the owner role, and
// Actor.SteppedUp.
func (w *Workspace) Delete(by identity.Actor, match revision.Match) error {
	if err := w.Allow(by, identity.Owner); err != nil {
		return err
	}
	if err := by.SteppedUp(); err != nil {
		return err
	}
	if err := match.Check(w.Revision); err != nil {
		return err
	}
	w.DeletedAt = by.At
	w.touch(by)
	w.record(by, "workspace.deleted", map[string]any{"slug": w.Slug})
	return nil
}

// Restore restores w within RestoreWithin. by must be the system. A live workspace stays as it is.
func (w *Workspace) Restore(by identity.Actor) error {
	switch {
	case by.User != "" || by.Org != w.Org || (!w.DeletedAt.IsZero() && by.At.Sub(w.DeletedAt) > RestoreWithin):
		return identity.ErrWorkspaceNotFound
	case w.DeletedAt.IsZero():
		return nil
	}
	w.DeletedAt = time.Time{}
	w.touch(by)
	w.record(by, "workspace.restored", map[string]any{"slug": w.Slug})
	return nil
}

// Admit grants a person of the org a role by hand. by must be the system: the deployment's
// administrator uses it at the command line.
func (w *Workspace) Admit(by identity.Actor, user identity.UserID, role identity.Role) error {
	if by.User != "" || by.Org != w.Org || !w.DeletedAt.IsZero() {
		return identity.ErrWorkspaceNotFound
	}
	if role == identity.NoRole {
		return fault.InvalidFields([]fault.Field{noRole})
	}
	if _, member := w.Members[user]; member {
		return ErrAlreadyMember
	}
	w.record(by, "member.added", map[string]any{"user_id": user, "role": role.String()})
	w.set(by, user, standing{role: role, byHand: role}, keysEnd)
	return nil
}

// Capture makes a person a member by a rule about the domain of their address, as if by hand. It does nothing if the
// person is a member. by must be the system.
func (w *Workspace) Capture(by identity.Actor, user identity.UserID, rule identity.Capture) error {
	if by.User != "" || by.Org != w.Org || !w.DeletedAt.IsZero() {
		return identity.ErrWorkspaceNotFound
	}
	if _, member := w.Members[user]; member {
		return nil
	}
	w.record(by, "member.added", map[string]any{
		"user_id": user, "role": rule.Role.String(), "email_domain": rule.Domain,
	})
	w.set(by, user, standing{role: rule.Role, byHand: rule.Role}, keysEnd)
	return nil
}

// ChangeRole grants a member a role by hand. Claim rules may raise it again with the next token, and
// never lower it. A higher role of the member's groups stays. Requires the admin role. A caller cannot
// grant, or take away, a role higher than their own, and a program cannot raise its creator. Service keys
// that the member created above a lower role end, unless keep is set; callers cannot keep their own.
func (w *Workspace) ChangeRole(
	by identity.Actor, match revision.Match, user identity.UserID, role identity.Role, keep KeepServiceKeys,
) (Member, error) {
	if err := w.Allow(by, identity.Admin); err != nil {
		return Member{}, err
	}
	m, ok := w.Members[user]
	if !ok {
		return Member{}, ErrMemberNotFound
	}
	if err := match.Check(m.Revision); err != nil {
		return Member{}, err
	}
	grants := m.Granted.byGroups()
	next := grants.highest(role)
	switch {
	case role == identity.NoRole:
		return Member{}, fault.InvalidFields([]fault.Field{noRole})
	case max(m.Role, role) > w.RoleOf(by):
		return Member{}, identity.ErrRoleCeiling.Because(
			"You cannot change the role of a member who is above you, or grant a role higher than your own.",
		)
	case m.Role == next && m.ByHand == role && len(m.Granted) == len(grants):
		return m, nil
	case role != identity.Owner && w.lastOwner(m):
		return Member{}, ErrLastOwner
	case next < m.Role && bool(keep) && w.actsFor(by, user):
		return Member{}, errKeepsOwn
	case next > m.Role && w.madeBy(by.User, user):
		return Member{}, errRaisesMaker
	}
	data := map[string]any{"user_id": user, "role": event.Change{From: m.Role.String(), To: role.String()}}
	w.set(by, user, standing{next, role, grants}, keep.fate()).describe(data)
	w.record(by, "member.updated", data)
	return w.Members[user], nil
}

// Remove ends a membership, with the user's API keys and shares in w, and the service keys that the
// user created unless keep is set. Requires the admin role; admins can remove members up to their own
// role. Every member may leave, but with an API key only if the key has the member's full role. A
// member who leaves cannot keep service keys, because they know the tokens.
func (w *Workspace) Remove(by identity.Actor, match revision.Match, user identity.UserID, keep KeepServiceKeys) error {
	leaving := user == by.User
	if err := w.Allow(by, identity.Viewer); err != nil {
		return err
	}
	role := w.RoleOf(by)
	switch {
	case by.ReadOnly():
		return identity.ErrReadOnly
	case !leaving && role < identity.Admin:
		return identity.Needs(identity.Admin)
	}
	m, ok := w.Members[user]
	if !ok {
		return ErrMemberNotFound
	}
	if err := match.Check(m.Revision); err != nil {
		return err
	}
	switch {
	case m.Role > role:
		return identity.ErrRoleCeiling.Because(
			"You cannot remove a member who is above you, or leave with a credential that allows less than your role.",
		)
	case w.lastOwner(m):
		return ErrLastOwner
	case bool(keep) && w.actsFor(by, user):
		return errKeepsOwn
	}
	w.endMembership(by, m, keep)
	return nil
}

func (w *Workspace) touch(by identity.Actor) {
	w.Revision++
	w.UpdatedAt = by.At
}

// record adds an event to the audit trail of w, whichever workspace the request named.
func (w *Workspace) record(by identity.Actor, kind string, data map[string]any) {
	by.Workspace = w.ID
	w.Record(by, kind, string(w.ID), data)
}

// check returns all errors in the fields of w; a stored name (not renamed) is not checked.
func (w *Workspace) check(isRenamed bool) error {
	var errs fault.Fields
	switch {
	case len(w.Slug) > 63 || !slugPattern.MatchString(w.Slug):
		errs.Add("/slug", "invalid_format", "Must have 1 to 63 of a-z, 0-9 and single hyphens between them.")
	case slices.Contains(reserved, w.Slug):
		errs.Add("/slug", "not_allowed_value", "Is reserved.")
	}
	switch n := utf8.RuneCountInString(w.Name); {
	case !isRenamed:
	case n == 0:
		errs.Add("/name", "too_short", "Must not be empty.")
	case n > 120:
		errs.Add("/name", "too_long", "Must have at most 120 characters.")
	case naming.Deceptive(w.Name):
		errs.Add("/name", "invalid_characters", naming.Refusal)
	}
	return errs.Err()
}
