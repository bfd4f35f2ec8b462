package sessions_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// signingIn is a Sessions on mocked ports.
type signingIn struct {
	*sessions.Service
	sessions *mocks.MockSessions
	provided *mocks.MockProviderSessions
	keys     *mocks.MockKeys
	users    *mocks.MockUsers
	people   *mocks.MockPeople
	passkeys *mocks.MockPasskeys
	mailer   *mocks.MockMailer
	notes    *noting
	person   account.Person
	live     []*session.Session
	opened   *session.Session // what was stored
}

func newSigningIn(t *testing.T) *signingIn {
	c := gomock.NewController(t)
	s := &signingIn{
		sessions: mocks.NewMockSessions(c), provided: mocks.NewMockProviderSessions(c),
		keys: mocks.NewMockKeys(c), users: mocks.NewMockUsers(c),
		people: mocks.NewMockPeople(c), passkeys: mocks.NewMockPasskeys(c),
		mailer: mocks.NewMockMailer(c),
		person: account.Person{User: account.User{ID: "ann", Org: "org", Email: "ann@example.com"}},
	}
	atomic := mocks.NewMockAtomic(c)
	atomic.EXPECT().Atomically(gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ context.Context, fn func(ports.Stores) error) error {
			return fn(ports.Stores{
				AccountStores: ports.AccountStores{Users: s.users, People: s.people},
				SessionStores: ports.SessionStores{
					Sessions: s.sessions, ProviderSessions: s.provided, Passkeys: s.passkeys,
				},
			})
		}).AnyTimes()
	s.notes = newNoting(c)
	s.Service = sessions.NewService(atomic, s.sessions, s.keys, s.users, s.mailer, s.notes)
	return s
}

// expectUser has the store find ann.
func (s *signingIn) expectUser() {
	s.users.EXPECT().Get(gomock.Any(), identity.OrgID("org"), identity.UserID("ann")).Return(&s.person.User, nil, nil)
}

// expectUpdate runs changes of ann's sessions twice, as stores do after a conflict.
func (s *signingIn) expectUpdate(err error) {
	s.sessions.EXPECT().Update(gomock.Any(), gomock.Any(), identity.UserID("ann"), gomock.Any()).DoAndReturn(
		func(
			_ context.Context, _ identity.Actor, _ identity.UserID,
			change func(*account.Person, []*session.Session) (*session.Session, error),
		) (failure error) {
			if err != nil {
				return err
			}
			for range 2 {
				person := s.person
				if s.opened, failure = change(&person, s.live); failure != nil {
					return failure
				}
			}
			return nil
		})
}

func TestOpenSession(t *testing.T) {
	org := &identity.Org{ID: "org"}
	t.Run("a link is taken, and opens a session of its user", func(t *testing.T) {
		s := newSigningIn(t)
		token, link, err := session.NewLink(system, &s.person.User)
		require.NoError(t, err)
		s.sessions.EXPECT().TakeLink(gomock.Any(), identity.OrgID("org"), token.Hash(), now).Return(link, nil)
		s.expectUser()
		s.expectUpdate(nil)
		out, err := s.Open(t.Context(), system, org, token.Reveal(), sessions.Browser{Agent: "Firefox"})
		require.NoError(t, err)
		if out.Session != s.opened || s.opened.Cookie != out.Secrets.Cookie.Hash() ||
			s.opened.Source != session.ByLink ||
			s.opened.Agent != "Firefox" || out.User.ID != "ann" {
			t.Errorf("%+v", out)
		}
	})
	t.Run("a key opens a session that is bound to it", func(t *testing.T) {
		s := newSigningIn(t)
		token := account.NewToken()
		p := &account.Principal{
			User: s.person.User, Membership: account.Membership{Workspace: here, Role: identity.Member},
			Key: account.Key{ID: "key", Workspace: "acme"},
		}
		s.keys.EXPECT().Principal(gomock.Any(), identity.OrgID("org"), token.Hash()).Return(p, nil)
		s.expectUpdate(nil)
		out, err := s.Open(t.Context(), system, org, token.Reveal(), sessions.Browser{})
		require.NoError(t, err)
		if out.Session.Key != "key" || out.Session.Workspace != "acme" || out.Session.Source != session.ByAPIKey {
			t.Errorf("%+v", out.Session)
		}
	})
	for name, tt := range map[string]struct {
		token   account.Token
		prepare func(s *signingIn)
		want    error
	}{
		"a link that is not known": {linkToken(t), func(s *signingIn) {
			s.sessions.EXPECT().TakeLink(gomock.Any(), gomock.Any(), gomock.Any(), now).
				Return(nil, session.ErrLinkInvalid)
		}, session.ErrLinkInvalid},
		"a link of a user who is gone": {linkToken(t), func(s *signingIn) {
			s.sessions.EXPECT().TakeLink(gomock.Any(), gomock.Any(), gomock.Any(), now).
				Return(&session.Link{User: "ann"}, nil)
			s.users.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, nil, account.ErrUserNotFound)
		}, session.ErrLinkInvalid},
		"a link of a user who is disabled": {linkToken(t), func(s *signingIn) {
			s.person.User.DisabledAt = now
			s.sessions.EXPECT().TakeLink(gomock.Any(), gomock.Any(), gomock.Any(), now).
				Return(&session.Link{User: "ann"}, nil)
			s.expectUser()
			s.expectUpdate(nil)
		}, session.ErrLinkInvalid},
		"a key that is not known": {account.NewToken(), func(s *signingIn) {
			s.keys.EXPECT().Principal(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, identity.ErrUnauthenticated)
		}, session.ErrLinkInvalid},
		"a key that was revoked": {account.NewToken(), func(s *signingIn) {
			s.keys.EXPECT().Principal(gomock.Any(), gomock.Any(), gomock.Any()).
				Return(&account.Principal{Key: account.Key{ID: "key", RevokedAt: now}}, nil)
		}, session.ErrLinkInvalid},
		"another kind of token": {account.Token{}, func(*signingIn) {}, session.ErrLinkInvalid},
		"the store is away": {linkToken(t), func(s *signingIn) {
			s.sessions.EXPECT().TakeLink(gomock.Any(), gomock.Any(), gomock.Any(), now).Return(nil, errOutage)
		}, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningIn(t)
			tt.prepare(s)
			_, err := s.Open(t.Context(), system, org, tt.token.Reveal(), sessions.Browser{})
			require.ErrorIs(t, err, tt.want)
			assert.EqualSlice(t, "notes", s.notes.written, map[string][]string{
				"a link of a user who is disabled": {"user.sign_in_refused link"},
				"a key that was revoked":           {"api_key.refused key revoked"},
			}[name])
		})
	}
}

// linkToken returns the token of a sign-in link.
func linkToken(t *testing.T) account.Token {
	t.Helper()
	token, _, err := session.NewLink(system, &account.User{ID: "ann", Org: "org"})
	require.NoError(t, err)
	return token
}

func TestAuthenticateSession(t *testing.T) {
	org := &identity.Org{ID: "org"}
	ann := &account.Person{User: account.User{ID: "ann", Org: "org"}}
	openedValue, secrets, err := session.Open(system, ann, session.ByLink, nil, "", nil)
	require.NoError(t, err)
	_, others, err := session.Open(system, ann, session.ByLink, nil, "", nil)
	require.NoError(t, err)
	cookie, proof := secrets.Cookie.Reveal(), secrets.Proof.Reveal()
	for name, tt := range map[string]struct {
		cookie, proof string
		after         time.Duration
		looked        bool
		found         error
		want          error
	}{
		"both secrets":           {cookie, proof, 0, true, nil, nil},
		"no proof":               {cookie, "", 0, false, nil, identity.ErrUnauthenticated},
		"another's proof":        {cookie, others.Proof.Reveal(), 0, true, nil, identity.ErrUnauthenticated},
		"the cookie as proof":    {cookie, cookie, 0, false, nil, identity.ErrUnauthenticated},
		"no cookie":              {"", proof, 0, false, nil, identity.ErrUnauthenticated},
		"a session that ended":   {cookie, proof, session.Idle, true, nil, identity.ErrUnauthenticated},
		"a session that is gone": {cookie, proof, 0, true, identity.ErrUnauthenticated, identity.ErrUnauthenticated},
		"the store is away":      {cookie, proof, 0, true, errOutage, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningIn(t)
			if tt.looked {
				p := &session.Person{Person: *ann, Session: *openedValue}
				s.sessions.EXPECT().Person(gomock.Any(), identity.OrgID("org"), openedValue.Cookie).Return(p, tt.found)
			}
			p, err := s.Authenticate(t.Context(), org, tt.cookie, tt.proof, now.Add(tt.after))
			require.ErrorIs(t, err, tt.want)
			if (p == nil) != (tt.want != nil) {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestAPolicyEndsASessionThatIsNotUsed(t *testing.T) {
	ann := &account.Person{User: account.User{ID: "ann", Org: "org"}}
	one, secrets, err := session.Open(system, ann, session.ByLink, nil, "", nil)
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		policy identity.SessionPolicy
		after  time.Duration
		want   error
	}{
		"before it was idle too long": {identity.SessionPolicy{Idle: 15 * time.Minute}, 15*time.Minute - 1, nil},
		"when it was idle too long": {identity.SessionPolicy{Idle: 15 * time.Minute}, 15 * time.Minute,
			identity.ErrUnauthenticated},
		"at the end of its life": {identity.SessionPolicy{Life: time.Hour}, time.Hour, identity.ErrUnauthenticated},
		"without a policy":       {identity.SessionPolicy{}, time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningIn(t)
			s.sessions.EXPECT().Person(gomock.Any(), identity.OrgID("org"), one.Cookie).
				Return(&session.Person{Person: *ann, Session: *one}, nil)
			_, err := s.Authenticate(t.Context(), &identity.Org{ID: "org", Sessions: tt.policy},
				secrets.Cookie.Reveal(), secrets.Proof.Reveal(), now.Add(tt.after))
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestEndSessions(t *testing.T) {
	ann := actor("ann", identity.Member)
	ann.Session = "ses_1"
	live := func() []*session.Session {
		return []*session.Session{{ID: "ses_1", Org: "org", User: "ann"}, {ID: "ses_2", Org: "org", User: "ann"}}
	}
	for name, tt := range map[string]struct {
		end   func(*signingIn) error
		ended []bool
		want  error
	}{
		"one":       {func(s *signingIn) error { return s.End(t.Context(), ann, "ses_2") }, []bool{false, true}, nil},
		"one's own": {func(s *signingIn) error { return s.EndOwn(t.Context(), ann) }, []bool{true, false}, nil},
		"all":       {func(s *signingIn) error { return s.EndAll(t.Context(), ann) }, []bool{true, true}, nil},
		"one not there": {
			func(s *signingIn) error { return s.End(t.Context(), ann, "ses_9") }, []bool{false, false},
			session.ErrNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningIn(t)
			s.live = live()
			s.expectUpdate(nil)
			require.ErrorIs(t, tt.end(s), tt.want)
			for i, want := range tt.ended {
				if got := !s.live[i].EndedAt.IsZero(); got != want {
					t.Errorf("%s ended: %v", s.live[i].ID, got)
				}
			}
			if s.opened != nil {
				t.Error("a session was opened")
			}
		})
	}
	t.Run("a key has no own session", func(t *testing.T) {
		require.ErrorIs(t, newSigningIn(t).EndOwn(t.Context(), member), session.ErrNoSession)
	})
}

func TestListSessions(t *testing.T) {
	s := newSigningIn(t)
	by := member
	by.Key = "key"
	s.sessions.EXPECT().
		List(gomock.Any(), identity.OrgID("org"), identity.UserID("ann"), identity.KeyID("key"), now, gomock.Any()).
		DoAndReturn(func(context.Context, identity.OrgID, identity.UserID, identity.KeyID, time.Time, page.Query,
		) (session.Page, error) {
			return session.Page{Items: []session.Session{seen("ses_2", 0), seen("ses_1", time.Hour)}}, nil
		}).AnyTimes()
	if got, err := s.List(t.Context(), by, anyone, page.Query{Limit: 5}); err != nil || len(got.Items) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.Get(t.Context(), by, anyone, "ses_1"); err != nil || got.ID != "ses_1" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := s.Get(t.Context(), by, anyone, "ses_9")
	require.ErrorIs(t, err, session.ErrNotFound)
	t.Run("not those that a policy has ended", func(t *testing.T) {
		strict := identity.SessionPolicy{Idle: time.Hour}
		got, err := s.List(t.Context(), by, strict, page.Query{Limit: 5})
		if err != nil || len(got.Items) != 1 || got.Items[0].ID != "ses_2" {
			t.Errorf("%+v, %v", got, err)
		}
		_, err = s.Get(t.Context(), by, strict, "ses_1")
		require.ErrorIs(t, err, session.ErrNotFound)
	})
}

// seen is a session that was used some time ago.
func seen(id identity.SessionID, age time.Duration) session.Session {
	return session.Session{ID: id, LastSeenAt: now.Add(-age), ExpiresAt: now.Add(time.Hour)}
}

func TestLinkFor(t *testing.T) {
	for name, tt := range map[string]struct {
		found    error
		disabled bool
		want     error
	}{
		"somebody":     {nil, false, nil},
		"nobody":       {account.ErrUserNotFound, false, account.ErrUserNotFound},
		"one disabled": {nil, true, account.ErrUserNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningIn(t)
			if tt.disabled {
				s.person.User.DisabledAt = now
			}
			s.users.EXPECT().FindByEmail(gomock.Any(), identity.OrgID("org"), "ann@example.com").
				Return(&s.person.User, nil, tt.found)
			var storedLink *session.Link
			if tt.want == nil {
				s.sessions.EXPECT().AddLink(gomock.Any(), gomock.Any()).
					Do(func(_ context.Context, l *session.Link) { storedLink = l })
			}
			token, link, err := s.LinkFor(t.Context(), system, "ann@example.com")
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && (storedLink != link || link.Hash != token.Hash()) {
				t.Errorf("%+v was stored, and %+v returned", storedLink, link)
			}
		})
	}
}
