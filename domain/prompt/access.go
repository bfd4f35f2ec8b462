package prompt

import (
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// kind is what access rules need to know about templates. Viewers see frozen versions, editors write and
// activate, managers share and protect.
var kind = access.Kind{
	Noun: "prompt template", NotFound: ErrNotFound, Forbidden: ErrForbidden,
	Deleted: "prompt_template.deleted", Restored: "prompt_template.restored",
	Transferred: "prompt_template.transferred",
}

func (t *Template) object() access.Object {
	return access.Object{Kind: &kind, ID: string(t.ID), Name: t.Name}
}

// Allow returns nil if by has at least need, and an error that t does not exist if by may not see t.
func (t *Template) Allow(by identity.Actor, need access.Role) error {
	return t.Require(by, &kind, need)
}

// Delete hides t from everyone. It can be restored for RestoreWithin.
func (t *Template) Delete(by identity.Actor, match revision.Match) error {
	return t.Resource.Delete(by, t.object(), match)
}

// Use is a chat template, or another prompt, that uses a prompt.
type Use struct {
	ID        string
	Name      string
	Owner     identity.UserID
	OwnerName string // empty if the owner has none
}

// Orphan records, for the owners of the chat templates that use t, that their templates lost it.
func (t *Template) Orphan(by identity.Actor, uses []Use) {
	for _, u := range uses {
		t.Record(by, "chat_template.degraded", u.ID, map[string]any{"owner_id": u.Owner, "prompt_template_id": t.ID})
	}
}

// Restore restores a deleted template within RestoreWithin. Requires its owner or an admin of the
// workspace. Restoring a live one changes nothing.
func (t *Template) Restore(by identity.Actor) error { return t.Resource.Restore(by, t.object()) }

// mayRelease is Allow for changes that decide which version others receive: activation and labels. A
// protected template requires the manager role.
func (t *Template) mayRelease(by identity.Actor) error {
	if err := t.Allow(by, access.Editor); err != nil || !t.Protected || t.Access(by) >= access.Manager {
		return err
	}
	return ErrForbidden.Because(
		"The prompt template is protected: activating a version at once or moving a label requires the manager role.",
	)
}

// allow is Allow for a change, which may be conditional on certain revisions.
func (t *Template) allow(by identity.Actor, need access.Role, match revision.Match) error {
	if err := t.Allow(by, need); err != nil {
		return err
	}
	return match.Check(t.Revision)
}

// SeesDrafts reports whether by may see versions that were never activated or labelled.
func (t *Template) SeesDrafts(by identity.Actor) bool { return t.CanEdit(by) }

// Reading is the template part that readers of its versions see, and that decides who they are.
type Reading struct {
	access.Subject
	ID            ID
	Name          string
	Type          Type
	ActiveVersion VersionID // empty: none
	DeletedAt     time.Time // zero: live
	Floating      bool      // whether released versions include what their includes name now
}

// Reading returns the Reading of t.
func (t *Template) Reading() *Reading {
	return &Reading{Subject: t.Subject, ID: t.ID, Name: t.Name, Type: t.Type, ActiveVersion: t.Active.Version,
		DeletedAt: t.DeletedAt, Floating: t.IncludeMode == Floating}
}

// Allow returns nil if by may read v, the version of r that ref names; v is nil if not found. It
// returns ErrNotFound if by may not see the template, and otherwise ErrVersionNotFound.
func (r *Reading) Allow(by identity.Actor, ref Ref, v *Version) error {
	switch {
	case !r.IsVisible(by):
		return ErrNotFound
	case v != nil && v.Template == r.ID && (v.Frozen || r.CanEdit(by)):
		return nil
	case ref.Active && r.ActiveVersion == "":
		return ErrVersionNotFound.Because(
			"No version of the prompt template is active yet. Activate one, or name a version.",
		)
	}
	return ErrVersionNotFound
}

// IsVisible reports whether by may see the template and its frozen versions.
func (r *Reading) IsVisible(by identity.Actor) bool { return r.DeletedAt.IsZero() && r.CanView(by) }
