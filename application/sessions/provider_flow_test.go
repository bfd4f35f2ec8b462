package sessions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const redirectURI = "https://atrium.example/callback"

var (
	provider    = identity.Issuer{URL: "https://issuer.example", Client: &identity.Client{Name: "corp"}}
	providerOrg = &identity.Org{ID: "org", Issuers: []identity.Issuer{provider, {URL: "https://tokens.example"}}}
)

// newAtProvider returns the use cases on a mocked client. Each verified token belongs to one person.
func newAtProvider(t *testing.T, refusal error) (sessions.AtProvider, *mocks.MockOpenIDClient, *signingIn) {
	client, s := mocks.NewMockOpenIDClient(gomock.NewController(t)), newSigningIn(t)
	signIn := func(context.Context, identity.Actor, *identity.Org, *account.Claims) (*account.Person, error) {
		return &s.person, refusal
	}
	return sessions.AtProvider{Client: client, Sessions: s.Service, SignIn: signIn}, client, s
}

func TestASignInBeginsAtAProviderOfTheOrg(t *testing.T) {
	p, client, _ := newAtProvider(t, nil)
	var message ports.AuthorizationRequest
	client.EXPECT().Begin(gomock.Any(), provider, gomock.Any()).Times(2).DoAndReturn(
		func(_ context.Context, _ identity.Issuer, r ports.AuthorizationRequest) (string, error) {
			message = r
			return "https://issuer.example/authorize", nil
		})
	address, first, err := p.Begin(t.Context(), providerOrg,
		sessions.ProviderSignIn{Provider: "corp", ReturnTo: "/console"}, redirectURI, now)
	require.NoError(t, err)
	want := ports.AuthorizationRequest{
		RedirectURI: redirectURI, State: first.State, Nonce: first.Nonce, Verifier: first.Verifier,
	}
	if address != "https://issuer.example/authorize" || message != want || len(first.Verifier) < 43 || // RFC 7636, 4.1
		first.Issuer != provider.URL || first.ReturnTo != "/console" || !first.Since.IsZero() ||
		!first.Until.Equal(now.Add(session.SignInWithin)) {
		t.Errorf("%s, %+v after %+v", address, first, message)
	}
	_, second, err := p.Begin(t.Context(), providerOrg, sessions.ProviderSignIn{Provider: "corp"}, redirectURI, now)
	require.NoError(t, err)
	if second.State == first.State || second.Nonce == first.Nonce || second.Verifier == first.Verifier ||
		second.Browser == first.Browser {
		t.Error("two sign-ins share a secret")
	}
	_, _, err = p.Begin(t.Context(), providerOrg, sessions.ProviderSignIn{Provider: "other"}, redirectURI, now)
	require.ErrorIs(t, err, session.ErrProviderNotFound)
}

func TestAProviderIsAskedForARecentSignIn(t *testing.T) {
	strict := provider
	strict.Client = &identity.Client{Name: "corp", MaxAge: time.Hour}
	org := &identity.Org{ID: "org", Issuers: []identity.Issuer{strict}}
	zero := time.Duration(0)
	for name, tt := range map[string]struct {
		requested *time.Duration
		want      time.Duration
	}{
		"as the org requires": {nil, time.Hour},
		"now, to step up":     {&zero, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, client, s := newAtProvider(t, nil)
			client.EXPECT().Begin(gomock.Any(), strict, gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Issuer, r ports.AuthorizationRequest) (string, error) {
					if r.MaxAge == nil || *r.MaxAge != tt.want {
						t.Errorf("the maximum age is %v", r.MaxAge)
					}
					return "", nil
				})
			_, flow, err := p.Begin(t.Context(), org,
				sessions.ProviderSignIn{Provider: "corp", MaxAge: tt.requested}, redirectURI, now)
			require.NoError(t, err)
			assert.Equal(t, "the sign-in must be after", flow.Since, now.Add(-tt.want))
			response := sessions.ProviderResponse{State: flow.State, Code: "code", Issuer: strict.URL}
			for _, signIn := range []time.Time{flow.Since.Add(-2 * time.Minute), flow.Since} {
				claims := &account.Claims{Issuer: strict.URL, Subject: "sub", ExpiresAt: now.Add(time.Hour),
					Raw: map[string]any{"auth_time": float64(signIn.Unix())}}
				client.EXPECT().Finish(gomock.Any(), strict, gomock.Any(), now).Return(claims, nil)
				if signIn.Before(flow.Since) {
					_, _, err = p.Finish(t.Context(), system, org, flow, redirectURI, response)
					require.ErrorIs(t, err, session.ErrInsufficientAuthentication)
					continue
				}
				s.sessions.EXPECT().AddLink(gomock.Any(), gomock.Any()).DoAndReturn(
					func(_ context.Context, link *session.Link) error {
						assert.Equal(t, "the code is of a sign-in at", link.From.AuthenticatedAt, signIn)
						return nil
					})
				_, _, err = p.Finish(t.Context(), system, org, flow, redirectURI, response)
				require.NoError(t, err)
			}
		})
	}
}

func TestASignInFinishesOnlyForTheBrowserThatBegan(t *testing.T) {
	original := sessions.ProviderFlow{
		Issuer: provider.URL, State: "state", Nonce: "nonce", Verifier: "verifier", ReturnTo: "/console",
		Browser: session.NewBrowserSecret().Reveal(), Until: now.Add(time.Minute),
	}
	response := sessions.ProviderResponse{State: "state", Code: "code", Issuer: provider.URL}
	errDisabled := errors.New("the account is disabled")
	for name, tt := range map[string]struct {
		change   func(*sessions.ProviderFlow, *sessions.ProviderResponse)
		exchange bool  // the provider is asked for the ID token
		failure  error // of the provider
		refusal  error // of the account
		want     error
	}{
		"the response belongs to the flow": {exchange: true},
		"another state": {change: func(_ *sessions.ProviderFlow, r *sessions.ProviderResponse) { r.State = "other" },
			want: session.ErrSignInState},
		"no flow and no state": {change: func(f *sessions.ProviderFlow, r *sessions.ProviderResponse) {
			f.State, r.State = "", ""
		}, want: session.ErrSignInState},
		"a flow that is used up": {change: func(f *sessions.ProviderFlow, r *sessions.ProviderResponse) {
			*f, r.State = sessions.ProviderFlow{Browser: f.Browser}, ""
		}, want: session.ErrSignInState},
		"an issuer that the org no longer has": {change: func(f *sessions.ProviderFlow, _ *sessions.ProviderResponse) {
			f.Issuer = "https://gone.example"
		}, want: session.ErrSignInState},
		"an issuer without a client": {change: func(f *sessions.ProviderFlow, _ *sessions.ProviderResponse) {
			f.Issuer = "https://tokens.example"
		}, want: session.ErrSignInState},
		"the provider refuses": {change: func(_ *sessions.ProviderFlow, r *sessions.ProviderResponse) {
			r.Code, r.Error = "", "access_denied"
		}, want: session.ErrSignInRefused},
		"no code": {change: func(_ *sessions.ProviderFlow, r *sessions.ProviderResponse) { r.Code = "" },
			want: session.ErrSignInState},
		"the provider fails": {exchange: true, failure: session.ErrProviderFailed, want: session.ErrProviderFailed},
		"a disabled account": {exchange: true, refusal: errDisabled, want: errDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			p, client, s := newAtProvider(t, tt.refusal)
			flow, r := original, response
			if tt.change != nil {
				tt.change(&flow, &r)
			}
			if tt.exchange {
				client.EXPECT().Finish(gomock.Any(), provider, ports.AuthorizationResponse{RedirectURI: redirectURI,
					Code: "code", Issuer: provider.URL, Nonce: "nonce", Verifier: "verifier"}, now).
					Return(&account.Claims{Issuer: provider.URL, Subject: "sub"}, tt.failure)
			}
			var storedLink *session.Link
			if tt.want == nil {
				s.sessions.EXPECT().AddLink(gomock.Any(), gomock.Any()).DoAndReturn(
					func(_ context.Context, link *session.Link) error { storedLink = link; return nil })
			}
			code, bound, err := p.Finish(t.Context(), system, providerOrg, flow, redirectURI, r)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				return
			}
			browser, _ := session.ParseBrowserSecret(original.Browser)
			if storedLink.User != "ann" || storedLink.Bound != browser.Hash() || storedLink.Hash != code.Hash() {
				t.Errorf("stored %+v", storedLink)
			}
			keptFlow := sessions.ProviderFlow{Browser: original.Browser, ReturnTo: "/console",
				Until: now.Add(session.CodeLife)}
			assert.Equal(t, "the browser keeps", bound, keptFlow)
		})
	}
}
