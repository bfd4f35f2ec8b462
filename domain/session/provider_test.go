package session_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const issuer = "https://issuer.example"

var atProvider = session.ProviderSession{Issuer: issuer, Subject: "sub", ID: "sid-1"}

func TestOpenFromProvider(t *testing.T) {
	p := inWorkspaces("w1")
	s, secrets, err := session.OpenFromProvider(browser(sessionAt), p, atProvider, "Firefox", nil)
	require.NoError(t, err)
	if s.From != atProvider || s.Source != session.ByOIDC || s.Cookie != secrets.Cookie.Hash() {
		t.Errorf("the session is %+v", s)
	}
	if want := sessionAt.Add(24 * time.Hour); !s.ExpiresAt.Equal(want) {
		t.Errorf("it ends at %v, want %v", s.ExpiresAt, want)
	}
	if e := s.Recorded(); len(e) != 1 || e[0].Data["source"] != "oidc" {
		t.Errorf("events %+v", e)
	}
	for name, tt := range map[string]struct {
		issuers []identity.Issuer
		want    bool
	}{
		"works while its issuer is configured": {[]identity.Issuer{{URL: issuer}}, true},
		"ends when its issuer is not":          {[]identity.Issuer{{URL: issuer + "/"}}, false},
		"ends when there is no issuer":         {nil, false},
	} {
		t.Run("a session by a provider "+name, func(t *testing.T) {
			person := session.Person{Person: *p, Session: *s}
			got := person.Principal().LiveSession(&identity.Org{Issuers: tt.issuers}, sessionAt)
			assert.Equal(t, "LiveSession", got, tt.want)
		})
	}
	p.User.DisabledAt = sessionAt
	_, _, err = session.OpenFromProvider(browser(sessionAt), p, atProvider, "", nil)
	assert.ErrorIs(t, err, identity.ErrUnauthenticated)
}

func TestNewCode(t *testing.T) {
	user := account.User{ID: "ann", Org: "org"}
	bound := session.NewBrowserSecret()
	token, code, err := session.NewCode(browser(sessionAt), &user, atProvider, bound.Hash())
	require.NoError(t, err)
	if code.From != atProvider || code.Bound != bound.Hash() || code.Hash != token.Hash() ||
		!code.ExpiresAt.Equal(sessionAt.Add(time.Minute)) {
		t.Errorf("the code is %+v", code)
	}
	if _, isLink := session.ParseLink(token.Reveal()); isLink {
		t.Error("a code is a link")
	}
	disabledUser, program := user, user
	disabledUser.DisabledAt, program.Service = sessionAt, true
	person := browser(sessionAt)
	person.User = "ann"
	for name, tt := range map[string]struct {
		by   identity.Actor
		user account.User
	}{
		"a disabled user":                {browser(sessionAt), disabledUser},
		"a program":                      {browser(sessionAt), program},
		"a user of another org":          {browser(sessionAt), account.User{ID: "ann", Org: "other"}},
		"a caller who is not the system": {person, user},
	} {
		t.Run(name+" gets no code", func(t *testing.T) {
			_, _, err := session.NewCode(tt.by, &tt.user, atProvider, bound.Hash())
			assert.ErrorIs(t, err, identity.ErrUnauthenticated)
		})
	}
}

func TestEndBecause(t *testing.T) {
	p := inWorkspaces("w1")
	s, _, err := session.OpenFromProvider(browser(sessionAt), p, atProvider, "", nil)
	require.NoError(t, err)
	laterActor := browser(sessionAt.Add(time.Hour))
	foreign := laterActor
	foreign.Org = "other"
	err = session.EndBecause(foreign, p, session.EndedByProvider, []*session.Session{s})
	assert.ErrorIs(t, err, session.ErrNotFound)
	require.NoError(t, session.EndBecause(laterActor, p, session.EndedByProvider, []*session.Session{s}))
	events := s.Recorded()
	if last := events[len(events)-1]; !s.EndedAt.Equal(laterActor.At) || last.Type != "session.ended" ||
		last.Data["reason"] != "provider_logout" || last.Actor != "" {
		t.Errorf("it ended at %v with %+v", s.EndedAt, last)
	}
}

func TestClaimsNameTheSessionOfTheProvider(t *testing.T) {
	for name, tt := range map[string]struct {
		raw  map[string]any
		want string
	}{
		"a session":            {map[string]any{"sid": "s"}, "s"},
		"none":                 {nil, ""},
		"one that is no text":  {map[string]any{"sid": 1.0}, ""},
		"one that is too long": {map[string]any{"sid": string(make([]byte, 256))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := account.Claims{Issuer: issuer, Subject: "sub", Raw: tt.raw}
			if got := session.FromClaims(c); got != (session.ProviderSession{Issuer: issuer, Subject: "sub",
				ID: tt.want}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLogoutTokensAreToldApart(t *testing.T) {
	one := session.Logout{ProviderSession: atProvider, TokenID: "1"}
	other, foreign := one, one
	other.TokenID, foreign.Issuer = "2", issuer+"1"
	if one.Hash() == other.Hash() || one.Hash() == foreign.Hash() {
		t.Error("two tokens have one hash")
	}
	if !one.RememberUntil(sessionAt).After(sessionAt.Add(10 * time.Minute)) {
		t.Error("it is forgotten while it is accepted")
	}
}
