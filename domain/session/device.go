package session

import (
	"slices"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// NoteDevice records session.device_added if a browser opens the account of p, a person, for the first time. by has
// just opened s in that browser; people are those who signed in with it before, and live are p's other live sessions.
// The sign-in that created the account does not count.
func (s *Session) NoteDevice(
	by identity.Actor, p *account.Person, people []identity.UserID, live []*Session,
) {
	hasJustJoined := len(live) == 0 && by.At.Sub(p.User.CreatedAt) < SignInWithin
	if p.User.Service || hasJustJoined || slices.Contains(people, s.User) {
		return
	}
	by.User, by.Key, by.Session = s.User, s.Key, s.ID
	s.record(by, p, "session.device_added", map[string]any{})
}
