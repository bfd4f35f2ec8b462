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

// MaxShares is the maximum number of users that one template can be shared with.
const MaxShares = 200

// Share is one user's role on one template.
type Share struct {
	User      identity.UserID
	Name      string      // of the user or the group, at the time of reading
	Email     string      // the user's verified address; empty for groups
	Role      access.Role // None removes the share when it is saved
	ExpiresAt time.Time   // zero: never
	GrantedBy identity.UserID
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Recipient is a user named by a template change, as the store knows them at that moment.
type Recipient struct {
	User        identity.UserID
	Name, Email string // as in Share
	InWorkspace bool   // a member of the workspace
	Share       *Share // nil: none
	Shares      int    // how many shares the template has
}

// save keeps a share for the store. One without a role is deleted.
func (t *Template) save(s Share) {
	t.ChangedShares = append(t.ChangedShares, s)
	t.Grants.Set(access.Grant{User: s.User, Role: s.Role, ExpiresAt: s.ExpiresAt})
}

// SharePage is one page of shares.
type SharePage = page.Of[Share]

// Live reports whether s grants a role at now.
func (s Share) Live(now time.Time) bool { return s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt) }

// Grant is a role for a user or an address, with an end. Exactly one of User and Email is set.
type Grant struct {
	User      identity.UserID
	Email     string
	Role      access.Role
	ExpiresAt time.Time // zero: never
}

// check returns what is wrong with a new grant.
func (g Grant) check(by identity.Actor) error {
	var target error
	if (g.User == "") == (g.Email == "") {
		target = fault.InField("/user_id", "required", "Must have either user_id or email.")
	}
	return fault.Join(target, checkExpiry(by, g.ExpiresAt))
}

func (g Grant) share(by identity.Actor, recipient Recipient) Share {
	return Share{User: recipient.User, Name: recipient.Name, Email: recipient.Email, Role: g.Role,
		ExpiresAt: g.ExpiresAt,
		GrantedBy: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At}
}

// Share gives a user a role. recipient is the member that the grant resolves to, or empty.
func (t *Template) Share(by identity.Actor, recipient Recipient, g Grant) (Share, error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return Share{}, err
	}
	if err := g.check(by); err != nil {
		return Share{}, err
	}
	switch {
	case !recipient.InWorkspace:
		return Share{}, ErrUserNotInWorkspace
	case recipient.User == t.Owner:
		return Share{}, ErrOwnerShare
	case g.Role > t.Access(by):
		return Share{}, identity.ErrRoleCeiling
	case recipient.Share != nil && recipient.Share.Live(by.At): // an expired share is replaced
		return Share{}, ErrAlreadyShared
	case recipient.Share == nil && recipient.Shares >= MaxShares:
		return Share{}, ErrShareLimit
	}
	s := g.share(by, recipient)
	t.save(s)
	t.Record(by, "prompt_share.created", string(t.ID), map[string]any{"user_id": s.User, "role": g.Role.String()})
	return s, nil
}

// ShareChanges are new values for a share; nil keeps the old one.
type ShareChanges struct {
	Role      *access.Role
	ExpiresAt *time.Time // zero: never
}

// ChangeShare changes a user's share.
func (t *Template) ChangeShare(by identity.Actor, match revision.Match, recipient Recipient, c ShareChanges) (Share,
	error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return Share{}, err
	}
	if recipient.Share == nil {
		return Share{}, ErrShareNotFound
	}
	s := *recipient.Share
	if err := match.Check(s.Revision); err != nil {
		return Share{}, err
	}
	changes, err := s.change(by, t.Access(by), c)
	if err != nil || len(changes) == 0 {
		return s, err
	}
	t.save(s)
	changes["user_id"] = s.User
	t.Record(by, "prompt_share.updated", string(t.ID), changes)
	return s, nil
}

// change applies c for by, who has the role have on what is shared, and returns what changed as an event holds it.
func (s *Share) change(by identity.Actor, role access.Role, c ShareChanges) (map[string]any, error) {
	changes := map[string]any{}
	if c.Role != nil && *c.Role != s.Role {
		if max(*c.Role, s.Role) > role {
			return nil, identity.ErrRoleCeiling
		}
		changes["role"] = event.Change{From: s.Role.String(), To: c.Role.String()}
		s.Role = *c.Role
	}
	if c.ExpiresAt != nil && !c.ExpiresAt.Equal(s.ExpiresAt) {
		if err := checkExpiry(by, *c.ExpiresAt); err != nil {
			return nil, err
		}
		changes["expires_at"] = event.Change{From: orNil(s.ExpiresAt), To: orNil(*c.ExpiresAt)}
		s.ExpiresAt = *c.ExpiresAt
	}
	if len(changes) > 0 {
		s.Revision++
		s.UpdatedAt = by.At
	}
	return changes, nil
}

// Unshare removes a user's share. Requires the manager role; every user may remove their own.
func (t *Template) Unshare(by identity.Actor, match revision.Match, recipient Recipient) error {
	need := access.Manager
	if recipient.User == by.User && !by.ReadOnly() {
		need = access.Viewer
	}
	if err := t.Allow(by, need); err != nil {
		return err
	}
	if recipient.Share == nil {
		return ErrShareNotFound
	}
	if err := match.Check(recipient.Share.Revision); err != nil {
		return err
	}
	t.save(Share{User: recipient.User})
	t.Record(by, "prompt_share.deleted", string(t.ID), map[string]any{"user_id": recipient.User})
	return nil
}

func checkExpiry(by identity.Actor, expires time.Time) error {
	if !expires.IsZero() && !expires.After(by.At) {
		return fault.InField("/expires_at", "in_the_past", "Must be in the future.")
	}
	return nil
}

// orNil returns a time as an event's data has it: nil for never.
func orNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
