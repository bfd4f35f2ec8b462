package account

import (
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// VerifiedByMailbox is User.EmailVerifiedBy if a sign-in link that was mailed to the address was used.
const VerifiedByMailbox = "mailbox"

// ErrAddressUnconfirmed is returned to people who cannot invite others yet.
var ErrAddressUnconfirmed = &fault.Error{
	Kind: fault.Forbidden, Code: "address_unconfirmed",
	Detail: "Confirm your e-mail address first: sign in with a link that was mailed to it.",
}

// Unconfirmed reports whether only an inviter vouches for u's address.
func (u *User) Unconfirmed() bool {
	return u.EmailVerified && u.EmailVerifiedBy == VerifiedByInvitation
}

// Confirmed reports whether someone other than an inviter vouches for u's address.
func (u *User) Confirmed() bool { return u.EmailVerified && !u.Unconfirmed() }

// ConfirmAddress records that verifier vouches for the address of a person who joined by an invitation, because the
// person used a sign-in link. by is the system. The inviter knew the invitation's token too. So, unless the link was
// used in a browser that was signed in to the account, it also revokes all keys of the person and of the programs that
// the person made, whose webhooks and reply endpoints lose their owner.
func (a *Access) ConfirmAddress(by identity.Actor, verifier string, isSignedIn bool) error {
	if by.User != "" || by.Org != a.User.Org || !a.User.Enabled() {
		return ErrUserNotFound
	}
	if !a.User.Unconfirmed() {
		return nil
	}
	a.User.EmailVerifiedBy = verifier
	a.User.update(by, a.MemberOf, map[string]any{"email_verified_by": verifier})
	if isSignedIn {
		return nil
	}
	for _, by.Workspace = range a.MemberOf {
		powers := a.Powers[by.Workspace]
		powers.loss(a.User.ID, identity.NoRole, keysEnd, by.At).apply(by)
		endAll(by, powers.Keys)
	}
	return nil
}

// RemovePasskeys removes all of p's passkeys. by is the system.
func (p *Person) RemovePasskeys(by identity.Actor, passkeys []*Passkey) error {
	if by.User != "" || by.Org != p.User.Org {
		return ErrUserNotFound
	}
	for _, k := range passkeys {
		k.RemovedAt = by.At
		k.record(by, p, "passkey.removed", map[string]any{})
	}
	return nil
}

// yieldAddress removes u's address, because another account has proved it. Each of u's workspaces records the event.
func (u *User) yieldAddress(by identity.Actor, workspaces []identity.WorkspaceID) {
	u.Email, u.EmailVerified, u.EmailVerifiedBy = "", false, ""
	u.update(by, workspaces, map[string]any{"email": true})
}
