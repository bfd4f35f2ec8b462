// Package account holds an org's people, their workspaces, and the API keys that people and programs use.
package account

import (
	"slices"
	"strings"
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

// Errors about users.
var (
	ErrUserNotFound = &fault.Error{Kind: fault.NotFound, Code: "user_not_found", Detail: "There is no such user."}
	// ErrUserDisabled refuses a new credential to a person whose account is disabled. It is an ErrUserNotFound.
	ErrUserDisabled = ErrUserNotFound.Because("The account is disabled. Enable it first.")
	ErrEmailTaken   = &fault.Error{Kind: fault.Conflict, Code: "email_taken",
		Detail: "A user with this e-mail address already exists."}
)

// User is a person, or the user of a service key, in one org.
type User struct {
	event.Log
	ID               identity.UserID
	Org              identity.OrgID
	Email            string // as entered; compared by EmailKey; empty for a service key's user
	EmailVerified    bool   // EmailVerifiedBy vouches for it
	EmailVerifiedBy  string // an issuer's URL, VerifiedByOperator, ByInvitation or ByMailbox; empty if unknown
	Name             string // up to 120 characters
	Service          bool   // bears service keys and cannot sign in
	Operator         bool
	DisabledAt       time.Time            // zero: enabled; otherwise none of the user's credentials works
	ErasedAt         time.Time            // zero: not erased; otherwise the person's data is gone, or about to be
	OperatorByHand   bool                 // made an operator at the command line
	OperatorBy       []string             // the issuers whose claim rules make the user an operator, sorted
	DefaultWorkspace identity.WorkspaceID // empty: none chosen
	Revision         int64
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// VerifiedByOperator is User.EmailVerifiedBy if an account was created at the command line.
const VerifiedByOperator = "operator"

// VerifiedByInvitation is User.EmailVerifiedBy if an account was created by accepting an invitation without an issuer.
// Only the inviter vouches for the address, and the inviter has the link, too. So no issuer's token joins the account,
// and a person who proves the address takes it over (Access.ConfirmAddress).
const VerifiedByInvitation = "invitation"

// Membership is a user's role in a workspace.
type Membership struct {
	Workspace Workspace
	Role      identity.Role
	ByHand    identity.Role // as in Member
	Granted   Granted
	Grouped   bool // whether the user is in a group of Workspace, or has a share of a folder of prompts
}

// MembershipPage is one page with a user's memberships.
type MembershipPage = page.Of[Membership]

// Principal is the identity behind an API key: a user with a role in the key's workspace. Role is
// NoRole if the user is no longer a member.
type Principal struct {
	User       User
	Membership Membership
	Key        Key
}

// Live reports whether p's key works at this moment: its user may have left the workspace or be disabled, and policy
// may forbid personal keys.
func (p *Principal) Live(policy identity.KeyPolicy, now time.Time) bool {
	isAllowed := p.Key.Service || p.User.Service || !policy.NoPersonal
	return p.Key.Live(now) && p.Membership.Role != identity.NoRole && p.User.Enabled() && isAllowed
}

// Enabled reports whether u's credentials can work.
func (u *User) Enabled() bool { return u.DisabledAt.IsZero() }

// Erased reports whether u's data was erased. An erased person is disabled permanently.
func (u *User) Erased() bool { return !u.ErasedAt.IsZero() }

// Select returns a request's workspace, which is the key's own. identity.ErrWorkspaceMismatch if the request names
// another, whether that workspace exists or not.
func (p *Principal) Select(id string) (Membership, error) {
	if ws := p.Membership.Workspace; id != "" && id != string(ws.ID) && id != ws.Slug {
		return Membership{}, identity.ErrWorkspaceMismatch
	}
	return p.Membership, nil
}

// NewUser creates a user of by's org. by must be the system, which vouches for the address.
func NewUser(by identity.Actor, email, name string, operator bool) (*User, error) {
	if err := fault.InvalidFields(emailFaults(email)); err != nil {
		return nil, err
	}
	name = naming.Normal(name)
	if err := checkUserName(name); err != nil {
		return nil, err
	}
	u := &User{
		ID: identity.UserID(id.New(identity.UserPrefix)), Org: by.Org, Email: email, EmailVerified: true,
		EmailVerifiedBy: VerifiedByOperator, Name: name,
		Operator: operator, OperatorByHand: operator,
		Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
	u.Record(by, "user.created", string(u.ID), map[string]any{"operator": operator})
	return u, nil
}

// UserChanges are new values for some user fields; nil keeps the old one.
type UserChanges struct {
	Name             *string
	DefaultWorkspace *identity.WorkspaceID // empty clears it
}

// VisibleDefault returns u's default workspace if by may see it. An API key sees only its own workspace.
func (u *User) VisibleDefault(by identity.Actor) identity.WorkspaceID {
	if by.Key != "" && u.DefaultWorkspace != by.Workspace {
		return ""
	}
	return u.DefaultWorkspace
}

// Change applies changes that by makes to its own user. m are the user's memberships; each of their
// workspaces records the event. A default workspace that by does not see (VisibleDefault) cannot be
// cleared, and an API key can choose only its own workspace.
func (u *User) Change(by identity.Actor, match revision.Match, m []Membership, c UserChanges) error {
	if by.User != u.ID {
		return ErrUserNotFound
	}
	if by.ReadOnly() {
		return identity.ErrReadOnly
	}
	if err := match.Check(u.Revision); err != nil {
		return err
	}
	changes := map[string]any{}
	if name := naming.Changed(u.Name, c.Name); name != nil {
		if err := checkUserName(*name); err != nil {
			return err
		}
		u.Name = *name
		changes["name"] = true
	}
	if ws := c.DefaultWorkspace; ws != nil && *ws != u.VisibleDefault(by) {
		if *ws != "" && !memberOf(VisibleMemberships(by, m), *ws) {
			return identity.ErrWorkspaceNotFound
		}
		changes["default_workspace_id"] = true // a workspace's trail must not name another workspace
		u.DefaultWorkspace = *ws
	}
	u.update(by, idsOf(m), changes)
	return nil
}

// idsOf returns the workspaces of memberships.
func idsOf(m []Membership) []identity.WorkspaceID {
	ids := make([]identity.WorkspaceID, len(m))
	for i := range m {
		ids[i] = m[i].Workspace.ID
	}
	return ids
}

// update records the changes of u, if there are any.
func (u *User) update(by identity.Actor, workspaces []identity.WorkspaceID, changes map[string]any) {
	if len(changes) == 0 {
		return
	}
	u.Revision++
	u.UpdatedAt = by.At
	u.recordInWorkspaces(by, workspaces, "user.updated", changes)
}

// maxUserEvents is the maximum number of a user's workspaces whose trails record a change.
const maxUserEvents = 20

// recordInWorkspaces records an event in the trails of u's newest workspaces, at most maxUserEvents, or, without one,
// in the trail of no workspace. workspaces are sorted, oldest first. data never contains a name or an address.
func (u *User) recordInWorkspaces(
	by identity.Actor, workspaces []identity.WorkspaceID, kind string, data map[string]any,
) {
	if len(workspaces) == 0 {
		workspaces = []identity.WorkspaceID{""}
	}
	for _, by.Workspace = range workspaces[max(0, len(workspaces)-maxUserEvents):] {
		u.Record(by, kind, string(u.ID), data)
	}
}

// Appoint makes u, whose memberships are m, an operator of the org. by must be the system.
func (u *User) Appoint(by identity.Actor, m []Membership) error {
	if by.User != "" || by.Org != u.Org {
		return ErrUserNotFound
	}
	if !u.OperatorByHand {
		u.update(by, idsOf(m), map[string]any{"operator": event.Change{From: u.Operator, To: true}})
	}
	u.Operator, u.OperatorByHand = true, true
	return nil
}

func checkUserName(name string) error {
	if utf8.RuneCountInString(name) <= 120 && !naming.Deceptive(name) {
		return nil
	}
	return fault.InvalidFields([]fault.Field{{
		Pointer: "/name", Code: "invalid_format",
		Detail: "Must have at most 120 characters, none of them a control, invisible or direction-changing character.",
	}})
}

func memberOf(m []Membership, ws identity.WorkspaceID) bool {
	for _, one := range m {
		if one.Workspace.ID == ws {
			return true
		}
	}
	return false
}

// VisibleMemberships returns the caller's memberships that its credential can use.
func VisibleMemberships(by identity.Actor, all []Membership) []Membership {
	if by.Key == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m Membership) bool { return m.Workspace.ID != by.Workspace })
}

// Permissions returns what an actor's role permits in its workspace, for user interfaces that show or
// hide controls. It is advisory: each call checks the rules.
func Permissions(by identity.Actor) []string {
	all := []struct {
		name  string
		role  identity.Role
		scope identity.Scope
	}{
		{"prompt_templates.read", identity.Viewer, "prompts:read"},
		{"prompt_templates.create", identity.Member, "prompts:write"},
		{"chat_templates.read", identity.Viewer, "chats:read"},
		{"chat_templates.create", identity.Member, "chats:write"},
		{"connections.read", identity.Viewer, "connections:read"},
		{"connections.create", identity.Member, "connections:write"},
		{"connections.manage", identity.Admin, "connections:write"},
		{"sources.read", identity.Viewer, "sources:read"},
		{"sources.create", identity.Member, "sources:write"},
		{"sources.manage", identity.Admin, "sources:write"},
		{"payments.read", identity.Viewer, "payments:read"},
		{"payments.manage", identity.Admin, "payments:write"},
		{"presence.read", identity.Viewer, "presence:read"},
		{"presence.report", identity.Viewer, "presence:write"},
		{"api_keys.create", identity.Viewer, "keys:write"},
		{"api_keys.manage", identity.Admin, "keys:write"},
		{"members.read", identity.Viewer, "members:read"},
		{"members.manage", identity.Admin, "members:write"},
		{"workspace.update", identity.Admin, "workspace:write"},
		{"workspace.delete", identity.Owner, "workspace:write"},
		{"events.read", identity.Admin, "events:read"},
		{"webhooks.manage", identity.Admin, "webhooks:write"},
	}
	out := []string{} // encodes as an empty list, not as null
	for _, p := range all {
		if by.Role >= p.role && by.Scopes.Allow(p.scope) && (strings.HasSuffix(p.name, ".read") || !by.ReadOnly()) {
			out = append(out, p.name)
		}
	}
	return out
}
