package oidc_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestLogout(t *testing.T) {
	p := fixture.NewProvider(t)
	const event = "http://schemas.openid.net/event/backchannel-logout"
	long := strings.Repeat("x", 256)
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).Unix() }
	for name, tt := range map[string]struct {
		claims map[string]any
		typ    string
		want   session.ProviderSession // without its issuer; zero: refused
	}{
		"of a subject":              {nil, "logout+jwt", session.ProviderSession{Subject: "ann-1"}},
		"without a type":            {nil, "", session.ProviderSession{Subject: "ann-1"}},
		"of a session":              {map[string]any{"sub": nil, "sid": "s"}, "JWT", session.ProviderSession{ID: "s"}},
		"of a session of a subject": {map[string]any{"sid": "s"}, "JWT", session.ProviderSession{Subject: "ann-1", ID: "s"}},
		"with an end": {map[string]any{"exp": ago(-time.Minute)}, "JWT",
			session.ProviderSession{Subject: "ann-1"}},
		"for several audiences": {map[string]any{"aud": []string{"x", p.ClientID}, "azp": p.ClientID}, "JWT",
			session.ProviderSession{Subject: "ann-1"}},
		"of another type":                 {nil, "at+jwt", session.ProviderSession{}},
		"of nobody":                       {map[string]any{"sub": nil}, "JWT", session.ProviderSession{}},
		"with a subject that is no text":  {map[string]any{"sub": 1}, "JWT", session.ProviderSession{}},
		"with an empty session":           {map[string]any{"sid": ""}, "JWT", session.ProviderSession{}},
		"with a session that is too long": {map[string]any{"sid": long}, "JWT", session.ProviderSession{}},
		"with a nonce":                    {map[string]any{"nonce": "n"}, "JWT", session.ProviderSession{}},
		"with a nonce of null":            {map[string]any{"nonce": []string(nil)}, "JWT", session.ProviderSession{}},
		"without an id":                   {map[string]any{"jti": nil}, "JWT", session.ProviderSession{}},
		"with an id that is too long":     {map[string]any{"jti": long}, "JWT", session.ProviderSession{}},
		"without events":                  {map[string]any{"events": nil}, "JWT", session.ProviderSession{}},
		"with another event": {map[string]any{"events": map[string]any{"x": map[string]any{}}}, "JWT",
			session.ProviderSession{}},
		"with an event that is no object": {map[string]any{"events": map[string]any{event: true}}, "JWT", session.ProviderSession{}},
		"for another client":              {map[string]any{"aud": "other"}, "JWT", session.ProviderSession{}},
		"for the API's audience":          {map[string]any{"aud": app}, "JWT", session.ProviderSession{}},
		"of another issuer":               {map[string]any{"iss": p.URL + "/"}, "JWT", session.ProviderSession{}},
		"without a time":                  {map[string]any{"iat": nil}, "JWT", session.ProviderSession{}},
		"that is too old": {map[string]any{"iat": ago(7 * time.Minute)}, "JWT",
			session.ProviderSession{}},
		"that is too old, with a late end": {map[string]any{"iat": ago(7 * time.Minute), "exp": ago(-time.Hour)}, "JWT",
			session.ProviderSession{}},
		"that has expired": {map[string]any{"exp": ago(2 * time.Minute)}, "JWT", session.ProviderSession{}},
		"of the future":    {map[string]any{"iat": ago(-2 * time.Minute)}, "JWT", session.ProviderSession{}},
	} {
		t.Run("a token "+name, func(t *testing.T) {
			key := p.Key()
			header := map[string]any{"alg": key.Alg, "kid": key.ID}
			if tt.typ != "" {
				header["typ"] = tt.typ
			}
			token := fixture.SignToken(t, header, p.LogoutToken(tt.claims), key.Private)
			got, err := oidc.NewClient(newVerifier()).Logout(t.Context(), []identity.Issuer{registered(p)}, token,
				time.Now())
			if tt.want == (session.ProviderSession{}) {
				if got != nil || !errors.Is(err, session.ErrLogoutToken) {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			tt.want.Issuer = p.URL
			if err != nil || got.ProviderSession != tt.want || got.TokenID == "" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	client := oidc.NewClient(newVerifier())
	valid := p.Token(p.LogoutToken(nil))
	other := fixture.NewSigningKey(t, "ES256", p.Key().ID)
	rest := registered(p)
	rest.Client = nil
	idToken := p.IDToken("n")
	for name, tt := range map[string]struct {
		issuers []identity.Issuer
		token   string
	}{
		"an issuer without a client": {[]identity.Issuer{rest}, valid},
		"no issuer":                  {nil, valid},
		"the key of another":         {[]identity.Issuer{registered(p)}, fixture.SignToken(t, map[string]any{"alg": "ES256", "kid": other.ID}, p.LogoutToken(nil), other.Private)},
		"no signature":               {[]identity.Issuer{registered(p)}, fixture.SignToken(t, map[string]any{"alg": "none"}, p.LogoutToken(nil), nil)},
		"an ID token":                {[]identity.Issuer{registered(p)}, p.Token(idToken)},
		"no token":                   {[]identity.Issuer{registered(p)}, "x"},
		"a huge one":                 {[]identity.Issuer{registered(p)}, strings.Repeat("x", 17<<10)},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if got, err := client.Logout(t.Context(), tt.issuers, tt.token, time.Now()); got != nil ||
				!errors.Is(err, session.ErrLogoutToken) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	t.Run("a logout token authenticates nobody", func(t *testing.T) {
		issuer := registered(p)
		issuer.Audiences = []string{p.ClientID}
		claims := p.LogoutToken(map[string]any{"exp": ago(-time.Hour)})
		token := fixture.SignToken(t, map[string]any{"alg": "ES256", "kid": p.Key().ID, "typ": "logout+jwt"}, claims,
			p.Key().Private)
		got, err := newVerifier().Verify(t.Context(), []identity.Issuer{issuer}, token, time.Now())
		refused(t, got, err)
	})
}
