package account_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

var atProvider = account.ProviderSession{Issuer: issuer, Subject: "sub", ID: "sid-1"}

func TestOpenProviderSession(t *testing.T) {
	p := inWorkspaces("w1")
	s, secrets, err := p.OpenProviderSession(browser(sessionAt), atProvider, "Firefox", nil)
	wantErr(t, err, nil)
	if s.From != atProvider || s.Source != account.ByOIDC || s.Cookie != secrets.Cookie.Hash() {
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
			person := account.SessionPerson{Person: *p, Session: *s}
			got := person.Principal().LiveSession(&identity.Org{Issuers: tt.issuers}, sessionAt)
			if got != tt.want {
				t.Errorf("LiveSession = %v", got)
			}
		})
	}
	p.User.DisabledAt = sessionAt
	_, _, err = p.OpenProviderSession(browser(sessionAt), atProvider, "", nil)
	wantErr(t, err, identity.ErrUnauthenticated)
}

func TestNewSignInCode(t *testing.T) {
	user := account.User{ID: "ann", Org: "org"}
	bound := account.NewBrowserSecret()
	token, code, err := account.NewSignInCode(browser(sessionAt), &user, atProvider, bound.Hash())
	wantErr(t, err, nil)
	if code.From != atProvider || code.Bound != bound.Hash() || code.Hash != token.Hash() ||
		!code.ExpiresAt.Equal(sessionAt.Add(time.Minute)) {
		t.Errorf("the code is %+v", code)
	}
	if _, isLink := account.ParseSignInLink(token.Reveal()); isLink {
		t.Error("a code is a link")
	}
	disabled, program := user, user
	disabled.DisabledAt, program.Service = sessionAt, true
	person := browser(sessionAt)
	person.User = "ann"
	for name, tt := range map[string]struct {
		by   identity.Actor
		user account.User
	}{
		"a disabled user":                {browser(sessionAt), disabled},
		"a program":                      {browser(sessionAt), program},
		"a user of another org":          {browser(sessionAt), account.User{ID: "ann", Org: "other"}},
		"a caller who is not the system": {person, user},
	} {
		t.Run(name+" gets no code", func(t *testing.T) {
			_, _, err := account.NewSignInCode(tt.by, &tt.user, atProvider, bound.Hash())
			wantErr(t, err, identity.ErrUnauthenticated)
		})
	}
}

func TestEndSessionsBecause(t *testing.T) {
	p := inWorkspaces("w1")
	s, _, err := p.OpenProviderSession(browser(sessionAt), atProvider, "", nil)
	wantErr(t, err, nil)
	later := browser(sessionAt.Add(time.Hour))
	foreign := later
	foreign.Org = "other"
	wantErr(t, p.EndSessionsBecause(foreign, account.EndedByProvider, []*account.Session{s}),
		account.ErrSessionNotFound)
	wantErr(t, p.EndSessionsBecause(later, account.EndedByProvider, []*account.Session{s}), nil)
	events := s.Recorded()
	if last := events[len(events)-1]; !s.EndedAt.Equal(later.At) || last.Type != "session.ended" ||
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
			if got := c.ProviderSession(); got != (account.ProviderSession{Issuer: issuer, Subject: "sub",
				ID: tt.want}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLogoutTokensAreToldApart(t *testing.T) {
	one := account.Logout{ProviderSession: atProvider, TokenID: "1"}
	other, foreign := one, one
	other.TokenID, foreign.Issuer = "2", issuer+"1"
	if one.Hash() == other.Hash() || one.Hash() == foreign.Hash() {
		t.Error("two tokens have one hash")
	}
	if !one.RememberUntil(sessionAt).After(sessionAt.Add(10 * time.Minute)) {
		t.Error("it is forgotten while it is accepted")
	}
}

func TestCapture(t *testing.T) {
	rule := identity.Capture{Domain: "corp.test", Workspace: "acme-slug", Role: identity.Member}
	system := identity.System("org", "", "sign-in", sessionAt)
	t.Run("makes a person a member, as if by hand", func(t *testing.T) {
		w := acme()
		wantErr(t, w.Capture(system, "newcomer", rule), nil)
		m := w.Members["newcomer"]
		if m.Role != identity.Member || m.ByHand != identity.Member {
			t.Errorf("the member is %+v", m)
		}
		e := w.Recorded()
		if len(e) != 1 || e[0].Type != "member.added" || e[0].Data["email_domain"] != "corp.test" {
			t.Errorf("events %+v", e)
		}
	})
	t.Run("leaves a member as they are", func(t *testing.T) {
		w := acme()
		for user, m := range w.Members {
			wantErr(t, w.Capture(system, user, rule), nil)
			if w.Members[user].Role != m.Role || len(w.Recorded()) > 0 {
				t.Errorf("%s became %+v", user, w.Members[user])
			}
		}
	})
	t.Run("is for the system only, in its org, while the workspace exists", func(t *testing.T) {
		w := acme()
		person, foreign := system, system
		person.User, foreign.Org = "ann", "other"
		for _, by := range []identity.Actor{person, foreign} {
			wantErr(t, w.Capture(by, "newcomer", rule), identity.ErrWorkspaceNotFound)
		}
		w.DeletedAt = sessionAt
		wantErr(t, w.Capture(system, "newcomer", rule), identity.ErrWorkspaceNotFound)
	})
}

func TestADomainThatAWorkspaceCapturesSignsUp(t *testing.T) {
	vouches := identity.Issuer{URL: issuer, TrustEmail: true}
	for name, tt := range map[string]struct {
		issuer   identity.Issuer
		email    string
		verified bool
		want     error
	}{
		"a verified address of the domain": {vouches, "new@Corp.Test", true, nil},
		"an address of another domain":     {vouches, "new@sub.corp.test", true, account.ErrSignUpClosed},
		"an address that is not verified":  {vouches, "new@corp.test", false, account.ErrSignUpClosed},
		"an issuer that may not vouch for it": {identity.Issuer{URL: issuer}, "new@corp.test", true,
			account.ErrSignUpClosed},
		"an issuer of other domains": {identity.Issuer{URL: issuer, TrustEmail: true, EmailDomains: []string{"x.test"}},
			"new@corp.test", true, account.ErrSignUpClosed},
	} {
		t.Run(name, func(t *testing.T) {
			org := &identity.Org{
				ID: "org", SignUp: identity.SignUpClaims, Issuers: []identity.Issuer{tt.issuer},
				Captures: []identity.Capture{{Domain: "corp.test", Workspace: "acme-slug", Role: identity.Member}},
			}
			in := account.SignIn{Org: org, Claims: account.Claims{
				Issuer: issuer, Subject: "s", Email: tt.email, EmailVerified: tt.verified,
			}}
			if err := in.Settle(identity.System("org", "", "sign-in", sessionAt)); !errors.Is(err, tt.want) {
				t.Errorf("Settle = %v, want %v", err, tt.want)
			}
		})
	}
	w := acme()
	w.Slug = "old"
	org := &identity.Org{Captures: []identity.Capture{{Workspace: "acme-slug"}}}
	wantErr(t, w.Change(person("admin"), nil, org, account.WorkspaceChanges{Slug: new("acme-slug")}),
		account.ErrSlugTaken)
}
