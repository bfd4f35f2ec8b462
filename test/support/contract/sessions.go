package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// Sessions is the suite for ports.Sessions.
func Sessions(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Update and List", func(t *testing.T) { sessionsKept(t, a) })
	t.Run("Person", func(t *testing.T) { sessionPerson(t, a) })
	t.Run("of a key", func(t *testing.T) { sessionOfKey(t, a) })
	t.Run("at once", func(t *testing.T) { sessionsAtOnce(t, a) })
	t.Run("links", func(t *testing.T) { signInLinks(t, a) })
	t.Run("of a provider", func(t *testing.T) { providerSessions(t, a) })
	t.Run("logout tokens", func(t *testing.T) { logoutTokens(t, a) })
	t.Run("captures", func(t *testing.T) { captures(t, a) })
}

// signingIn is the system in the request of a browser.
func signingIn(org identity.OrgID, instant time.Time) identity.Actor {
	by := identity.System(org, "", "sign-in", instant)
	by.Request = identity.Request{ID: "req", Address: "192.0.2.1"}
	return by
}

// openSession opens a session of a user, by a key unless it is nil.
func openSession(
	t testing.TB, s ports.Stores, org identity.OrgID, user identity.UserID, instant time.Time, key *account.Key,
) (openedSession *session.Session) {
	t.Helper()
	source := session.ByLink
	if key != nil {
		source = session.ByAPIKey
	}
	by := signingIn(org, instant)
	must(t, s.Sessions.Update(t.Context(), by, user,
		func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
			openedSession, _, err = session.Open(by, p, source, key, "Firefox", live)
			return openedSession, err
		}))
	return openedSession
}

// endSession ends one session of its user.
func endSession(t testing.TB, s ports.Stores, by identity.Actor, id identity.SessionID) {
	t.Helper()
	must(t, s.Sessions.Update(t.Context(), by, by.User,
		func(p *account.Person, live []*session.Session) (*session.Session, error) {
			return nil, session.End(by, p, live, id)
		}))
}

func sessionsKept(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	user := team.Member.User
	list := func(key identity.KeyID, instant time.Time) (ids []identity.SessionID) {
		t.Helper()
		for _, limit := range []int{100, 2} {
			ids = nil
			for _, s := range fixture.Pages(t, limit, func(q page.Query) (session.Page, error) {
				return a.Sessions.List(ctx, team.Org, user, key, instant, q)
			}) {
				ids = append(ids, s.ID)
			}
		}
		return ids
	}
	key := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
	first := openSession(t, a.Stores, team.Org, user, fixture.At, nil)
	second := openSession(t, a.Stores, team.Org, user, fixture.At, key)
	endedSession := openSession(t, a.Stores, team.Org, user, fixture.At, nil)
	openSession(t, a.Stores, team.Org, team.Peer.User, fixture.At, nil)
	endSession(t, a.Stores, team.Member, endedSession.ID)

	t.Run("List returns the live sessions of a user, newest first", func(t *testing.T) {
		same(t, "the sessions", list("", fixture.At), []identity.SessionID{second.ID, first.ID})
		same(t, "those of the key", list(key.ID, fixture.At), []identity.SessionID{second.ID})
		same(t, "after 12 hours", list("", fixture.At.Add(session.Idle)), []identity.SessionID(nil))
		found, err := a.Sessions.List(ctx, team.Org, user, key.ID, fixture.At, page.Query{Limit: 1})
		must(t, err)
		same(t, "what was stored", &found.Items[0], second)
		var withPasskey *session.Session
		by := signingIn(team.Org, fixture.At)
		must(t, a.Sessions.Update(ctx, by, team.Peer.User,
			func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
				withPasskey, _, err = session.OpenByPasskey(by, p, "psk_1", "Firefox", live)
				return withPasskey, err
			}))
		found, err = a.Sessions.List(ctx, team.Org, team.Peer.User, "", fixture.At, page.Query{Limit: 1})
		must(t, err)
		same(t, "what a passkey opened", &found.Items[0], withPasskey)
		found, err = a.Sessions.List(ctx, a.Orgs[1], user, "", fixture.At, page.Query{Limit: 1})
		must(t, err)
		if len(found.Items) > 0 {
			t.Errorf("another org sees %+v", found)
		}
	})
	t.Run("Update loads the live sessions, oldest first, and stores nothing after an error", func(t *testing.T) {
		by := signingIn(team.Org, fixture.At)
		err := a.Sessions.Update(ctx, by, user, func(
			p *account.Person, live []*session.Session,
		) (*session.Session, error) {
			same(t, "the sessions", live, []*session.Session{first, second})
			if p.User.ID != user || len(p.Memberships) != 1 || p.Memberships[0].Workspace.ID != team.Workspace.ID {
				t.Errorf("the person is %+v", p)
			}
			openedSession, _, err := session.Open(by, p, session.ByLink, nil, "", live)
			must(t, err)
			session.EndAll(team.Member, p, live)
			return openedSession, errBoom
		})
		wantErr(t, err, errBoom)
		same(t, "the sessions", list("", fixture.At), []identity.SessionID{second.ID, first.ID})
		err = a.Sessions.Update(ctx, by, "usr_none", nil)
		wantErr(t, err, account.ErrUserNotFound)
		err = a.Sessions.Update(ctx, signingIn(a.Orgs[1], fixture.At), user, nil)
		wantErr(t, err, account.ErrUserNotFound)
	})
	t.Run("their events name the session", func(t *testing.T) {
		events := eventsOn(t, a.Stores, team.Workspace.ID, string(endedSession.ID))
		same(t, "the events", kinds(events), []string{"session.ended", "session.started"})
		if events[1].Session != endedSession.ID || events[1].Actor != user {
			t.Errorf("%+v", events[1])
		}
	})
	t.Run("a confirmation is stored", func(t *testing.T) {
		by := team.Member
		by.Session, by.At = first.ID, fixture.At.Add(time.Minute)
		must(t, a.Sessions.Update(ctx, by, user,
			func(p *account.Person, live []*session.Session) (*session.Session, error) {
				_, err := session.Confirm(by, p, live, "psk_1")
				return nil, err
			}))
		p, err := a.Sessions.Person(ctx, team.Org, first.Cookie)
		must(t, err)
		if !p.Session.ConfirmedAt.Equal(by.At) || !p.Session.EndedAt.IsZero() {
			t.Errorf("the session is %+v", p.Session)
		}
	})
	t.Run("Used keeps a session alive, at most once a minute", func(t *testing.T) {
		future := fixture.At.Add(time.Hour)
		uses := map[identity.SessionID]time.Time{
			first.ID: future, second.ID: fixture.At.Add(time.Second), "ses_none": future,
		}
		must(t, a.Sessions.Used(ctx, a.Orgs[1], uses))
		same(t, "the sessions", list("", fixture.At.Add(session.Idle)), []identity.SessionID(nil))
		must(t, a.Sessions.Used(ctx, team.Org, uses))
		same(t, "the sessions", list("", fixture.At.Add(session.Idle)), []identity.SessionID{first.ID})
	})
}

func sessionPerson(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	s := openSession(t, a.Stores, team.Org, team.Member.User, fixture.At, nil)
	nowhere := openSession(t, a.Stores, team.Org, team.Gone.User, fixture.At, nil)
	find := func(from ports.Stores, cookie account.Hash) *session.Person {
		t.Helper()
		p, err := from.Sessions.Person(ctx, team.Org, cookie)
		must(t, err)
		return p
	}
	t.Run("Person returns the session with its user and memberships", func(t *testing.T) {
		for range 2 { // the second time from memory
			p := find(a.Stores, s.Cookie)
			same(t, "the session", &p.Session, s)
			if p.User.ID != team.Member.User || p.Key.ID != "" || len(p.Memberships) != 1 ||
				p.Memberships[0].Workspace.Slug != team.Workspace.Slug || p.Memberships[0].Role != identity.Member {
				t.Errorf("the person is %+v", p.Person)
			}
		}
		p := find(a.Stores, nowhere.Cookie)
		if len(p.Memberships) != 1 || p.Memberships[0].Workspace.ID == team.Workspace.ID {
			t.Errorf("memberships %+v", p.Memberships)
		}
	})
	t.Run("another org and another cookie find nothing", func(t *testing.T) {
		_, err := a.Sessions.Person(ctx, a.Orgs[1], s.Cookie)
		wantErr(t, err, identity.ErrUnauthenticated)
		_, err = a.Sessions.Person(ctx, team.Org, s.Proof)
		wantErr(t, err, identity.ErrUnauthenticated)
	})
	t.Run("Proven returns the same principal", func(t *testing.T) {
		persons, err := a.Tickets.Proven(ctx, team.Org, []session.Proof{{Session: s.Cookie}, {Session: s.Proof}})
		must(t, err)
		if persons[1] != nil {
			t.Errorf("an unknown session means %+v", persons[1])
		}
		same(t, "the principal", persons[0], find(a.Stores, s.Cookie).Principal())
	})
	t.Run("a ticket keeps the session that it was issued to", func(t *testing.T) {
		token, ticket := session.NewTicket(team.Org, session.Proof{Session: s.Cookie}, fixture.At)
		must(t, a.Tickets.Add(ctx, ticket))
		got, err := a.Tickets.Take(ctx, team.Org, token.Hash(), fixture.At)
		must(t, err)
		same(t, "the ticket", got, &ticket)
	})
	t.Run("changes through this adapter are seen at once", func(t *testing.T) {
		find(a.Stores, s.Cookie)
		must(t, removeMember(t, a.Stores, team.Owner, team.Workspace.ID, team.Member.User))
		if p := find(a.Stores, s.Cookie); len(p.Memberships) > 0 {
			t.Errorf("memberships %+v", p.Memberships)
		}
		endSession(t, a.Stores, team.Member, s.ID)
		if p := find(a.Stores, s.Cookie); p.Session.EndedAt.IsZero() {
			t.Error("it has not ended")
		}
	})
	t.Run("those of another process within a second", func(t *testing.T) {
		find(a.Stores, nowhere.Cookie)
		endSession(t, a.Second(), team.Gone, nowhere.ID)
		proof.EventuallyWithin(t, "the end of the session", time.Second, func() bool {
			return !find(a.Stores, nowhere.Cookie).Session.EndedAt.IsZero()
		})
	})
}

func sessionOfKey(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	key := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k", Ceiling: identity.Viewer})
	s := openSession(t, a.Stores, team.Org, team.Member.User, fixture.At, key)
	find := func() *session.Principal {
		t.Helper()
		p, err := a.Sessions.Person(ctx, team.Org, s.Cookie)
		must(t, err)
		persons, err := a.Tickets.Proven(ctx, team.Org, []session.Proof{{Session: s.Cookie}})
		must(t, err)
		same(t, "the principal of the proof", persons[0], p.Principal())
		return p.Principal()
	}
	p := find()
	if p.Key.ID != key.ID || p.Key.Ceiling != identity.Viewer || p.Membership.Workspace.ID != team.Workspace.ID ||
		p.Membership.Role != identity.Member || !p.LiveSession(&identity.Org{}, fixture.At) {
		t.Errorf("the principal is %+v", p)
	}
	revoke(t, a.Stores, team.Member, key.ID)
	if p := find(); p.LiveSession(&identity.Org{}, fixture.At) {
		t.Error("it outlives its key")
	}
}

func sessionsAtOnce(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	user, second := team.Member.User, a.Second()
	for range session.MaxPerUser - 4 {
		openSession(t, a.Stores, team.Org, user, fixture.At, nil)
	}
	for _, err := range atOnce(8, func(i int) error {
		s, by := a.Stores, signingIn(team.Org, fixture.At)
		if i%2 == 1 {
			s = second
		}
		return s.Sessions.Update(ctx, by, user, func(
			p *account.Person, live []*session.Session,
		) (*session.Session, error) {
			openedSession, _, err := session.Open(by, p, session.ByLink, nil, "", live)
			return openedSession, err
		})
	}) {
		must(t, err)
	}
	live, err := a.Sessions.List(ctx, team.Org, user, "", fixture.At, page.Query{Limit: 100})
	must(t, err)
	assert.Equal(t, "sessions", len(live.Items), session.MaxPerUser)
}
