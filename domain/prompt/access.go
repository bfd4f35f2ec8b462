package prompt

import (
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Access is what a user may do with a template. Each level includes those below it.
type Access int

// The levels, from none upwards.
const (
	None   Access = iota // the zero value: what nobody granted, nobody has
	View                 // the template and its frozen versions
	Edit                 // drafts, new versions, activation
	Manage               // shares, protection, protected activation
	Own                  // delete and transfer
)

var accessNames = [...]string{"", "viewer", "editor", "manager", "owner"}

func (a Access) String() string { return accessNames[a] }

// ParseAccess reads the name of a level that can be granted by a share; anything else is None.
func ParseAccess(s string) Access {
	for a := View; a <= Manage; a++ {
		if accessNames[a] == s {
			return a
		}
	}
	return None
}

// Access returns what by may do with t: the highest that any rule grants, cut down to viewing if
// the credential is for viewing. No other code decides this.
func (t *Template) Access(by identity.Actor) Access {
	if by.Workspace != t.Workspace || by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return None
	}
	have := None
	if t.Visibility == VisibleToWorkspace {
		have = View
	}
	if s, ok := t.Shares[by.User]; ok && s.Live(by.At) {
		have = max(have, s.Access)
	}
	switch {
	case by.User == t.Owner, by.Role == identity.Owner && t.OwnerLeft:
		have = Own
	case by.Role >= identity.Admin:
		have = max(have, Manage)
	}
	if by.ReadOnly() {
		have = min(have, View)
	}
	return have
}

// Allow returns nil if by has at least need, and tells who may not even see t that t does not
// exist.
func (t *Template) Allow(by identity.Actor, need Access) error {
	switch have := t.Access(by); {
	case have == None, !t.DeletedAt.IsZero():
		return ErrNotFound
	case have < need && by.ReadOnly():
		return ErrForbidden.Because("The credential is for viewing alone.")
	case have < need:
		return ErrForbidden.Because("That takes " + withArticle(need.String()) + " of the prompt template.")
	default:
		return nil
	}
}

// mayRelease is Allow for what decides which version others receive: activation and labels. Of a
// protected template that takes a manager.
func (t *Template) mayRelease(by identity.Actor) error {
	if err := t.Allow(by, Edit); err != nil || !t.Protected || t.Access(by) >= Manage {
		return err
	}
	return ErrForbidden.Because("The prompt template is protected: activating a version or moving a label takes a manager.")
}

// lacks is ErrVersionNotFound with what a reference to the active version would need.
func (t *Template) lacks(ref Ref) error {
	if ref.Active && t.Active.Version == "" {
		return ErrVersionNotFound.Because("No version of the prompt template is active yet. Activate one, or name a version.")
	}
	return ErrVersionNotFound
}

// Readable returns nil if by may read v, the version of t that ref names; nil if there is none.
func (t *Template) Readable(by identity.Actor, ref Ref, v *Version) error {
	if err := t.Allow(by, View); err != nil {
		return err
	}
	if !t.Has(by, v) {
		return t.lacks(ref)
	}
	return nil
}

// allow is Allow for a change, which may be meant for certain revisions only.
func (t *Template) allow(by identity.Actor, need Access, at revision.Match) error {
	if err := t.Allow(by, need); err != nil {
		return err
	}
	return at.Check(t.Revision)
}

// SeesDrafts reports whether by may see versions that were never activated or labelled.
func (t *Template) SeesDrafts(by identity.Actor) bool { return t.Access(by) >= Edit }
