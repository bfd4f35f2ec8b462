package chat

import (
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Access returns what by may do with t. Viewers see it without its instructions and configurations.
// Editors change its content and workflows. Managers change its status, embed tokens and members.
func (t *Template) Access(by identity.Actor) access.Role {
	granted := access.None
	if m, ok := t.Members[by.User]; ok && !m.Invited {
		granted = m.Role
	}
	return access.Standing{Workspace: t.Workspace, Owner: t.Owner, OwnerLeft: t.OwnerLeft, Visibility: t.Visibility}.Role(by, granted)
}

// Allow returns nil if by has at least the role need, and an error that t does not exist if by may not
// see t.
func (t *Template) Allow(by identity.Actor, need access.Role) error {
	switch have := t.Access(by); {
	case have == access.None, !t.DeletedAt.IsZero():
		return ErrNotFound
	case have < need:
		return ErrForbidden
	default:
		return nil
	}
}

// allow is Allow for a change, which may be conditional on certain revisions.
func (t *Template) allow(by identity.Actor, need access.Role, at revision.Match) error {
	if err := t.Allow(by, need); err != nil {
		return err
	}
	return at.Check(t.Revision)
}

// SeesInside reports whether by may see instructions, the prompt that holds them, and configurations.
func (t *Template) SeesInside(by identity.Actor) bool { return t.Access(by) >= access.Editor }
