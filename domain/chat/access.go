package chat

import (
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// kind is what access rules need to know about templates. Viewers see them without their instructions and
// configurations. Editors change their content and workflows. Managers change their status, embed tokens
// and members.
var kind = access.Kind{
	Noun: "chat template", NotFound: ErrNotFound, Forbidden: ErrForbidden,
	Deleted: "chat_template.deleted", Restored: "chat_template.restored", Transferred: "chat_template.transferred",
}

func (t *Template) object() access.Object {
	return access.Object{Kind: &kind, ID: string(t.ID), Name: t.Name}
}

// Allow returns nil if by has at least the role need, and an error that t does not exist if by may not
// see t.
func (t *Template) Allow(by identity.Actor, need access.Role) error {
	return t.Require(by, &kind, need)
}

// allow is Allow for a change, which may be conditional on certain revisions.
func (t *Template) allow(by identity.Actor, need access.Role, match revision.Match) error {
	if err := t.Allow(by, need); err != nil {
		return err
	}
	return match.Check(t.Revision)
}

// Delete hides t from everyone. It can be restored for RestoreWithin.
func (t *Template) Delete(by identity.Actor, match revision.Match) error {
	return t.Resource.Delete(by, t.object(), match)
}

// Restore restores a deleted template within RestoreWithin. Requires its owner or an admin of the
// workspace. Restoring a live one changes nothing.
func (t *Template) Restore(by identity.Actor) error { return t.Resource.Restore(by, t.object()) }

// SeesInside reports whether by may see instructions, the prompt that holds them, and configurations.
func (t *Template) SeesInside(by identity.Actor) bool { return t.CanEdit(by) }
