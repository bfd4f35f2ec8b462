// Package access holds the roles on an object that its owner shares within a workspace, and what such
// objects have in common: chat templates and prompt templates.
package access

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

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

// Visibility determines who can view an object without a role on it.
type Visibility string

// The visibilities.
const (
	Private   Visibility = "private"
	Workspace Visibility = "workspace" // every member of the workspace may view it
)

// Check adds an error to wrong if v is not a visibility.
func (v Visibility) Check(errs *fault.Fields) {
	if v != Private && v != Workspace {
		errs.Add("/visibility", "not_allowed_value", "Must be private or workspace.")
	}
}

// Grant is the role that one user was granted on an object.
type Grant struct {
	User      identity.UserID
	By        Source    // ByShare, or the highest role by groups or by folders
	Folder    string    // the shared folder, if By is ByFolder
	Role      Role      // None: no role
	ExpiresAt time.Time // zero: never
}

// Grants are an object's grants that were loaded with it: at least the grant of the user it was loaded for. Only the
// rules of this package read them.
type Grants []Grant

// highest returns the grant that gives by the highest role; a grant with the role None if no grant applies.
func (g Grants) highest(by identity.Actor) (highest Grant) {
	for _, one := range g {
		isLive := one.ExpiresAt.IsZero() || by.At.Before(one.ExpiresAt)
		if one.User == by.User && isLive && one.Role > highest.Role {
			highest = one
		}
	}
	return highest
}

// Set replaces the grant of one user, and keeps what their groups and folders give.
func (g *Grants) Set(one Grant) {
	isReplaced := func(old Grant) bool { return old.User == one.User && old.By == one.By }
	*g = append(slices.DeleteFunc(slices.Clone(*g), isReplaced), one)
}

// Subject holds the facts that decide who may view and edit an object.
type Subject struct {
	Workspace  identity.WorkspaceID
	Owner      identity.UserID
	Visibility Visibility
	Grants     Grants
}

// CanView reports whether by may view the object.
func (s Subject) CanView(by identity.Actor) bool { return s.effective(by, false).Role >= Viewer }

// CanEdit reports whether by may edit the object.
func (s Subject) CanEdit(by identity.Actor) bool { return s.effective(by, false).Role >= Editor }

// effective returns by's role and where it comes from: the highest role that any rule gives, reduced to Viewer if the
// credential is read-only. A user outside the workspace has the role None, whatever was granted. If the object's owner
// left the workspace, the workspace's owners act for them. No other code decides this.
func (s Subject) effective(by identity.Actor, ownerLeft bool) Reason {
	if by.Workspace != s.Workspace || by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return Reason{}
	}
	grant := s.Grants.highest(by)
	reason := Reason{grant.Role, grant.By, grant.Folder}
	if s.Visibility == Workspace {
		reason = reason.atLeast(Viewer, ByVisibility)
	}
	switch {
	case by.User == s.Owner:
		reason = Reason{Role: Owner, By: ByOwnership}
	case by.Role == identity.Owner && ownerLeft:
		reason = Reason{Role: Owner, By: ByWorkspace}
	case by.Role >= identity.Admin:
		reason = reason.atLeast(Manager, ByWorkspace)
	}
	if by.ReadOnly() {
		reason.Role = min(reason.Role, Viewer)
	}
	return reason
}
