package prompt

import (
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Access returns what by may do with t. Viewers see frozen versions, editors write and activate,
// managers share and protect.
func (t *Template) Access(by identity.Actor) access.Role {
	granted := access.None
	if s, ok := t.Shares[by.User]; ok && s.Live(by.At) {
		granted = s.Role
	}
	return access.Standing{Workspace: t.Workspace, Owner: t.Owner, OwnerLeft: t.OwnerLeft, Visibility: t.Visibility}.Role(by, granted)
}

// Allow returns nil if by has at least need, and an error that t does not exist if by may not see t.
func (t *Template) Allow(by identity.Actor, need access.Role) error {
	switch have := t.Access(by); {
	case have == access.None, !t.DeletedAt.IsZero():
		return ErrNotFound
	case have < need && by.ReadOnly():
		return ErrForbidden.Because("The credential is for viewing alone.")
	case have < need:
		return ErrForbidden.Because("That takes " + withArticle(need.String()) + " of the prompt template.")
	default:
		return nil
	}
}

// mayRelease is Allow for changes that decide which version others receive: activation and labels. A
// protected template requires the manager role.
func (t *Template) mayRelease(by identity.Actor) error {
	if err := t.Allow(by, access.Editor); err != nil || !t.Protected || t.Access(by) >= access.Manager {
		return err
	}
	return ErrForbidden.Because(
		"The prompt template is protected: activating a version or moving a label requires the manager role.",
	)
}

// lacks returns ErrVersionNotFound with a detail on what a reference to the active version needs.
func (t *Template) lacks(ref Ref) error {
	if ref.Active && t.Active.Version == "" {
		return ErrVersionNotFound.Because(
			"No version of the prompt template is active yet. Activate one, or name a version.",
		)
	}
	return ErrVersionNotFound
}

// Readable returns nil if by may read v, the version of t that ref names; v is nil if there is none.
func (t *Template) Readable(by identity.Actor, ref Ref, v *Version) error {
	if err := t.Allow(by, access.Viewer); err != nil {
		return err
	}
	if !t.Has(by, v.info()) {
		return t.lacks(ref)
	}
	return nil
}

// allow is Allow for a change, which may be conditional on certain revisions.
func (t *Template) allow(by identity.Actor, need access.Role, at revision.Match) error {
	if err := t.Allow(by, need); err != nil {
		return err
	}
	return at.Check(t.Revision)
}

// SeesDrafts reports whether by may see versions that were never activated or labelled.
func (t *Template) SeesDrafts(by identity.Actor) bool { return t.Access(by) >= access.Editor }
