// Package identity describes the caller: orgs, roles, and the actor of one request.
package identity

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// The identifiers are TypeIDs with the prefixes below. An empty identifier identifies nothing.
type (
	// OrgID identifies an org.
	OrgID string
	// UserID identifies an org user.
	UserID string
	// WorkspaceID identifies an org workspace.
	WorkspaceID string
	// KeyID identifies an API key.
	KeyID string
	// SessionID identifies a browser session.
	SessionID string
)

// The prefixes of identifiers.
const (
	OrgPrefix       = "org"
	UserPrefix      = "usr"
	WorkspacePrefix = "wsp"
	KeyPrefix       = "key"
	SessionPrefix   = "ses"
	GroupPrefix     = "grp" // of a group's UserID
)

// IsGroup reports whether id belongs to a group of people. It can have shares as a user can, and cannot sign in, own
// anything or be a workspace member.
func (id UserID) IsGroup() bool { return strings.HasPrefix(string(id), GroupPrefix+"_") }

// Errors that occur when Atrium determines the caller and the workspace.
var (
	ErrUnauthenticated = &fault.Error{Kind: fault.Unauthenticated, Code: "unauthenticated",
		Detail: "The request carries no valid credential."}
	ErrUnknownHost = &fault.Error{Kind: fault.Misdirected, Code: "unknown_host",
		Detail: "No organisation is configured for this host."}
	ErrWorkspaceRequired = &fault.Error{Kind: fault.Malformed, Code: "workspace_required",
		Detail: "Name a workspace in the Workspace-Id header."}
	ErrWorkspaceMismatch = &fault.Error{Kind: fault.Malformed, Code: "workspace_mismatch",
		Detail: "The Workspace-Id header names a workspace other than the one of the API key."}
	ErrWorkspaceNotFound = &fault.Error{Kind: fault.NotFound, Code: "workspace_not_found",
		Detail: "There is no such workspace."}
	ErrForbidden = &fault.Error{Kind: fault.Forbidden, Code: "forbidden",
		Detail: "Your role in this workspace does not allow that."}
	ErrReadOnly    = ErrForbidden.Because("This credential is read-only.")
	ErrRoleCeiling = &fault.Error{Kind: fault.Forbidden, Code: "role_ceiling",
		Detail: "You cannot grant a role higher than your own."}
)

// Role is a user's role in one workspace. Each role includes those below it. The zero Role is no role.
type Role int

// The roles, lowest first.
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

// WithArticle returns a role's name with its article: "an admin".
func (r Role) WithArticle() string {
	if r >= Admin {
		return "an " + r.String()
	}
	return "a " + r.String()
}

// Needs returns ErrForbidden with the role that the caller lacks.
func Needs(r Role) error {
	return ErrForbidden.Because(
		"Requires " + r.WithArticle() + " of the workspace, with a credential whose ceiling allows it.",
	)
}

// MayOwn returns an error unless by may become the owner of something that acts without a person, such as a webhook: by
// must be a person with the admin role.
func MayOwn(by Actor) error {
	switch {
	case by.Role < Admin:
		return Needs(Admin)
	case by.Service:
		return ErrForbidden.Because("A person must own it: a service key cannot.")
	}
	return nil
}

// Actor is the caller of one request: the user, the org and workspace, the time, and the credential.
// Only the HTTP adapter's authentication and System create actors.
type Actor struct {
	Org        OrgID
	User       UserID
	Workspace  WorkspaceID // empty if the request needs none
	Role       Role        // in Workspace, never above Ceiling
	Grouped    bool        // whether User is in a group of Workspace, or has a share of a folder
	Ceiling    Role        // of the credential: Viewer makes it read-only
	Operator   bool        // may manage the presences and accounts of the org
	Key        KeyID       // the API key of the request; empty if none
	KeyUntil   time.Time   // when that key ends; zero: never
	Scopes     Scopes      // of that key
	Networks   Networks    // of that key
	Session    SessionID   // the session of the request; empty if none. Key is then the key that opened it, if any
	SignedInAt time.Time   // when the session was opened or confirmed by a passkey; zero without one
	Service    bool        // whether User is a program, which cannot sign in
	At         time.Time   // when the request arrived, in UTC
	Request    Request

	// SecondFactor is whether the session, or the token of an issuer, showed a passkey or another second factor.
	SecondFactor bool
}

// Request is what the audit trail records about a request.
type Request struct {
	ID      string
	Address string // of the client, as far as trusted proxies vouch for it
}

// System returns the actor for work without a caller. The audit trail shows purpose.
func System(org OrgID, ws WorkspaceID, purpose string, now time.Time) Actor {
	return Actor{Org: org, Workspace: ws, Role: Owner, Ceiling: Owner, At: now.UTC(), Request: Request{ID: purpose}}
}

// ActorFor returns the actor for work that user asked for earlier and that is done now, in a request of by or in a job.
// It has no role until the caller sets the role that user has now. ceiling and key belong to the earlier request.
func ActorFor(by Actor, user UserID, key KeyID, ceiling Role) Actor {
	return Actor{Org: by.Org, User: user, Workspace: by.Workspace, Ceiling: ceiling, Key: key, At: by.At,
		Request: Request{ID: by.Request.ID}}
}

// StepUpWithin is how recently a session's user must have signed in, or used a passkey, for operations that cannot be
// undone.
const StepUpWithin = 10 * time.Minute

// ErrStepUpRequired is returned for operations that cannot be undone, to a session whose user last signed in, or used a
// passkey, more than StepUpWithin ago.
var ErrStepUpRequired = &fault.Error{
	Kind: fault.Forbidden, Code: "step_up_required",
	Detail: "This needs a recent sign-in, and yours is older than 10 minutes. Confirm with a passkey (POST " +
		"/api/auth/step-up) or sign in again, at a provider with max_age=0, then repeat the call.",
}

// SteppedUp returns ErrStepUpRequired if a uses a session whose user last signed in, or used a passkey, more than
// StepUpWithin ago: the browser may have been left unattended. Other credentials are not affected.
func (a Actor) SteppedUp() error {
	if a.Session != "" && a.At.Sub(a.SignedInAt) > StepUpWithin {
		return ErrStepUpRequired
	}
	return nil
}

// IsSystem reports whether a was created by System.
func (a Actor) IsSystem() bool { return a.User == "" }

// ReadOnly reports whether the credential may not change anything.
func (a Actor) ReadOnly() bool { return a.Ceiling <= Viewer }
