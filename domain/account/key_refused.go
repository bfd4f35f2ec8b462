package account

import (
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// KeyRefusal is why a key that exists is not accepted.
type KeyRefusal string

// The values of KeyRefusal.
const (
	KeyRevoked      KeyRefusal = "revoked"
	KeyExpired      KeyRefusal = "expired"
	KeySuspended    KeyRefusal = "suspended"
	KeyUserDisabled KeyRefusal = "user_disabled"
	KeyNotPermitted KeyRefusal = "not_permitted" // by the org's policy, or without its creator or a membership
)

// Refusal returns why p's key is not accepted in a request of by.
func (p *Principal) Refusal(by identity.Actor) KeyRefusal {
	k := &p.Key
	switch {
	case !k.RevokedAt.IsZero():
		return KeyRevoked
	case k.ended(by.At):
		return KeyExpired
	case !k.SuspendedAt.IsZero():
		return KeySuspended
	case !p.User.Enabled():
		return KeyUserDisabled
	}
	return KeyNotPermitted
}

// Refused returns the note that a key was used that is no longer accepted: one for each key, reason and hour. by is the
// key's user.
func (p *Principal) Refused(by identity.Actor) event.Note {
	reason := p.Refusal(by)
	return event.Note{
		By: by, Type: "api_key.refused", Subject: string(p.Key.ID),
		Data:       map[string]any{"hint": p.Key.Hint, "reason": string(reason)},
		Workspaces: []identity.WorkspaceID{p.Key.Workspace},
		Scope:      []string{string(p.Key.ID), string(reason)}, Until: event.EndOfHour(by.At),
	}
}
