package account

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Member is a user's membership in one workspace.
type Member struct {
	User      identity.UserID
	Email     string // empty for a service key's user
	Name      string
	Service   bool          // a service key's user
	Role      identity.Role // NoRole removes the member when it is saved
	ByHand    identity.Role // the part of Role granted by hand; NoRole: only claim rules keep the membership
	Granted   Granted
	Groups    int // in how many groups of the workspace they are; set if they are about to join one
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// endMembership ends a membership, the member's own API keys in w, and what else the member loses with it.
func (w *Workspace) endMembership(by identity.Actor, m Member, keep KeepServiceKeys) {
	data := map[string]any{"user_id": m.User, "role": m.Role.String()}
	w.set(by, m.User, standing{}, keep.fate()).describe(data)
	by.Workspace = w.ID
	for _, k := range w.Powers[m.User].Keys {
		if k.User == m.User && !k.ended(by.At) {
			k.end(by)
		}
	}
	w.record(by, "member.removed", data)
}

// standing is a member's role, with where it comes from, as in Member. The zero standing ends a membership.
type standing struct {
	role, byHand identity.Role
	granted      Granted
}

// set gives user a role, and updates the count of owners. A user who is not a member becomes one. It ends, keeps or
// suspends what a user who has now a lower role loses with the previous one, and returns that. No other code changes a
// role.
func (w *Workspace) set(by identity.Actor, user identity.UserID, next standing, f fate) (lost Loss) {
	m, isMember := w.Members[user]
	if !isMember {
		m = Member{User: user, CreatedAt: by.At}
	}
	if next.role < m.Role {
		by.Workspace = w.ID
		lost = w.Powers[user].loss(user, next.role, f, by.At)
		lost.apply(by)
		w.Lost = w.Lost.plus(lost)
	}
	if m.owns() {
		w.Owners--
	}
	m.ByHand, m.Role, m.Granted, m.UpdatedAt = next.byHand, next.role, next.granted, by.At
	m.Revision++
	w.Members[user] = m
	if m.owns() {
		w.Owners++
	}
	if f == keysStay {
		w.entrust(by, lost.Kept)
	}
	return lost
}

// owns reports whether m is a person with the owner role.
func (m Member) owns() bool { return m.Role == identity.Owner && !m.Service }

// lastOwner reports whether m is the only person with the owner role. Programs do not count: they
// cannot sign in, so no one could reach a workspace that only a program owned.
func (w *Workspace) lastOwner(m Member) bool { return m.owns() && w.Owners == 1 }
