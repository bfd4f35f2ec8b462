package account

import "github.com/atrium-hq/atrium/domain/identity"

// EndSessionsFor ends one of live, p's live sessions, or all of them if id is empty, and returns their number.
// Requires an operator as Access.Disable does, or the system. ErrSessionNotFound if there is no session with the id.
func (p *Person) EndSessionsFor(by identity.Actor, live []*Session, id identity.SessionID) (count int, err error) {
	if err := MayChangeAccess(by); err != nil {
		return 0, err
	}
	if by.Org != p.User.Org {
		return 0, ErrUserNotFound
	}
	for _, s := range live {
		if id == "" || s.ID == id {
			s.end(by, p, "ended_by_operator")
			count++
		}
	}
	if id != "" && count == 0 {
		return 0, ErrSessionNotFound
	}
	return count, nil
}
