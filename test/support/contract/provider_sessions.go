package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// providedSession opens a session of a user who signed in at a provider.
func providedSession(
	t testing.TB, s ports.Stores, by identity.Actor, from session.ProviderSession,
) (openedSession *session.Session) {
	t.Helper()
	system := signingIn(by.Org, fixture.At)
	must(t, s.Sessions.Update(t.Context(), system, by.User,
		func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
			openedSession, _, err = session.OpenFromProvider(system, p, from, "Firefox", live)
			return openedSession, err
		}))
	return openedSession
}

func providerSessions(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	other := fixture.NewTeam(t, a.Stores, a.Orgs[1])
	sessionAt := func(subject, id string) session.ProviderSession {
		return session.ProviderSession{
			Issuer: issuer + "/" + team.Workspace.Slug, Subject: subject, ID: id, SecondFactor: true,
			AuthenticatedAt: fixture.At.Add(-time.Hour),
		}
	}
	live := func(by identity.Actor) (ids []identity.SessionID) {
		t.Helper()
		found, err := a.Sessions.List(ctx, by.Org, by.User, "", fixture.At, page.Query{Limit: 50})
		must(t, err)
		for _, s := range found.Items {
			ids = append(ids, s.ID)
		}
		return ids
	}
	end := func(from session.ProviderSession) (users []identity.UserID) {
		t.Helper()
		by := signingIn(team.Org, fixture.At)
		must(t, a.Second().ProviderSessions.End(ctx, by, from,
			func(p *account.Person, live []*session.Session) error {
				users = append(users, p.User.ID)
				return session.EndBecause(by, p, session.EndedByProvider, live)
			}))
		return users
	}
	t.Run("a session remembers the sign-in that opened it", func(t *testing.T) {
		s := providedSession(t, a.Stores, team.Member, sessionAt("m", "s1"))
		p, err := a.Second().Sessions.Person(ctx, team.Org, s.Cookie)
		must(t, err)
		same(t, "the sign-in", p.Session.From, sessionAt("m", "s1"))
		same(t, "its end", p.Session.ExpiresAt, s.ExpiresAt)
	})
	t.Run("End selects by the session of the provider, by subject, or by both", func(t *testing.T) {
		keptSession := openSession(t, a.Stores, team.Org, team.Member.User, fixture.At, nil)
		foreign := providedSession(t, a.Stores, other.Member, sessionAt("m", "s1"))
		first, second := live(team.Member)[1], providedSession(t, a.Stores, team.Member, sessionAt("m", "s2"))
		peer := providedSession(t, a.Stores, team.Peer, sessionAt("p", "s1"))
		same(t, "users", end(sessionAt("nobody", "")), []identity.UserID(nil))
		same(t, "users", end(sessionAt("m", "s3")), []identity.UserID(nil))
		same(t, "users", end(sessionAt("m", "s1")), []identity.UserID{team.Member.User})
		if got := live(team.Member); slices.Contains(got, first) || !slices.Contains(got, second.ID) {
			t.Errorf("live are %v", got)
		}
		same(t, "users", end(sessionAt("", "s1")), []identity.UserID{team.Peer.User})
		same(t, "users", end(sessionAt("m", "")), []identity.UserID{team.Member.User})
		same(t, "live", live(team.Member), []identity.SessionID{keptSession.ID})
		same(t, "live", live(team.Peer), []identity.SessionID(nil))
		same(t, "in the other org", live(other.Member), []identity.SessionID{foreign.ID})
		same(t, "again", end(sessionAt("m", "")), []identity.UserID(nil))
		_, err := a.Sessions.Person(ctx, team.Org, peer.Cookie)
		must(t, err)
		same(t, "events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(peer.ID))),
			[]string{"session.ended", "session.started"})
	})
	t.Run("a code keeps its sign-in and browser, and ends with the sign-in", func(t *testing.T) {
		bound := session.NewBrowserSecret().Hash()
		add := func(id string) *session.Link {
			t.Helper()
			_, code, err := session.NewCode(signingIn(team.Org, fixture.At),
				&account.User{ID: team.Member.User, Org: team.Org}, sessionAt("m", id), bound)
			must(t, err)
			must(t, a.Sessions.AddLink(ctx, code))
			return code
		}
		first, second := add("s1"), add("s2")
		got, err := a.Second().Sessions.TakeLink(ctx, team.Org, first.Hash, fixture.At)
		must(t, err)
		same(t, "the code", got, first)
		end(sessionAt("m", "s2"))
		_, err = a.Sessions.TakeLink(ctx, team.Org, second.Hash, fixture.At)
		wantErr(t, err, session.ErrLinkInvalid)
	})
}

func logoutTokens(t *testing.T, a Adapter) {
	ctx := t.Context()
	l := session.Logout{ProviderSession: session.ProviderSession{Issuer: issuer},
		TokenID: fixture.NewTeam(t, a.Stores, a.Orgs[0]).Workspace.Slug}
	deadline := l.RememberUntil(fixture.At)
	notedCount := 0
	second := a.Second()
	for _, err := range atOnce(4, func(i int) error {
		s := a.Stores
		if i%2 == 1 {
			s = second
		}
		return s.ProviderSessions.Receive(ctx, a.Orgs[0], l.Hash(), deadline)
	}) {
		if err == nil {
			notedCount++
			continue
		}
		wantErr(t, err, session.ErrLogoutToken)
	}
	if notedCount != 1 {
		t.Errorf("the token counted %d times", notedCount)
	}
	must(t, a.ProviderSessions.Receive(ctx, a.Orgs[1], l.Hash(), deadline))
}

func captures(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := identity.System(team.Org, "", "sign-in", fixture.At.Add(time.Minute))
	rule := identity.Capture{Domain: "corp.test", Workspace: team.Workspace.Slug, Role: identity.Member}
	newcomer, err := account.NewUser(by, "new@"+team.Workspace.Slug+".example", "New", false)
	must(t, err)
	must(t, a.Users.Add(ctx, newcomer))
	capture := func(slug string) bool {
		t.Helper()
		isCaptured, err := a.Captures.Capture(ctx, by, slug, newcomer.ID,
			func(w *account.Workspace) error { return w.Capture(by, newcomer.ID, rule) })
		must(t, err)
		return isCaptured
	}
	role := func() identity.Role {
		t.Helper()
		_, memberships, err := a.Second().Users.Get(ctx, team.Org, newcomer.ID)
		must(t, err)
		for _, m := range memberships {
			if m.Workspace.ID == team.Workspace.ID {
				return m.Role
			}
		}
		return identity.NoRole
	}
	same(t, "in no workspace", capture("no-such-workspace"), false)
	same(t, "the first time", capture(rule.Workspace), true)
	same(t, "the role", role(), identity.Member)
	must(t, changeWorkspace(t, a.Stores, team.Owner, team.Workspace.ID, []identity.UserID{newcomer.ID},
		func(w *account.Workspace) error { return w.Remove(team.Owner, nil, newcomer.ID, false) }))
	same(t, "the second time", capture(rule.Workspace), false)
	same(t, "the role", role(), identity.NoRole)
}
