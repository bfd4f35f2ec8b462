// Package access is the ladder of roles on which people stand to what one of them made in a
// workspace and others may see, change or manage: chat templates and prompt templates.
package access

import "github.com/atrium-hq/atrium/domain/identity"

// Role is what a user may do with one thing. Each role includes those below it.
type Role int

// The roles, from none upwards.
const (
	None    Role = iota // the zero value: what nobody granted, nobody has
	Viewer              // see it, without what is still a draft or is nobody else's business
	Editor              // change its content
	Manager             // decide who else may
	Owner               // delete it, and give it away
)

var names = [...]string{"", "viewer", "editor", "manager", "owner"}

func (r Role) String() string { return names[r] }

// Parse reads the name of a role that can be granted, which Owner cannot; anything else is None.
func Parse(s string) Role {
	for r := Viewer; r <= Manager; r++ {
		if names[r] == s {
			return r
		}
	}
	return None
}

// Visibility says who sees a thing to whom nobody granted it.
type Visibility string

// The visibilities.
const (
	Private   Visibility = "private"
	Workspace Visibility = "workspace" // every member of the workspace may view it
)

// Standing is what decides, beside what was granted to a caller, how they stand to one thing.
type Standing struct {
	Workspace  identity.WorkspaceID
	Owner      identity.UserID
	OwnerLeft  bool // the workspace: its owners stand in
	Visibility Visibility
}

// Role returns by's role: the highest that any rule gives, cut down to viewing if the credential is
// for viewing. Who is not in the workspace has none, whatever was granted. No other code decides
// this.
func (s Standing) Role(by identity.Actor, granted Role) Role {
	if by.Workspace != s.Workspace || by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return None
	}
	have := granted
	if s.Visibility == Workspace {
		have = max(have, Viewer)
	}
	switch {
	case by.User == s.Owner, by.Role == identity.Owner && s.OwnerLeft:
		have = Owner
	case by.Role >= identity.Admin:
		have = max(have, Manager)
	}
	if by.ReadOnly() {
		have = min(have, Viewer)
	}
	return have
}
