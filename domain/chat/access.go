package chat

import (
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Role is what a user may do with a template. Each role includes those below it.
type Role int

// The roles, from none upwards.
const (
	NoRole  Role = iota // the zero value: what nobody granted, nobody has
	Viewer              // the template without its instructions and configurations, and its members
	Editor              // its content and workflows
	Manager             // status, visibility, embed tokens, members
	Owner               // delete and transfer
)

var roleNames = [...]string{"", "viewer", "editor", "manager", "owner"}

func (r Role) String() string { return roleNames[r] }

// ParseRole reads the name of a role that a member can be given; anything else is NoRole.
func ParseRole(s string) Role {
	for r := Viewer; r <= Manager; r++ {
		if roleNames[r] == s {
			return r
		}
	}
	return NoRole
}

// Access returns by's role: the highest that any rule grants, cut down to viewing if the
// credential is for viewing. Who is not in the workspace has none, whatever membership is left.
// No other code decides this.
func (t *Template) Access(by identity.Actor) Role {
	if by.Workspace != t.Workspace || by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return NoRole
	}
	have := NoRole
	if t.Visibility == VisibleToWorkspace {
		have = Viewer
	}
	if m, ok := t.Members[by.User]; ok && !m.Invited {
		have = max(have, m.Role)
	}
	switch {
	case by.User == t.Owner, by.Role == identity.Owner && t.OwnerLeft:
		have = Owner
	case by.Role >= identity.Admin:
		have = max(have, Manager)
	}
	if by.ReadOnly() {
		have = min(have, Viewer)
	}
	return have
}

// Allow returns nil if by has at least the role need, and tells who may not even see t that t does
// not exist.
func (t *Template) Allow(by identity.Actor, need Role) error {
	switch have := t.Access(by); {
	case have == NoRole, !t.DeletedAt.IsZero():
		return ErrNotFound
	case have < need:
		return ErrForbidden
	default:
		return nil
	}
}

// allow is Allow for a change, which may be meant for certain revisions only.
func (t *Template) allow(by identity.Actor, need Role, at revision.Match) error {
	if err := t.Allow(by, need); err != nil {
		return err
	}
	return at.Check(t.Revision)
}

// SeesInside reports whether by may see instructions, the prompt that holds them, and
// configurations.
func (t *Template) SeesInside(by identity.Actor) bool { return t.Access(by) >= Editor }
