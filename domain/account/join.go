package account

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ErrSignInRequired is returned to a person without a credential who cannot accept an invitation by its token only.
var ErrSignInRequired = &fault.Error{
	Kind: fault.Conflict, Code: "sign_in_required",
	Detail: "Sign in, then accept the invitation: this organisation has its own sign-in, " +
		"or the address has an account.",
}

// InvitationPreview is what the bearer of an invitation's token sees before accepting it.
type InvitationPreview struct {
	Workspace string // name
	Inviter   string // name; empty if it has none
	Email     string
	Role      identity.Role
	ExpiresAt time.Time
}

// NewInvitedUser creates the account of a person who accepts i in an org without issuers, where the token is all the
// proof there is. by is the system. ErrSignInRequired if the org has issuers. ErrInvitationExpired if i has expired.
func (i *Invitation) NewInvitedUser(by identity.Actor, org *identity.Org, name string) (*User, error) {
	switch {
	case by.User != "" || by.Org != i.Org || i.Accepted || i.Withdrawn:
		return nil, ErrInvitationNotFound
	case len(org.Issuers) > 0:
		return nil, ErrSignInRequired
	case i.Expired(by.At):
		return nil, ErrInvitationExpired
	}
	u, err := NewUser(by, i.Email, name, false)
	if err == nil {
		u.EmailVerifiedBy = VerifiedByInvitation
	}
	return u, err
}
