package oidc_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const redirect = "http://127.0.0.1:1/api/auth/oidc/callback"

// registered returns a provider as an org that is registered there configures it.
func registered(p *fixture.Provider) identity.Issuer {
	return identity.Issuer{URL: p.URL, Audiences: []string{app}, TrustEmail: true, Client: &identity.Client{
		Name: "main", ID: p.ClientID, Secret: secret.New(p.Secret), Scopes: []string{"openid", "email"},
	}}
}

// visit goes to the provider as a browser does, and returns the parameters with which it sends the browser back.
func visit(t *testing.T, address string) url.Values {
	t.Helper()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(address)
	require.NoError(t, err)
	defer resp.Body.Close()
	reply, err := resp.Location()
	if err != nil {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s answered %d: %s", address, resp.StatusCode, text)
	}
	return reply.Query()
}

// signsIn runs the flow to its end. change may change what the browser brings back.
func signsIn(
	t *testing.T, c *oidc.Client, issuer identity.Issuer, change func(*ports.AuthorizationResponse),
) (*account.Claims, error) {
	t.Helper()
	item := ports.AuthorizationRequest{RedirectURI: redirect, State: "state", Nonce: "nonce",
		Verifier: strings.Repeat("v", 43)}
	address, err := c.Begin(t.Context(), issuer, item)
	if err != nil {
		return nil, err
	}
	got := visit(t, address)
	if got.Get("state") != "state" {
		t.Fatalf("the provider sent %v", got)
	}
	r := ports.AuthorizationResponse{
		RedirectURI: redirect, Code: got.Get("code"), Issuer: got.Get("iss"), Nonce: "nonce", Verifier: item.Verifier,
	}
	if change != nil {
		change(&r)
	}
	return c.Finish(t.Context(), issuer, r, time.Now())
}

func TestSignIn(t *testing.T) {
	p := fixture.NewProvider(t)
	p.SignIn(map[string]any{"sid": "s-1"})
	for name, prepare := range map[string]func(*identity.Client, *fixture.Provider){
		"with a secret in the header": func(*identity.Client, *fixture.Provider) {},
		"at a provider that does not name itself": func(_ *identity.Client, p *fixture.Provider) {
			p.Document = func(d map[string]any) { delete(d, "authorization_response_iss_parameter_supported") }
			p.Response = func(v url.Values) { v.Del("iss") }
		},
		"at a provider that announces no PKCE": func(_ *identity.Client, p *fixture.Provider) {
			p.Document = func(d map[string]any) { delete(d, "code_challenge_methods_supported") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := registered(p)
			p.Tamper(func(p *fixture.Provider) { prepare(issuer.Client, p) })
			defer p.Tamper(func(p *fixture.Provider) { p.Document, p.Response = nil, nil })
			claims, err := signsIn(t, oidc.NewClient(newVerifier()), issuer, nil)
			accepted(t, claims, err)
			if from := session.FromClaims(&identity.Org{}, *claims); from.ID != "s-1" || from.Issuer != p.URL {
				t.Errorf("the session is %+v", from)
			}
		})
	}
	t.Run("the discovery document is asked for once in five minutes", func(t *testing.T) {
		c, previous := oidc.NewClient(newVerifier()), p.Requests(fixture.DiscoveryPath)
		for range 3 {
			_, err := c.Begin(t.Context(), registered(p), ports.AuthorizationRequest{State: "s", Verifier: "v"})
			require.NoError(t, err)
		}
		if requests := p.Requests(fixture.DiscoveryPath) - previous; requests != 1 {
			t.Errorf("it was asked for %d times", requests)
		}
	})
	t.Run("the request has PKCE, and the secret is not in it", func(t *testing.T) {
		address, err := oidc.NewClient(newVerifier()).Begin(t.Context(), registered(p),
			ports.AuthorizationRequest{RedirectURI: redirect, State: "s", Nonce: "n", Verifier: "v"})
		u, failure := url.Parse(address)
		if err != nil || failure != nil {
			t.Fatal(err, failure)
		}
		q := u.Query()
		for name, want := range map[string]string{"response_type": "code", "client_id": p.ClientID, "state": "s",
			"nonce": "n", "scope": "openid email", "redirect_uri": redirect, "code_challenge_method": "S256",
			"code_challenge": "TJSfD4Nv6c4zaxllW6VFgCILKsPkFMQPIX0IPX9UQKQ", "client_secret": ""} {
			if name != "code_challenge" && q.Get(name) != want {
				t.Errorf("%s = %q", name, q.Get(name))
			}
		}
		if strings.Contains(address, "client+") || q.Get("code_challenge") == "v" {
			t.Errorf("the address is %s", address)
		}
	})
}

func TestARequestSaysHowAPersonSignsIn(t *testing.T) {
	p := fixture.NewProvider(t)
	zero, day := time.Duration(0), 24*time.Hour
	for name, tt := range map[string]struct {
		maxAge   *time.Duration
		contexts []string
		want     map[string][]string
	}{
		"in any way":         {nil, nil, map[string][]string{"max_age": nil, "acr_values": nil}},
		"now":                {&zero, nil, map[string][]string{"max_age": {"0"}, "prompt": {"login"}}},
		"since yesterday":    {&day, nil, map[string][]string{"max_age": {"86400"}, "prompt": nil}},
		"in one of contexts": {nil, []string{"high", "higher"}, map[string][]string{"acr_values": {"high higher"}}},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := registered(p)
			issuer.Client.ACRValues = tt.contexts
			address, err := oidc.NewClient(newVerifier()).Begin(t.Context(), issuer,
				ports.AuthorizationRequest{State: "s", Verifier: "v", MaxAge: tt.maxAge})
			require.NoError(t, err)
			u, err := url.Parse(address)
			require.NoError(t, err)
			for parameter, want := range tt.want {
				assert.EqualSlice(t, parameter, u.Query()[parameter], want)
			}
		})
	}
}

func TestHostileProviders(t *testing.T) {
	claim := func(name string, value any) func(*fixture.Provider) {
		return func(p *fixture.Provider) {
			p.Claims = func(c map[string]any) {
				if c[name] = value; value == nil {
					delete(c, name)
				}
			}
		}
	}
	says := func(name string, value any) func(*fixture.Provider) {
		return func(p *fixture.Provider) { p.Document = func(d map[string]any) { d[name] = value } }
	}
	swaps := func(h http.HandlerFunc) func(*fixture.Provider) {
		return func(p *fixture.Provider) { p.Swap = h }
	}
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tt := range map[string]struct {
		tamper func(*fixture.Provider)
		change func(*ports.AuthorizationResponse)
		want   error
	}{
		"another nonce":                  {claim("nonce", "other"), nil, session.ErrProviderFailed},
		"no nonce":                       {claim("nonce", nil), nil, session.ErrProviderFailed},
		"a token for another client":     {claim("aud", "other"), nil, session.ErrProviderFailed},
		"a token for the API's audience": {claim("aud", app), nil, session.ErrProviderFailed},
		"a token of another issuer":      {claim("iss", "https://other.example"), nil, session.ErrProviderFailed},
		"a token that has expired": {claim("exp", time.Now().Add(-time.Hour).Unix()), nil,
			session.ErrProviderFailed},
		"a token without a subject": {claim("sub", nil), nil, session.ErrProviderFailed},
		"a response of another issuer": {nil,
			func(r *ports.AuthorizationResponse) { r.Issuer = "https://other.example" }, session.ErrSignInState},
		"a response of no issuer": {nil, func(r *ports.AuthorizationResponse) { r.Issuer = "" },
			session.ErrSignInState},
		"another verifier": {nil,
			func(r *ports.AuthorizationResponse) { r.Verifier = strings.Repeat("w", 43) }, session.ErrProviderFailed},
		"another code": {nil, func(r *ports.AuthorizationResponse) { r.Code = "x" },
			session.ErrProviderFailed},
		"a token endpoint that fails": {swaps(fixture.Failing), nil, session.ErrProviderFailed},
		"one that sends a page":       {swaps(fixture.Garbage), nil, session.ErrProviderFailed},
		"one that never stops":        {swaps(fixture.Huge), nil, session.ErrProviderFailed},
		"one without an ID token": {swaps(text(`{"access_token":"a","token_type":"Bearer"}`)), nil,
			session.ErrProviderFailed},
		"one with a huge ID token": {
			swaps(text(`{"access_token":"a","token_type":"Bearer","id_token":"` + strings.Repeat("x", 20<<10) + `"}`)),
			nil, session.ErrProviderFailed},
		"one that redirects": {swaps(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}), nil, session.ErrProviderFailed},
		"a document of another issuer": {says("issuer", "https://other.example"), nil, session.ErrProviderFailed},
		"an endpoint without TLS": {says("token_endpoint", "http://id.example/token"), nil,
			session.ErrProviderFailed},
		"an endpoint that is a script": {says("authorization_endpoint", "javascript:alert(1)"), nil,
			session.ErrProviderFailed},
		"no code flow": {says("response_types_supported", []string{"id_token"}), nil,
			session.ErrProviderFailed},
		"PKCE without S256": {says("code_challenge_methods_supported", []string{"plain"}), nil,
			session.ErrProviderFailed},
		"a member of a wrong type": {says("response_types_supported", "code"), nil, session.ErrProviderFailed},
		"only private keys as secrets": {says("token_endpoint_auth_methods_supported", []string{"private_key_jwt"}),
			nil, session.ErrProviderFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p := fixture.NewProvider(t)
			if tt.tamper != nil {
				p.Tamper(tt.tamper)
			}
			claims, err := signsIn(t, oidc.NewClient(newVerifier()), registered(p), tt.change)
			if claims != nil || !errors.Is(err, tt.want) {
				t.Fatalf("it ends with %+v, %v", claims, err)
			}
			if strings.Contains(err.Error(), "script>") || strings.Contains(err.Error(), p.Secret) {
				t.Errorf("the error is %v", err)
			}
			if p.Requests("/elsewhere") > 0 {
				t.Error("a redirect was followed")
			}
		})
	}
	t.Run("a code counts once", func(t *testing.T) {
		p := fixture.NewProvider(t)
		c, issuer := oidc.NewClient(newVerifier()), registered(p)
		var second ports.AuthorizationResponse
		_, err := signsIn(t, c, issuer, func(r *ports.AuthorizationResponse) { second = *r })
		require.NoError(t, err)
		if _, err = c.Finish(t.Context(), issuer, second, time.Now()); !errors.Is(err, session.ErrProviderFailed) {
			t.Errorf("the second time it ends with %v", err)
		}
	})
	t.Run("a token endpoint that does not answer", func(t *testing.T) {
		p := fixture.NewProvider(t)
		c, issuer := oidc.NewClient(newVerifier()), registered(p)
		if _, err := c.Begin(t.Context(), issuer, ports.AuthorizationRequest{State: "s", Verifier: "v"}); err != nil {
			t.Fatal(err)
		}
		p.Answer(fixture.Silent)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Finish(ctx, issuer, ports.AuthorizationResponse{Code: "c", Issuer: p.URL}, time.Now())
		assert.ErrorIs(t, err, session.ErrProviderFailed)
	})
	t.Run("a provider that is away", func(t *testing.T) {
		p := fixture.NewProvider(t)
		p.Network.Cut()
		_, err := oidc.NewClient(newVerifier()).Begin(t.Context(), registered(p), ports.AuthorizationRequest{})
		assert.ErrorIs(t, err, session.ErrProviderFailed)
	})
}
