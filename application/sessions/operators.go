package sessions

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
)

// ListOf lists a person's sessions in by's org that are live under its policy. by is an operator or the system.
func (s *Service) ListOf(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy, user identity.UserID, q page.Query,
) (session.Page, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return session.Page{}, err
	}
	if _, _, err := s.users.Get(ctx, by.Org, user); err != nil {
		return session.Page{}, err
	}
	found, err := s.sessions.List(ctx, by.Org, user, "", by.At, q)
	found.Items = session.LiveOf(found.Items, policy, by.At)
	return found, err
}

// EndOf ends one of a person's live sessions in by's org, or all of them if id is empty, and returns their number. by
// is an operator or the system. session.ErrNotFound if there is no such session.
func (s *Service) EndOf(
	ctx context.Context, by identity.Actor, user identity.UserID, id identity.SessionID,
) (count int, err error) {
	if err := account.MayChangeAccess(by); err != nil {
		return 0, err
	}
	err = s.sessions.Update(
		ctx, by, user, func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
			count, err = session.EndFor(by, p, live, id)
			return nil, err
		})
	return count, err
}
