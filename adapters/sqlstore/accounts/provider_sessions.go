package accounts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// ProviderSessions stores the sessions that sign-ins at OpenID providers opened.
type ProviderSessions struct{ db *Store }

var _ ports.ProviderSessions = (*ProviderSessions)(nil)

// End implements ports.ProviderSessions.
func (s *ProviderSessions) End(
	ctx context.Context, by identity.Actor, from session.ProviderSession,
	change func(*account.Person, []*session.Session) error,
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		conditions := db.NewConditions(`t.org_id = ? AND t.issuer = ?`, by.Org, from.Issuer)
		conditions.When(from.Subject != "", `t.subject = ?`, from.Subject)
		conditions.When(from.ID != "", `t.provider_session = ?`, from.ID)
		if _, err := tx.Exec(ctx, `DELETE FROM sign_in_links AS t WHERE `+conditions.SQL(),
			conditions.Args()...); err != nil {
			return err
		}
		conditions.When(true, `t.ended_at = 0`)
		var users []identity.UserID
		if err := tx.List(ctx, &users, `SELECT DISTINCT t.user_id FROM sessions t WHERE `+conditions.SQL()+
			` ORDER BY t.user_id`, conditions.Args()...); err != nil {
			return err
		}
		for _, user := range users {
			sessions := liveSessions(by.Org, user, by.At)
			sessions.When(true, conditions.SQL(), conditions.Args()...)
			if _, err := tx.changeSessions(ctx, by.Org, user, sessions,
				func(p *account.Person, live []*session.Session) (*session.Session, error) {
					return nil, change(p, live)
				}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Receive implements ports.ProviderSessions.
func (s *ProviderSessions) Receive(
	ctx context.Context, org identity.OrgID, token account.Hash, expires time.Time,
) error {
	count, err := s.db.Exec(ctx, `INSERT INTO logout_tokens (org_id, hash, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (org_id, hash) DO NOTHING`, org, token[:], db.Micros(expires))
	if err == nil && count == 0 {
		err = session.ErrLogoutToken
	}
	return err
}
