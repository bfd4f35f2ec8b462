package server

import (
	"strconv"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// PathID returns the identifier in a path. A malformed one, or one of another kind, becomes the empty id, which nothing
// has.
func PathID[T ~string](r *Call, variable, prefix string) T {
	s := PathVar(r.Request, variable)
	if !id.Valid(prefix, s) {
		return ""
	}
	return T(s)
}

// QueryID returns the identifier in a query parameter. A malformed one, or one of another kind, identifies nothing.
func QueryID[T ~string](r *Call, name, prefix string) T {
	if s := r.Query.Get(name); id.Valid(prefix, s) {
		return T(s)
	}
	return T(prefix)
}

// Number returns an integer in a query parameter, which the contract check has ensured.
func (r *Call) Number(name string, otherwise int) int {
	if n, err := strconv.Atoi(r.Query.Get(name)); err == nil {
		return n
	}
	return otherwise
}

// GranteeID returns the user's or group's id in the path.
func GranteeID(r *Call) identity.UserID {
	if s := PathVar(r.Request, "user_id"); id.Valid(identity.GroupPrefix, s) {
		return identity.UserID(s)
	}
	return MemberID(r)
}

// WorkspaceID returns the workspace that the path names, by id or slug as the Workspace-Id header does. It is empty if
// the path names none, or by a slug that no workspace of the caller has.
func WorkspaceID(r *Call) identity.WorkspaceID {
	if id := PathID[identity.WorkspaceID](r, "workspace_id", identity.WorkspacePrefix); id != "" {
		return id
	}
	slug := PathVar(r.Request, "workspace_id")
	if slug == "" || r.owner == nil {
		return ""
	}
	for i := range r.Person().Memberships {
		if w := &r.Person().Memberships[i].Workspace; w.Slug == slug {
			return w.ID
		}
	}
	return ""
}

// MemberID returns a user's id in the path.
func MemberID(r *Call) identity.UserID {
	return PathID[identity.UserID](r, "user_id", identity.UserPrefix)
}
