package accounts

import (
	"context"
	"errors"
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

// Captures stores who joined a workspace because of the domain of their address.
type Captures struct{ db *Store }

var _ ports.Captures = (*Captures)(nil)

// Capture implements ports.Captures.
func (s *Captures) Capture(
	ctx context.Context, by identity.Actor, slug string, user identity.UserID, change func(*account.Workspace) error,
) (isCaptured bool, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		isCaptured = false
		w, err := tx.lockedWorkspaceBySlug(ctx, by.Org, slug)
		if errors.Is(err, identity.ErrWorkspaceNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		count, err := tx.Exec(ctx, `INSERT INTO captured_members (workspace_id, user_id, created_at) VALUES (?, ?, ?)
			ON CONFLICT (workspace_id, user_id) DO NOTHING`, w.ID, user, db.Micros(by.At))
		if err != nil || count == 0 {
			return err
		}
		if err := tx.loadMembers(ctx, w, user); err != nil {
			return err
		}
		if err := change(w); err != nil {
			return err
		}
		isCaptured = true
		return tx.SaveWorkspace(ctx, w)
	})
	return isCaptured && err == nil, err
}

// sweepSessions ends expired sessions, so that the trail records it. Their last use may be up to a minute out of date.
func (store *Store) sweepSessions(ctx context.Context, now time.Time) error {
	idle := now.Add(-session.Idle - 5*time.Minute)
	const over = `t.ended_at = 0 AND (t.expires_at <= ? OR t.last_seen_at <= ?)`
	for {
		var owners []struct {
			Org  identity.OrgID  `db:"org_id"`
			User identity.UserID `db:"user_id"`
		}
		if err := store.List(ctx, &owners, `SELECT org_id, user_id FROM sessions WHERE ended_at = 0
			AND expires_at <= ? UNION SELECT org_id, user_id FROM sessions WHERE ended_at = 0 AND last_seen_at <= ? LIMIT ?`,
			db.Micros(now), db.Micros(idle), sweptUsers); err != nil || len(owners) == 0 {
			return err
		}
		var errs []error
		for _, o := range owners {
			by := identity.System(o.Org, "", "sweep", now)
			conditions := db.NewConditions(`t.user_id = ? AND `+over, o.User, db.Micros(now), db.Micros(idle))
			if err := store.inTx(ctx, func(tx *Store) error {
				_, err := tx.changeSessions(ctx, o.Org, o.User, conditions,
					func(p *account.Person, sessions []*session.Session) (*session.Session, error) {
						return nil, session.EndBecause(by, p, session.EndedByTime, sessions)
					})
				return err
			}); err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) == len(owners) { // those that fail are found again
			return errors.Join(errs...)
		}
	}
}

// sweptUsers is how many users' sessions sweepSessions ends before it looks again.
const sweptUsers = 100
