package prompt

import (
	"errors"
	"strconv"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ShareAction is what a change of several shares did with one of them.
type ShareAction string

// All actions.
const (
	ShareAdded     ShareAction = "added"
	ShareUpdated   ShareAction = "updated"
	ShareRemoved   ShareAction = "removed"
	ShareUnchanged ShareAction = "unchanged"
)

// ShareChanged is the outcome of one grant. The share has only its user if it no longer exists.
type ShareChanged struct {
	Share  Share
	Action ShareAction
}

// SetShare gives a user a grant's role, or ends the share if that is None. A share that exists keeps its end if the
// grant has none. Requires the manager role, even of users who only end their own share.
func (t *Template) SetShare(by identity.Actor, recipient Recipient, g Grant) (ShareChanged, error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return ShareChanged{}, err
	}
	empty := Share{User: recipient.User}
	switch {
	case g.Role == access.None && recipient.Share == nil:
		return ShareChanged{empty, ShareUnchanged}, nil
	case g.Role == access.None:
		return ShareChanged{empty, ShareRemoved}, t.Unshare(by, nil, recipient)
	case recipient.Share == nil, !recipient.Share.Live(by.At):
		s, err := t.Share(by, recipient, g)
		return ShareChanged{s, ShareAdded}, err
	}
	c := ShareChanges{Role: &g.Role}
	if !g.ExpiresAt.IsZero() {
		c.ExpiresAt = &g.ExpiresAt
	}
	s, err := t.ChangeShare(by, nil, recipient, c)
	if err == nil && s.Revision == recipient.Share.Revision {
		return ShareChanged{s, ShareUnchanged}, nil
	}
	return ShareChanged{s, ShareUpdated}, err
}

// CheckGrants returns an error that names every grant which is wrong by itself.
func CheckGrants(by identity.Actor, grants []Grant) error {
	errs := make([]error, len(grants))
	for i, g := range grants {
		errs[i] = InGrant(i, g.check(by))
	}
	return fault.Join(errs...)
}

// InGrant returns an error of the i-th of several grants as one that names it; errors that are no response to the
// caller stay as they are.
func InGrant(i int, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	switch pointer := "/changes/" + strconv.Itoa(i); {
	case !ok:
		return err
	case len(f.Fields) > 0:
		return fault.PrefixPointers(pointer, err)
	default:
		return fault.InField(pointer, f.Code, f.Detail)
	}
}
