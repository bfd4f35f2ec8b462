// Package identity says who calls: orgs, roles, and the actor of one request.
package identity

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// The identifiers are TypeIDs with the prefixes below; the empty one is of nothing.
type (
	// OrgID identifies an org.
	OrgID string
	// UserID identifies a user of an org.
	UserID string
	// WorkspaceID identifies a workspace of an org.
	WorkspaceID string
	// KeyID identifies an API key.
	KeyID string
)

// The prefixes of identifiers.
const (
	OrgPrefix       = "org"
	UserPrefix      = "usr"
	WorkspacePrefix = "wsp"
	KeyPrefix       = "key"
)

// What can go wrong when Atrium finds out who calls, and where.
var (
	ErrUnauthenticated   = &fault.Error{Kind: fault.Unauthenticated, Code: "unauthenticated", Detail: "The request carries no valid credential."}
	ErrUnknownHost       = &fault.Error{Kind: fault.Misdirected, Code: "unknown_host", Detail: "No organisation is configured for this host."}
	ErrWorkspaceRequired = &fault.Error{Kind: fault.Malformed, Code: "workspace_required", Detail: "Name a workspace in the Workspace-Id header."}
	ErrWorkspaceMismatch = &fault.Error{Kind: fault.Malformed, Code: "workspace_mismatch", Detail: "The Workspace-Id header names a workspace other than the one of the API key."}
	ErrWorkspaceNotFound = &fault.Error{Kind: fault.NotFound, Code: "workspace_not_found", Detail: "There is no such workspace."}
	ErrForbidden         = &fault.Error{Kind: fault.Forbidden, Code: "forbidden", Detail: "Your role in this workspace does not allow that."}
	ErrReadOnly          = ErrForbidden.Because("The credential is for viewing alone.")
	ErrRoleCeiling       = &fault.Error{Kind: fault.Forbidden, Code: "role_ceiling", Detail: "You cannot grant a role higher than your own."}
)

// Role is a user's standing in one workspace. Each role includes those below it; the zero Role
// is none at all.
type Role int

// The roles, from none upwards.
const (
	NoRole Role = iota
	Viewer
	Member
	Admin
	Owner
)

var roleNames = [...]string{"", "viewer", "member", "admin", "owner"}

func (r Role) String() string { return roleNames[r] }

// ParseRole reads a role's name; anything else is NoRole.
func ParseRole(s string) Role {
	for r := Viewer; r <= Owner; r++ {
		if roleNames[r] == s {
			return r
		}
	}
	return NoRole
}

// WithArticle names a role as a sentence does: an admin.
func (r Role) WithArticle() string {
	if r >= Admin {
		return "an " + r.String()
	}
	return "a " + r.String()
}

// Needs returns ErrForbidden with the role that somebody lacks.
func Needs(r Role) error {
	return ErrForbidden.Because("That takes " + r.WithArticle() + " of the workspace, by a credential that allows as much.")
}

// Actor is the caller of one request: who, in which workspace of which org, when, and through
// what. Only the HTTP adapter's authentication and System make one.
type Actor struct {
	Org       OrgID
	User      UserID
	Workspace WorkspaceID // empty where a request needs none
	Role      Role        // in Workspace, never above Ceiling
	Ceiling   Role        // of the credential: Viewer caps every access at viewing
	Operator  bool        // may see to the org's presences
	Key       KeyID       // the API key that was used, if one was
	KeyUntil  time.Time   // when that key ends; zero for never
	Service   bool        // User is a program's: nobody signs in as it
	At        time.Time   // when the request came, in UTC
	Request   Request
}

// Request is what the audit trail keeps of a request.
type Request struct {
	ID      string
	Address string // of the client, as far as trusted proxies vouch for it
}

// System is the actor of work that no caller asked for: purpose names it in the audit trail.
func System(org OrgID, ws WorkspaceID, purpose string, now time.Time) Actor {
	return Actor{Org: org, Workspace: ws, Role: Owner, Ceiling: Owner, At: now.UTC(), Request: Request{ID: purpose}}
}

// IsSystem reports whether a is one of System.
func (a Actor) IsSystem() bool { return a.User == "" }

// ReadOnly reports whether the credential may change nothing at all.
func (a Actor) ReadOnly() bool { return a.Ceiling <= Viewer }
