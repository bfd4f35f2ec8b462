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
			if got := session.FromClaims(&identity.Org{}, c); got != (session.ProviderSession{Issuer: issuer,
				Subject: "sub",
				ID:      tt.want}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestClaimsProveHowAPersonSignedIn(t *testing.T) {
	org := &identity.Org{Issuers: []identity.Issuer{{
		URL: issuer, SecondFactor: []identity.ClaimValue{{Claim: "amr", Value: "mfa"}, {Claim: "acr", Value: "high"}},
	}, {URL: "https://other.example"}}}
	signIn := float64(sessionAt.Add(-time.Hour).Unix())
	for name, tt := range map[string]struct {
		issuer string
		raw    map[string]any
		factor bool
		at     time.Time
	}{
		"one of its methods":           {issuer, map[string]any{"amr": []any{"pwd", "mfa"}}, true, time.Time{}},
		"its context":                  {issuer, map[string]any{"acr": "high"}, true, time.Time{}},
		"another context":              {issuer, map[string]any{"acr": "low", "amr": []any{"pwd"}}, false, time.Time{}},
		"nothing":                      {issuer, nil, false, time.Time{}},
		"the claim of another issuer":  {"https://other.example", map[string]any{"acr": "high"}, false, time.Time{}},
		"an issuer that has been left": {"https://gone.example", map[string]any{"acr": "high"}, false, time.Time{}},
		"its time": {issuer, map[string]any{"auth_time": signIn}, false,
			sessionAt.Add(-time.Hour).Truncate(time.Second)},
		"a time that is no number":       {issuer, map[string]any{"auth_time": "now"}, false, time.Time{}},
		"a time after the token expires": {issuer, map[string]any{"auth_time": 1e15}, false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			from := session.FromClaims(org, account.Claims{
				Issuer: tt.issuer, Subject: "sub", ExpiresAt: sessionAt.Add(time.Minute), Raw: tt.raw,
			})
			assert.Equal(t, "a second factor", from.SecondFactor, tt.factor)
			assert.Equal(t, "authenticated at", from.AuthenticatedAt, tt.at)
		})
	}
}

func TestAProviderMustAuthenticateAsRequired(t *testing.T) {
	ago := func(d time.Duration) float64 { return float64(sessionAt.Add(-d).Unix()) }
	recently := sessionAt.Add(-10 * time.Minute)
	high := &identity.Client{ACRValues: []string{"high", "higher"}}
	for name, tt := range map[string]struct {
		client *identity.Client
		start  time.Time
		raw    map[string]any
		want   error
	}{
		"nothing is required": {&identity.Client{}, time.Time{}, nil, nil},
		"recently enough":     {&identity.Client{}, recently, map[string]any{"auth_time": ago(9 * time.Minute)}, nil},
		"within the difference of clocks": {&identity.Client{}, recently,
			map[string]any{"auth_time": ago(11 * time.Minute)}, nil},
		"not long before": {&identity.Client{}, recently, map[string]any{"auth_time": ago(12 * time.Minute)},
			session.ErrInsufficientAuthentication},
		"not without a time": {&identity.Client{}, recently, nil, session.ErrInsufficientAuthentication},
		"in one context":     {high, time.Time{}, map[string]any{"acr": "higher"}, nil},
		"not in another":     {high, time.Time{}, map[string]any{"acr": "low"}, session.ErrInsufficientAuthentication},
		"not in none":        {high, time.Time{}, nil, session.ErrInsufficientAuthentication},
		"not in a list": {high, time.Time{}, map[string]any{"acr": []any{"high"}},
			session.ErrInsufficientAuthentication},
		"both": {high, recently, map[string]any{"acr": "high", "auth_time": ago(time.Hour)},
			session.ErrInsufficientAuthentication},
	} {
		t.Run(name, func(t *testing.T) {
			c := account.Claims{ExpiresAt: sessionAt.Add(time.Minute), Raw: tt.raw}
			require.ErrorIs(t, session.CheckAuthentication(c, tt.client, tt.start), tt.want)
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
