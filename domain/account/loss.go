package account

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// KeepServiceKeys means that the service keys that a person created outlive the role that the person loses, or the
// person's account while it is disabled.
type KeepServiceKeys bool

// fate returns what happens to the service keys that a loss of role takes along.
func (k KeepServiceKeys) fate() fate {
	if k {
		return keysStay
	}
	return keysEnd
}

// fate is what happens to the service keys that a loss of role takes along.
type fate int

const (
	keysEnd fate = iota
	keysStay
	keysWait // they are suspended until the account is enabled
)

// Powers is what a person made in a workspace that acts without them.
type Powers struct {
	// Keys are API keys that are not revoked: those that authenticate the person, service keys that the person
	// created, and, recursively, all keys created with any of them.
	Keys []*Key
	// Endpoints are those that the person owns, or a program of the keys that the person created: it does not matter
	// whether these have ended.
	Endpoints []*Endpoint
}

// EndpointKind is a kind of Endpoint.
type EndpointKind string

// The kinds.
const (
	Webhook       EndpointKind = "webhook"
	ReplyEndpoint EndpointKind = "reply_endpoint" // a connection that replies to visitors of chats
)

// Endpoint is a URL outside that gets data of the workspace.
type Endpoint struct {
	Kind  EndpointKind
	ID    string
	Owner identity.UserID
	// LostAt is when Owner lost it; zero: Owner has it.
	LostAt time.Time
}

// Loss is what a person's role had made, and what became of it when the person lost the role.
type Loss struct {
	Ended, Kept, Suspended []*Key      // service keys above the role that is left, and keys created with them
	Ownerless              []*Endpoint // which an admin must confirm or delete
}

// OwnerlessIDs returns the ids of a kind's endpoints that no longer have an owner.
func (l Loss) OwnerlessIDs(kind EndpointKind) []string {
	ids := []string{}
	for _, e := range l.Ownerless {
		if e.Kind == kind {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// loss returns what user, whose role has just become lower, or who can no longer sign in, loses with it. next is the
// role that is left. Every role loss goes through it, and no other code decides this.
func (p Powers) loss(user identity.UserID, next identity.Role, f fate, now time.Time) (l Loss) {
	works := map[identity.UserID]bool{} // programs
	for _, k := range p.Keys {
		switch {
		case k.User == user, k.ended(now): // the person's own keys have no more than their role
		case k.Ceiling <= next:
			works[k.User] = true
		case f == keysStay:
			works[k.User] = true
			l.Kept = append(l.Kept, k)
		case f == keysEnd:
			l.Ended = append(l.Ended, k)
		case k.SuspendedAt.IsZero():
			l.Suspended = append(l.Suspended, k)
		}
	}
	for _, e := range p.Endpoints {
		if next < identity.Admin && !works[e.Owner] {
			l.Ownerless = append(l.Ownerless, e)
		}
	}
	return l
}

// apply makes a loss happen.
func (l Loss) apply(by identity.Actor) {
	endAll(by, l.Ended)
	for _, k := range l.Kept {
		if !k.SuspendedAt.IsZero() {
			k.resume(by)
		}
	}
	for _, k := range l.Suspended {
		k.suspend(by)
	}
	for _, e := range l.Ownerless {
		e.LostAt = by.At
	}
}

// entrust makes by, who kept keys of a member who lost a role, answer for them in the place of that member. A key that
// was created with one of them goes on to follow it. No program gets more than by's own role, which a transfer lowers.
func (w *Workspace) entrust(by identity.Actor, keys []*Key) {
	highest, ids := w.RoleOf(by), keyIDs(keys)
	for _, k := range keys {
		if !slices.Contains(ids, k.MadeBy) && k.Responsible() != by.User {
			k.keep(by)
		}
		if m, ok := w.Members[k.User]; ok && m.Role > highest {
			w.set(by, k.User, standing{role: highest, byHand: highest}, keysEnd)
			w.record(by, "member.updated", map[string]any{"user_id": k.User,
				"role": event.Change{From: m.Role.String(), To: highest.String()}})
		}
	}
}

// plus returns l and another loss together.
func (l Loss) plus(o Loss) Loss {
	return Loss{slices.Concat(l.Ended, o.Ended), slices.Concat(l.Kept, o.Kept),
		slices.Concat(l.Suspended, o.Suspended), slices.Concat(l.Ownerless, o.Ownerless)}
}

// IsZero reports whether nothing was lost but the role.
func (l Loss) IsZero() bool { return len(l.Ended)+len(l.Kept)+len(l.Suspended)+len(l.Ownerless) == 0 }

// describe adds to an event's data what was lost.
func (l Loss) describe(data map[string]any) {
	for name, keys := range map[string][]*Key{
		"service_keys_ended": l.Ended, "service_keys_kept": l.Kept, "service_keys_suspended": l.Suspended,
	} {
		if len(keys) > 0 {
			data[name] = keyIDs(keys)
		}
	}
	for name, kind := range map[string]EndpointKind{
		"webhooks_ownerless": Webhook, "reply_endpoints_ownerless": ReplyEndpoint,
	} {
		if ids := l.OwnerlessIDs(kind); len(ids) > 0 {
			data[name] = ids
		}
	}
}

func keyIDs(keys []*Key) []identity.KeyID {
	ids := make([]identity.KeyID, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	return ids
}

// errRaisesMaker is returned to a program that would give its creator a higher role.
var errRaisesMaker = identity.ErrRoleCeiling.Because("A service key cannot raise the role of the person who created " +
	"it, or invite them.")

// mayFollow returns an error if by is a program, and its creator could get a higher role by g: people join a group
// with an external id by their tokens.
func (w *Workspace) mayFollow(by identity.Actor, g *Group) error {
	if g.External == "" {
		return nil
	}
	for _, maker := range w.Makers[by.User] {
		if m := w.Members[maker]; !m.Service && m.Role < g.Role {
			return errRaisesMaker
		}
	}
	return nil
}

// madeBy reports whether user created program, a member of w. A person who lost a role still knows the tokens of the
// service keys that were kept: they must not give it back.
func (w *Workspace) madeBy(program, user identity.UserID) bool {
	return slices.Contains(w.Makers[program], user)
}

// actsFor reports whether by is user, or a program of a key that user created.
func (w *Workspace) actsFor(by identity.Actor, user identity.UserID) bool {
	return user == by.User || w.madeBy(by.User, user)
}
