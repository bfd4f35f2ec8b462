package oidc_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestDiagnoseSaysWhetherPeopleCanSignInByAClient(t *testing.T) {
	omit := func(member string) func(map[string]any) {
		return func(d map[string]any) { delete(d, member) }
	}
	call := func(member string, value any) func(map[string]any) {
		return func(d map[string]any) { d[member] = value }
	}
	const secure = "https://atrium.example.com/api/auth/oidc/callback"
	for name, tt := range map[string]struct {
		document func(map[string]any)
		client   func(*identity.Client)
		redirect string
		fails    bool
		want     string // in the note
		not      string // not in it
	}{
		"what to register":  {want: "register the redirect URI " + secure},
		"where it logs out": {want: "back-channel logout: register https://atrium.example.com/api/auth/oidc/logout"},
		"a provider that does not log out": {document: omit("backchannel_logout_supported"),
			want: "register the redirect URI " + secure, not: "logout"},
		"a provider that does not announce PKCE": {document: omit("code_challenge_methods_supported"),
			want: "does not say that it supports PKCE"},
		"a provider with another kind of PKCE": {document: call("code_challenge_methods_supported", []string{"plain"}),
			fails: true, want: "code_challenge_methods_supported does not list S256"},
		"a provider without the code flow": {document: call("response_types_supported", []string{"id_token"}),
			fails: true, want: "response_types_supported does not list code"},
		"no page to sign in": {document: omit("authorization_endpoint"), fails: true,
			want: "authorization_endpoint is not an https URL"},
		"a token endpoint without TLS": {document: call("token_endpoint", "http://id.example/token"), fails: true,
			want: "token_endpoint is not an https URL"},
		"a scope that it does not know": {client: func(c *identity.Client) { c.Scopes = append(c.Scopes, "groups") },
			fails: true, want: "scopes_supported does not list groups"},
		"a provider that lists no scopes": {document: omit("scopes_supported"),
			client: func(c *identity.Client) { c.Scopes = append(c.Scopes, "groups") }, want: secure},
		"a secret that it does not accept": {
			document: call("token_endpoint_auth_methods_supported", []string{"private_key_jwt"}), fails: true,
			want: "lists neither client_secret_basic nor"},
		"no secret": {document: call("token_endpoint_auth_methods_supported", []string{"none"}),
			client: func(c *identity.Client) { c.Secret = secret.String{} }, want: secure},
		"an address without TLS": {redirect: "http://atrium.example.com/api/auth/oidc/callback", fails: true,
			want: "set base_url of the org"},
		"an address of this machine": {redirect: "http://127.0.0.1:8080/api/auth/oidc/callback",
			want: "http://127.0.0.1:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fixture.NewProvider(t)
			p.Tamper(func(p *fixture.Provider) { p.Document = tt.document })
			issuer := registered(p)
			if tt.client != nil {
				tt.client(issuer.Client)
			}
			redirect := secure
			if tt.redirect != "" {
				redirect = tt.redirect
			}
			var got *oidc.Finding
			for _, f := range newVerifier().Diagnose(t.Context(), issuer, redirect) {
				if f.Check == "client main" {
					got = &f
				}
				if strings.Contains(f.Note, p.Secret) {
					t.Errorf("it shows the secret: %s", f.Note)
				}
			}
			if got == nil || got.OK == tt.fails || !strings.Contains(got.Note, tt.want) ||
				(tt.not != "" && strings.Contains(got.Note, tt.not)) {
				t.Errorf("the finding is %+v, want OK %v and %q", got, !tt.fails, tt.want)
			}
		})
	}
}
