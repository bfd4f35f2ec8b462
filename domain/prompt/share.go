package prompt

import (
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// MaxShares is how many users one template can be shared with.
const MaxShares = 200

// Share is one user's role on one template.
type Share struct {
	User      identity.UserID
	Role      access.Role // View, Edit or Manage; None removes the share when it is saved
	ExpiresAt time.Time   // zero: never
	GrantedBy identity.UserID
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// SharePage is one page of shares.
type SharePage = page.Of[Share]

// Live reports whether s grants a role at this moment.
func (s Share) Live(now time.Time) bool { return s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt) }

// Grant is a role for a user or an address, with an end. Exactly one of User and Email is set.
type Grant struct {
	User      identity.UserID
	Email     string
	Role      access.Role
	ExpiresAt time.Time // zero: never
}

// Share gives a user a role. user is the member that the grant resolves to, empty if there is none.
func (t *Template) Share(by identity.Actor, user identity.UserID, g Grant) (Share, error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return Share{}, err
	}
	var whom error
	if (g.User == "") == (g.Email == "") {
		whom = fault.InvalidFields([]fault.Field{{Pointer: "/user_id", Code: "required", Detail: "Must have either user_id or email."}})
	}
	if err := fault.Join(whom, checkExpiry(by, g.ExpiresAt)); err != nil {
		return Share{}, err
	}
	old, known := t.Shares[user]
	switch {
	case !t.Members[user]:
		return Share{}, ErrUserNotInWorkspace
	case user == t.Owner:
		return Share{}, ErrOwnerShare
	case g.Role > t.Access(by):
		return Share{}, identity.ErrRoleCeiling
	case known && old.Live(by.At): // an expired share is replaced
		return Share{}, ErrAlreadyShared
	case !known && t.ShareCount >= MaxShares:
		return Share{}, ErrShareLimit
	}
	s := Share{User: user, Role: g.Role, ExpiresAt: g.ExpiresAt, GrantedBy: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At}
	t.Shares[user] = s
	t.Record(by, "prompt_share.created", string(t.ID), map[string]any{"user_id": user, "role": g.Role.String()})
	return s, nil
}

// ShareChanges are new values for a share; nil keeps the old one.
type ShareChanges struct {
	Role      *access.Role
	ExpiresAt *time.Time // zero: never
}

// ChangeShare changes a user's share.
func (t *Template) ChangeShare(by identity.Actor, at revision.Match, user identity.UserID, c ShareChanges) (Share, error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return Share{}, err
	}
	s, ok := t.Shares[user]
	if !ok {
		return Share{}, ErrShareNotFound
	}
	if err := at.Check(s.Revision); err != nil {
		return Share{}, err
	}
	changed := map[string]any{}
	if c.Role != nil && *c.Role != s.Role {
		if max(*c.Role, s.Role) > t.Access(by) {
			return Share{}, identity.ErrRoleCeiling
		}
		changed["role"] = event.Change{From: s.Role.String(), To: c.Role.String()}
		s.Role = *c.Role
	}
	if c.ExpiresAt != nil && !c.ExpiresAt.Equal(s.ExpiresAt) {
		if err := checkExpiry(by, *c.ExpiresAt); err != nil {
			return Share{}, err
		}
		changed["expires_at"] = event.Change{From: moment(s.ExpiresAt), To: moment(*c.ExpiresAt)}
		s.ExpiresAt = *c.ExpiresAt
	}
	if len(changed) > 0 {
		s.Revision++
		s.UpdatedAt = by.At
		t.Shares[user] = s
		changed["user_id"] = user
		t.Record(by, "prompt_share.updated", string(t.ID), changed)
	}
	return s, nil
}

// Unshare removes a user's share. Requires the manager role; every user may remove their own.
func (t *Template) Unshare(by identity.Actor, at revision.Match, user identity.UserID) error {
	need := access.Manager
	if user == by.User && !by.ReadOnly() {
		need = access.Viewer
	}
	if err := t.Allow(by, need); err != nil {
		return err
	}
	s, ok := t.Shares[user]
	if !ok {
		return ErrShareNotFound
	}
	if err := at.Check(s.Revision); err != nil {
		return err
	}
	s.Role = access.None
	t.Shares[user] = s
	t.Record(by, "prompt_share.deleted", string(t.ID), map[string]any{"user_id": user})
	return nil
}

func checkExpiry(by identity.Actor, expires time.Time) error {
	if !expires.IsZero() && !expires.After(by.At) {
		return fault.InvalidFields([]fault.Field{{Pointer: "/expires_at", Code: "in_the_past", Detail: "Must be in the future."}})
	}
	return nil
}

// moment returns a time as an event holds it: nil for never.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
