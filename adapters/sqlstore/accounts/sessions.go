package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// Sessions stores the sessions of browsers, and the links that open them.
type Sessions struct{ db *Store }

var _ ports.Sessions = (*Sessions)(nil)

var sessionNames = []string{
	"id", "org_id", "user_id", "cookie_hash", "proof_hash", "source", "key_id", "workspace_id", "agent", "address",
	"created_at", "last_seen_at", "expires_at", "ended_at", "confirmed_at", "issuer", "subject", "provider_session",
	"passkey_id", "second_factor", "authenticated_at",
}

var sessionColumns = db.ColumnsLike(`t.%`, sessionNames)

type sessionRow struct {
	ID          identity.SessionID   `db:"id"`
	Org         identity.OrgID       `db:"org_id"`
	User        identity.UserID      `db:"user_id"`
	Cookie      []byte               `db:"cookie_hash"`
	Proof       []byte               `db:"proof_hash"`
	Source      session.Source       `db:"source"`
	Key         identity.KeyID       `db:"key_id"`
	Workspace   identity.WorkspaceID `db:"workspace_id"`
	Agent       string               `db:"agent"`
	Address     string               `db:"address"`
	CreatedAt   int64                `db:"created_at"`
	LastSeenAt  int64                `db:"last_seen_at"`
	ExpiresAt   int64                `db:"expires_at"`
	EndedAt     int64                `db:"ended_at"`
	ConfirmedAt int64                `db:"confirmed_at"`
	Issuer      string               `db:"issuer"`
	Subject     string               `db:"subject"`
	Provider    string               `db:"provider_session"`
	Passkey     account.PasskeyID    `db:"passkey_id"`

	SecondFactor    bool  `db:"second_factor"`
	AuthenticatedAt int64 `db:"authenticated_at"`
}

func (r *sessionRow) session() session.Session {
	s := session.Session{
		ID: r.ID, Org: r.Org, User: r.User, Source: r.Source, Key: r.Key, Workspace: r.Workspace, Agent: r.Agent,
		Address: r.Address, CreatedAt: db.FromMicros(r.CreatedAt), LastSeenAt: db.FromMicros(r.LastSeenAt),
		ExpiresAt: db.FromMicros(r.ExpiresAt), EndedAt: db.FromMicros(r.EndedAt),
		ConfirmedAt: db.FromMicros(r.ConfirmedAt), Passkey: r.Passkey,
		From: session.ProviderSession{
			Issuer: r.Issuer, Subject: r.Subject, ID: r.Provider, SecondFactor: r.SecondFactor,
			AuthenticatedAt: db.FromMicros(r.AuthenticatedAt),
		},
	}
	copy(s.Cookie[:], r.Cookie)
	copy(s.Proof[:], r.Proof)
	return s
}

// liveSessions returns the condition that a session t is live, as session.Session.Live decides it.
func liveSessions(org identity.OrgID, user identity.UserID, now time.Time) *db.Conditions {
	return db.NewConditions(
		`t.org_id = ? AND t.user_id = ? AND t.ended_at = 0 AND t.expires_at > ? AND t.last_seen_at > ?`,
		org, user, db.Micros(now), db.Micros(now.Add(-session.Idle)),
	)
}

// Update implements ports.Sessions. The lock on the user makes concurrent calls wait.
func (s *Sessions) Update(
	ctx context.Context, by identity.Actor, user identity.UserID,
	change func(*account.Person, []*session.Session) (*session.Session, error),
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		session, err := tx.changeSessions(ctx, by.Org, user, liveSessions(by.Org, user, by.At), change)
		if err != nil || session == nil {
			return err
		}
		return tx.addSession(ctx, session)
	})
}

// changeSessions locks a user, calls change with the sessions that meet the conditions, oldest first, and saves the
// sessions that change ended or confirmed. It returns the session that change opened, which is not stored yet.
func (store *Store) changeSessions(
	ctx context.Context, org identity.OrgID, user identity.UserID, conditions *db.Conditions,
	change func(*account.Person, []*session.Session) (*session.Session, error),
) (*session.Session, error) {
	p, err := store.lockedPerson(ctx, org, user)
	if err != nil {
		return nil, err
	}
	var rows []sessionRow
	if err := store.List(ctx, &rows, `SELECT `+sessionColumns+` FROM sessions t WHERE `+conditions.SQL()+
		` ORDER BY t.id`, conditions.Args()...); err != nil {
		return nil, err
	}
	live := make([]*session.Session, len(rows))
	for i := range rows {
		one := rows[i].session()
		live[i] = &one
	}
	session, err := change(p, live)
	if err != nil {
		return nil, err
	}
	for _, one := range live {
		if err := store.saveSession(ctx, one); err != nil {
			return nil, err
		}
	}
	return session, nil
}

// saveSession writes a session that ended or was confirmed.
func (store *Store) saveSession(ctx context.Context, s *session.Session) error {
	if len(s.Recorded()) == 0 {
		return nil
	}
	if _, err := store.Exec(ctx, `UPDATE sessions SET ended_at = ?, confirmed_at = ? WHERE id = ? AND org_id = ?`,
		db.Micros(s.EndedAt), db.Micros(s.ConfirmedAt), s.ID, s.Org); err != nil {
		return err
	}
	store.Forget()
	return store.Record(ctx, s.Recorded())
}

func (store *Store) addSession(ctx context.Context, s *session.Session) error {
	if _, err := store.Exec(ctx, `
		INSERT INTO sessions (id, org_id, user_id, cookie_hash, proof_hash, source, key_id, workspace_id, agent,
			address, created_at, last_seen_at, expires_at, ended_at, issuer, subject, provider_session, passkey_id,
			second_factor, authenticated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Org, s.User, s.Cookie[:], s.Proof[:], s.Source, s.Key, s.Workspace, s.Agent, s.Address,
		db.Micros(s.CreatedAt), db.Micros(s.LastSeenAt), db.Micros(s.ExpiresAt), s.From.Issuer, s.From.Subject,
		s.From.ID, s.Passkey, s.From.SecondFactor, db.Micros(s.From.AuthenticatedAt)); err != nil {
		return err
	}
	return store.Record(ctx, s.Recorded())
}

// List implements ports.Sessions.
func (s *Sessions) List(
	ctx context.Context, org identity.OrgID, user identity.UserID, key identity.KeyID, now time.Time, q page.Query,
) (session.Page, error) {
	conditions := liveSessions(org, user, now)
	conditions.When(key != "", `t.key_id = ?`, key)
	conditions.PageBounds(`t.id`, q.After, "")
	var rows []sessionRow
	if err := s.db.List(ctx, &rows, `SELECT `+sessionColumns+` FROM sessions t WHERE `+conditions.SQL()+
		` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return session.Page{}, err
	}
	sessions := db.Convert(rows, (*sessionRow).session)
	return page.Cut(sessions, q.Limit, func(s session.Session) string { return string(s.ID) }), nil
}

// Used implements ports.Sessions. Cached callers stay, as in Keys.Used.
func (s *Sessions) Used(ctx context.Context, org identity.OrgID, uses map[identity.SessionID]time.Time) error {
	err := recordUses(ctx, s.db, uses, `
		WITH used (id, org_id, at) AS (VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT))`, `),
		due AS (
			SELECT u.* FROM used u JOIN sessions t ON t.id = u.id AND t.org_id = u.org_id
			WHERE t.last_seen_at < u.at - 60000000 ORDER BY t.id`+s.db.Dialect.Lock+`)
		UPDATE sessions SET last_seen_at = due.at FROM due WHERE sessions.id = due.id`,
		func(id identity.SessionID, lastUse time.Time) []any { return []any{id, org, db.Micros(lastUse)} })
	if err != nil || len(uses) == 0 {
		return err
	}
	s.db.Sessions.Replace(func(p *session.Person) (*session.Person, bool) {
		lastSeen, exists := uses[p.Session.ID]
		if exists {
			p = new(*p)
			p.Session.LastSeenAt = lastSeen
		}
		return p, exists
	})
	return nil
}

// sweptUsers is the number of users whose sessions sweepSessions ends before it looks again.
const sweptUsers = 100

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
