// Package access holds the roles on an object that its owner shares within a workspace: chat templates
// and prompt templates.
package access

import "github.com/atrium-hq/atrium/domain/identity"

// Role is what a user may do with one object. Each role includes those below it.
type Role int

// The roles, lowest first.
const (
	None    Role = iota // the zero value: no role was granted
	Viewer              // view it, without drafts and other people's private data
	Editor              // change its content
	Manager             // grant and revoke roles
	Owner               // delete it and transfer it
)

var names = [...]string{"", "viewer", "editor", "manager", "owner"}

func (r Role) String() string { return names[r] }

// Parse returns the role with a name. Owner cannot be granted, so Parse returns None for it, as for any
// unknown name.
func Parse(s string) Role {
	for r := Viewer; r <= Manager; r++ {
		if names[r] == s {
			return r
		}
	}
	return None
}

// Visibility says who can view an object without a role on it.
type Visibility string

// The visibilities.
const (
	Private   Visibility = "private"
	Workspace Visibility = "workspace" // every member of the workspace may view it
)

// Standing holds the facts, besides granted roles, that decide a caller's role on one object.
type Standing struct {
	Workspace  identity.WorkspaceID
	Owner      identity.UserID
	OwnerLeft  bool // the owner left the workspace: the workspace's owners act for them
	Visibility Visibility
}

// Role returns by's role: the highest that any rule gives, reduced to Viewer if the credential is
// read-only. A user outside the workspace has None, whatever was granted. No other code decides this.
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
