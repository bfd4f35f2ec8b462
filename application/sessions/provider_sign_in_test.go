package sessions_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/require"
)

var atProvider = session.ProviderSession{Issuer: "https://issuer.example", Subject: "sub", ID: "sid"}

func TestOpenByCode(t *testing.T) {
	org, browser := &identity.Org{ID: "org"}, session.NewBrowserSecret()
	token, code, err := session.NewCode(system, &account.User{ID: "ann", Org: "org"}, atProvider, browser.Hash())
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		code, browser string
		disabled      bool
		looked        error // of TakeLink
		want          error
	}{
		"the browser that began": {token.Reveal(), browser.Reveal(), false, nil, nil},
		"another browser": {token.Reveal(), session.NewBrowserSecret().Reveal(), false, nil,
			session.ErrLinkInvalid},
		"no browser":         {token.Reveal(), "", false, nil, session.ErrLinkInvalid},
		"a disabled account": {token.Reveal(), browser.Reveal(), true, nil, session.ErrLinkInvalid},
		"a code that is not known": {token.Reveal(), browser.Reveal(), false, session.ErrLinkInvalid,
			session.ErrLinkInvalid},
		"the store is away": {token.Reveal(), browser.Reveal(), false, errOutage, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningIn(t)
			found := *code
			if tt.disabled {
				s.person.User.DisabledAt = now
			}
			s.sessions.EXPECT().TakeLink(gomock.Any(), identity.OrgID("org"), token.Hash(),
				now).Return(&found, tt.looked)
			if tt.want == nil || tt.disabled {
				s.expectUpdate(nil)
			}
			out, err := s.OpenByCode(t.Context(), system, org, tt.code, tt.browser, sessions.Browser{Agent: "Firefox"})
			require.ErrorIs(t, err, tt.want)
			if err == nil && (out.Session != s.opened || out.Session.From != atProvider || out.User.ID != "ann") {
				t.Errorf("%+v", out)
			}
		})
	}
	t.Run("what is no code reaches no store", func(t *testing.T) {
		_, err := newSigningIn(t).OpenByCode(t.Context(), system, org, linkToken(t).Reveal(), browser.Reveal(),
			sessions.Browser{})
		require.ErrorIs(t, err, session.ErrLinkInvalid)
	})
}

func TestCodeFor(t *testing.T) {
	s, bound := newSigningIn(t), session.NewBrowserSecret().Hash()
	var link *session.Link
	s.sessions.EXPECT().AddLink(gomock.Any(),
		gomock.Any()).Do(func(_ context.Context, l *session.Link) { link = l })
	token, err := s.CodeFor(t.Context(), system, &s.person.User, atProvider, bound)
	require.NoError(t, err)
	if link.Hash != token.Hash() || link.Bound != bound || link.From != atProvider {
		t.Errorf("stored %+v", link)
	}
	s.person.User.DisabledAt = now
	_, err = s.CodeFor(t.Context(), system, &s.person.User, atProvider, bound)
	require.ErrorIs(t, err, identity.ErrUnauthenticated)
}

func TestALogoutAtAProvider(t *testing.T) {
	logout := &session.Logout{ProviderSession: atProvider, TokenID: "1"}
	receive := func(t *testing.T, failure error) (*signingIn, func() error) {
		p, client, s := newAtProvider(t, nil)
		client.EXPECT().Logout(gomock.Any(), providerOrg.Issuers, "token", now).Return(logout, failure)
		return s, func() error { return p.Logout(t.Context(), system, providerOrg, "token") }
	}
	t.Run("ends the sessions of the sign-in", func(t *testing.T) {
		s, run := receive(t, nil)
		one := &session.Session{ID: "one", Org: "org", User: "ann"}
		s.provided.EXPECT().Receive(gomock.Any(), identity.OrgID("org"), logout.Hash(), logout.RememberUntil(now))
		s.provided.EXPECT().End(gomock.Any(), system, atProvider, gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ session.ProviderSession,
				change func(*account.Person, []*session.Session) error) error {
				return change(&s.person, []*session.Session{one})
			})
		require.NoError(t, run())
		if !one.EndedAt.Equal(now) {
			t.Errorf("it ended at %v", one.EndedAt)
		}
	})
	t.Run("a token counts once", func(t *testing.T) {
		s, run := receive(t, nil)
		s.provided.EXPECT().Receive(gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).Return(session.ErrLogoutToken)
		require.ErrorIs(t, run(), session.ErrLogoutToken)
	})
	t.Run("a token that no provider of the org signed ends nothing", func(t *testing.T) {
		_, run := receive(t, session.ErrLogoutToken)
		require.ErrorIs(t, run(), session.ErrLogoutToken)
	})
}
