package session

import (
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// EndFor ends one of live, p's live sessions, or all of them if id is empty, and returns their number. Requires an
// operator as account.Access.Disable does, or the system. ErrNotFound if there is no session with the id.
func EndFor(
	by identity.Actor, p *account.Person, live []*Session, id identity.SessionID,
) (count int, err error) {
	if err := account.MayChangeAccess(by); err != nil {
		return 0, err
	}
	if by.Org != p.User.Org {
		return 0, account.ErrUserNotFound
	}
	for _, s := range live {
		if id == "" || s.ID == id {
			s.end(by, p, "ended_by_operator")
			count++
		}
	}
	if id != "" && count == 0 {
		return 0, ErrNotFound
	}
	return count, nil
}
