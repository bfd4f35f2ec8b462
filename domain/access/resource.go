package access

import (
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// RestoreWithin is the time within which a deleted resource can be restored.
const RestoreWithin = 30 * 24 * time.Hour

// Resource is what all objects that users share have in common: access, ownership and deletion.
type Resource struct {
	event.Log
	Subject
	OwnerLeft bool // the owner left the workspace: the workspace's owners act for them
	Revision  int64
	CreatedAt time.Time
	CreatedBy identity.UserID
	UpdatedAt time.Time
	DeletedAt time.Time // zero: live
}

// Kind holds the errors and names for a resource kind.
type Kind struct {
	Noun      string       // for people: prompt template
	NotFound  *fault.Error // for those who may not see a resource, too
	Forbidden *fault.Error

	// The types of events.
	Deleted, Restored, Transferred string
}

// Object names one resource in errors and events.
type Object struct {
	*Kind
	ID, Name string
}

// NewResource returns a resource that by creates and owns, private unless a visibility is given.
func NewResource(by identity.Actor, v Visibility) Resource {
	if v == "" {
		v = Private
	}
	return Resource{
		Subject:  Subject{Workspace: by.Workspace, Owner: by.User, Visibility: v},
		Revision: 1, CreatedAt: by.At, CreatedBy: by.User, UpdatedAt: by.At,
	}
}

// Access returns what by may do with r.
func (r *Resource) Access(by identity.Actor) Role { return r.Reason(by).Role }

// Reason is Access with where it comes from.
func (r *Resource) Reason(by identity.Actor) Reason { return r.effective(by, r.OwnerLeft) }

// Require returns nil if by has at least the role need. It returns k.NotFound if r is deleted or by may
// not see it, and otherwise k.Forbidden.
func (r *Resource) Require(by identity.Actor, k *Kind, need Role) error {
	switch role := r.Access(by); {
	case role == None, !r.DeletedAt.IsZero():
		return k.NotFound
	case role < need && by.ReadOnly():
		return k.Forbidden.Because("This credential is read-only.")
	case role < need:
		return k.Forbidden.Because("Requires the " + need.String() + " role on the " + k.Noun + ".")
	default:
		return nil
	}
}

// Delete hides o from everyone. It can be restored for RestoreWithin.
func (r *Resource) Delete(by identity.Actor, o Object, match revision.Match) error {
	if err := r.Require(by, o.Kind, Owner); err != nil {
		return err
	}
	if err := match.Check(r.Revision); err != nil {
		return err
	}
	r.DeletedAt = by.At
	r.Record(by, o.Deleted, o.ID, map[string]any{"name": o.Name})
	r.Touch(by)
	return nil
}

// Restore restores o within RestoreWithin of its deletion. Requires its owner or an admin of the
// workspace. Restoring a live one changes nothing.
func (r *Resource) Restore(by identity.Actor, o Object) error {
	role := r.Access(by)
	isAllowed := role >= Owner || (role >= Manager && by.Role >= identity.Admin)
	switch {
	case role == None, !isAllowed && !r.DeletedAt.IsZero(): // for everyone else a deleted resource does not exist
		return o.NotFound
	case !isAllowed:
		return o.Forbidden
	case r.DeletedAt.IsZero():
		return nil
	case by.At.Sub(r.DeletedAt) > RestoreWithin:
		return o.NotFound
	}
	r.DeletedAt = time.Time{}
	r.Record(by, o.Restored, o.ID, map[string]any{"name": o.Name})
	r.Touch(by)
	return nil
}

// Transfer makes to the owner of o. The user who owned o becomes a manager, so that a transfer does not
// lock them out by accident. Transfer returns that user; empty if they left the workspace.
func (r *Resource) Transfer(by identity.Actor, o Object, user identity.UserID) (manager identity.UserID) {
	r.Record(by, o.Transferred, o.ID, map[string]any{"owner": event.Change{From: r.Owner, To: user}})
	if !r.OwnerLeft {
		manager = r.Owner
		r.Grants.Set(Grant{User: manager, Role: Manager})
	}
	r.Owner, r.OwnerLeft = user, false
	return manager
}

// Touch increments the revision if anything was recorded.
func (r *Resource) Touch(by identity.Actor) {
	if len(r.Recorded()) > 0 {
		r.Revision++
		r.UpdatedAt = by.At
	}
}
