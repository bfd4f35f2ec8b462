package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// OpenIDClient signs people in at OpenID providers with a browser: the authorization code flow with PKCE (OpenID
// Connect Core, section 3.1; RFC 7636). An issuer that it is given has a Client. It follows no provider's redirect,
// reads at most 1 MiB, and waits at most 5 seconds. account.ErrProviderFailed if a provider does not respond, or not as
// it must; the error wraps the reason, which is only for the log.
type OpenIDClient interface {
	// Begin returns the address at the provider to which the browser is sent. It requests the client's ACRValues.
	Begin(ctx context.Context, issuer identity.Issuer, r AuthorizationRequest) (address string, err error)

	// Finish exchanges the code that the browser brought back for an ID token, and returns its claims. The token is
	// verified as Verifier.Verify does, for the client as its audience, and must have the nonce.
	// session.ErrSignInState if the response names another issuer (RFC 9207).
	Finish(ctx context.Context, issuer identity.Issuer, r AuthorizationResponse, now time.Time) (*account.Claims, error)

	// Logout returns a logout token's content (OpenID Connect Back-Channel Logout 1.0, section 2.6) that one of issuers
	// signed for its Client at most 5 minutes ago. account.ErrLogoutToken for any other token, and ErrUnavailable as
	// Verifier.Verify.
	Logout(ctx context.Context, issuers []identity.Issuer, token string, now time.Time) (*session.Logout, error)
}

// AuthorizationRequest is what a browser takes to a provider.
type AuthorizationRequest struct {
	RedirectURI string
	State       string
	Nonce       string
	Verifier    string // of PKCE; only its hash is sent

	// MaxAge is how long ago the provider may have authenticated the person, in whole seconds; nil: any time. With 0 it
	// asks the person again.
	MaxAge *time.Duration
}

// AuthorizationResponse is what a browser brings back from a provider, with the state that it was sent with.
type AuthorizationResponse struct {
	RedirectURI string
	Code        string
	Issuer      string // the parameter iss; empty: none
	Nonce       string
	Verifier    string
}
