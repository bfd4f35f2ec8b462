package main

import (
	"context"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// coldCallers is how many people take turns so that no node remembers their credentials: a node remembers 20,000, and
// forgets all of them when there is one more.
const coldCallers = 25_000

// sessions compares who a caller is by a session and by an API key: with one credential again and again, which the
// server remembers for a second (warm), and with those of many people in turn (cold).
func sessions(ctx context.Context, m *machine) error {
	m.section("Sessions", "", "by API key", "by session", "session / key (aim ≥ 0.9)", "CPU by API key",
		"CPU by session", "p50, p99 by API key", "p50, p99 by session")
	return m.onEach(ctx, "sessions", func(d database, data string) error { return m.sessionsOn(ctx, d, data) })
}

func (m *machine) sessionsOn(ctx context.Context, d database, data string) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	people, err := crowd(ctx, d, owner, coldCallers, 0)
	if err != nil {
		return fmt.Errorf("people: %w", err)
	}
	secrets, err := openSessions(ctx, d, people)
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	atrium, err := m.serveAtrium(ctx, d, data)
	if err != nil {
		return err
	}
	defer atrium.stop()
	byKey, bySession := make([][]byte, len(people)), make([][]byte, len(people))
	for i, p := range people {
		byKey[i] = atrium.request("GET", me, p.Token, "")
		bySession[i] = atrium.request("GET", me, "", "", atrium.sessionHeaders(secrets[i])...)
	}
	for _, of := range []struct {
		name           string
		key, bySession target
	}{
		{"warm", atrium.repeats(byKey[0]), atrium.repeats(bySession[0])},
		{"cold", atrium.repeats(byKey...), atrium.repeats(bySession...)},
	} {
		contestants := []*contestant{
			{name: "by API key", target: of.key, of: atrium}, {name: "by session", target: of.bySession, of: atrium},
		}
		if err := m.inRounds(ctx, 16, contestants); err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
		key, session := contestants[0], contestants[1]
		_, keyCPU := key.each()
		_, sessionCPU := session.each()
		m.row(d.named()+", "+of.name, key.rate(), session.rate(), session.ratio(), keyCPU, sessionCPU,
			key.percentiles(), session.percentiles())
	}
	return nil
}

// sessionHeaders returns the headers with which a browser shows a session to p over plain HTTP.
func (p *program) sessionHeaders(s session.Secrets) []string {
	port := p.addr[len("127.0.0.1:"):]
	return []string{
		"Cookie: atrium_session_" + port + "=" + s.Cookie.Reveal(), "Atrium-Console: " + s.Proof.Reveal(),
	}
}

// sessionRow is a session as openSessions stores it.
type sessionRow struct {
	ID     string `db:"id"`
	Org    string `db:"org"`
	User   string `db:"user"`
	Cookie []byte `db:"cookie"`
	Proof  []byte `db:"proof"`
	At     int64  `db:"at"`
	Until  int64  `db:"until"`
}

// openSessions opens a session for each of some people, and returns their secrets. It writes rows, as crowd does.
func openSessions(ctx context.Context, d database, people []person) ([]session.Secrets, error) {
	db, err := d.open("&_pragma=synchronous(off)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	org, err := orgOf(ctx, db, people[0])
	if err != nil {
		return nil, err
	}
	by := identity.System(identity.OrgID(org), "", "load", time.Now())
	rows, secrets := make([]sessionRow, len(people)), make([]session.Secrets, len(people))
	for i, p := range people {
		one := account.Person{User: account.User{ID: identity.UserID(p.User), Org: by.Org}}
		s, cookie, err := session.Open(by, &one, session.ByLink, nil, "", nil)
		if err != nil {
			return nil, err
		}
		secrets[i] = cookie
		rows[i] = sessionRow{
			ID: string(s.ID), Org: org, User: p.User, Cookie: s.Cookie[:], Proof: s.Proof[:],
			At: s.CreatedAt.UnixMicro(), Until: s.ExpiresAt.UnixMicro(),
		}
	}
	return secrets, insert(ctx, db, rows, `INSERT INTO sessions (id, org_id, user_id, cookie_hash, proof_hash, source,
		key_id, workspace_id, agent, address, created_at, last_seen_at, expires_at, ended_at)
		VALUES (:id, :org, :user, :cookie, :proof, 'link', '', '', '', '', :at, :at, :until, 0)`)
}
