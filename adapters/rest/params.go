package rest

import (
	"strconv"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// pathID returns the identifier in a path. A malformed one, or one of another kind, becomes the empty id, which nothing
// has.
func pathID[T ~string](r *request, variable, prefix string) T {
	s := pathVar(r.Request, variable)
	if !id.Valid(prefix, s) {
		return ""
	}
	return T(s)
}

// queryID returns the identifier in a query parameter. A malformed one, or one of another kind, identifies nothing.
func queryID[T ~string](r *request, name, prefix string) T {
	if s := r.query.Get(name); id.Valid(prefix, s) {
		return T(s)
	}
	return T(prefix)
}

// number returns an integer in a query parameter, which the contract check has ensured.
func (r *request) number(name string, otherwise int) int {
	if n, err := strconv.Atoi(r.query.Get(name)); err == nil {
		return n
	}
	return otherwise
}

// granteeID returns the id in the path of a user or a group.
func granteeID(r *request) identity.UserID {
	if s := pathVar(r.Request, "user_id"); id.Valid(identity.GroupPrefix, s) {
		return identity.UserID(s)
	}
	return memberID(r)
}

// workspaceID returns the workspace that the path names, by id or slug as the Workspace-Id header does. It is empty if
// the path names none, or by a slug that no workspace of the caller has.
func workspaceID(r *request) identity.WorkspaceID {
	if id := pathID[identity.WorkspaceID](r, "workspace_id", identity.WorkspacePrefix); id != "" {
		return id
	}
	slug := pathVar(r.Request, "workspace_id")
	if slug == "" || r.owner == nil {
		return ""
	}
	for i := range r.person().Memberships {
		if w := &r.person().Memberships[i].Workspace; w.Slug == slug {
			return w.ID
		}
	}
	return ""
}

func memberID(r *request) identity.UserID {
	return pathID[identity.UserID](r, "user_id", identity.UserPrefix)
}
