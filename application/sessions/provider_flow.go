package sessions

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// ProviderFlow is a sign-in at a provider, as the browser that began it keeps it. When the provider has signed the
// person in, only Browser, ReturnTo and Until are left.
type ProviderFlow struct {
	Issuer   string    `json:"i,omitempty"`
	State    string    `json:"s,omitempty"`
	Nonce    string    `json:"n,omitempty"`
	Verifier string    `json:"v,omitempty"`
	Browser  string    `json:"b"`
	ReturnTo string    `json:"r,omitempty"`
	Until    time.Time `json:"u"`

	// Since is the time after which the provider must have authenticated the person; zero: it may have been any time.
	Since time.Time `json:"a,omitzero"`
}

// ProviderSignIn is a browser's request to sign in at a provider.
type ProviderSignIn struct {
	Provider string // the name of the org's client
	ReturnTo string // a page of the console; empty: its first one

	// MaxAge is how long ago the provider may have authenticated the person; 0: it authenticates the person now.
	// nil: what the org requires.
	MaxAge *time.Duration
}

// ProviderResponse is what a browser brings back from a provider. Empty fields are missing or unusable.
type ProviderResponse struct {
	State  string
	Code   string
	Issuer string // the parameter iss
	Error  string
}

// AtProvider holds the use cases of signing in at an org's OpenID providers.
type AtProvider struct {
	Client   ports.OpenIDClient
	Sessions *Service

	// SignIn returns the person of verified claims, whose account it creates when they first sign in.
	SignIn func(
		ctx context.Context, by identity.Actor, org *identity.Org, claims *account.Claims,
	) (*account.Person, error)
}

// Begin begins a sign-in at a provider of org, and returns the address to which the browser is sent. Returns
// account.ErrProviderNotFound if org has no such provider.
func (s AtProvider) Begin(
	ctx context.Context, org *identity.Org, r ProviderSignIn, redirectURI string, now time.Time,
) (address string, f ProviderFlow, err error) {
	issuer, ok := org.Provider(r.Provider)
	if !ok {
		return "", ProviderFlow{}, session.ErrProviderNotFound
	}
	f = ProviderFlow{
		Issuer: issuer.URL, State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(),
		Browser: session.NewBrowserSecret().Reveal(), ReturnTo: r.ReturnTo, Until: now.Add(session.SignInWithin),
	}
	maxAge := issuer.Client.AgeOfSignIn(r.MaxAge)
	if maxAge != nil {
		f.Since = now.Add(-*maxAge)
	}
	address, err = s.Client.Begin(ctx, issuer, ports.AuthorizationRequest{
		RedirectURI: redirectURI, State: f.State, Nonce: f.Nonce, Verifier: f.Verifier, MaxAge: maxAge,
	})
	return address, f, err
}

// Logout ends the sessions whose end a provider reports. by is the system. Returns account.ErrLogoutToken if no
// provider of org can have signed token, or if it is no logout token or was used before.
func (s AtProvider) Logout(ctx context.Context, by identity.Actor, org *identity.Org, token string) error {
	logout, err := s.Client.Logout(ctx, org.Issuers, token, by.At)
	if err != nil {
		return err
	}
	return s.Sessions.endAtProvider(ctx, by, logout)
}

// Finish signs in the person who returns from a provider. It returns the code that opens a session, and the flow that
// binds the code to the browser. by is the system. Returns session.ErrSignInState if the response does not belong to
// f, session.ErrSignInRefused if the provider reports an error, and session.ErrInsufficientAuthentication if it did not
// authenticate the person as f and the org require.
func (s AtProvider) Finish(
	ctx context.Context, by identity.Actor, org *identity.Org, f ProviderFlow, redirectURI string, r ProviderResponse,
) (code account.Token, bound ProviderFlow, err error) {
	issuer, ok := org.Issuer(f.Issuer)
	same := f.State != "" && subtle.ConstantTimeCompare([]byte(r.State), []byte(f.State)) == 1
	switch {
	case !same || !ok || issuer.Client == nil:
		return code, bound, session.ErrSignInState
	case r.Error != "":
		return code, bound, session.ErrSignInRefused
	case r.Code == "":
		return code, bound, session.ErrSignInState
	}
	claims, err := s.Client.Finish(ctx, issuer, ports.AuthorizationResponse{
		RedirectURI: redirectURI, Code: r.Code, Issuer: r.Issuer, Nonce: f.Nonce, Verifier: f.Verifier,
	}, by.At)
	if err == nil {
		err = session.CheckAuthentication(*claims, issuer.Client, f.Since)
	}
	if err != nil {
		return code, bound, err
	}
	p, err := s.SignIn(ctx, by, org, claims)
	if err != nil {
		return code, bound, err
	}
	browser, _ := session.ParseBrowserSecret(f.Browser)
	code, err = s.Sessions.CodeFor(ctx, by, &p.User, session.FromClaims(org, *claims), browser.Hash())
	if err != nil {
		return code, bound, err
	}
	return code, ProviderFlow{Browser: f.Browser, ReturnTo: f.ReturnTo, Until: by.At.Add(session.CodeLife)}, nil
}
