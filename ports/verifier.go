package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Verifier verifies the bearer tokens of OpenID providers: JWTs that are signed with RS256, ES256
// or EdDSA. It decides that a token is genuine, meant for Atrium and valid now; what its bearer
// may do is for others to say.
type Verifier interface {
	// Verify answers what a token says, if its iss is the URL of one of issuers, that issuer's
	// present keys verify its signature, its aud names one of that issuer's audiences, and so does its
	// azp if aud names several, it has an exp and a sub as account.Claims wants it, and now lies between nbf, iat and exp, give or take a minute.
	//
	// Whatever else is wrong with a token, be it no JWT at all, the error is
	// identity.ErrUnauthenticated, and its text tells no more. The network is
	// reached for issuers alone, never for what a token names, and not at all for a token that no
	// key could save.
	//
	// The error is ErrUnavailable if the issuer's keys were never to be had, or ctx ended while
	// they were being fetched. Keys that were fetched once serve while the issuer is down, for six hours at
	// most after it last answered; then the error is ErrUnavailable until it answers again. A
	// new key is found within a minute of its first token, and one that the issuer no longer
	// publishes is not accepted for longer than five minutes while the issuer can be reached.
	//
	// The answer is the caller's, but for Claims.Raw, which is for reading alone.
	Verify(ctx context.Context, issuers []identity.Issuer, token string, now time.Time) (*account.Claims, error)
}
