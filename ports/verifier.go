package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Verifier verifies the bearer tokens of OpenID providers: JWTs signed with RS256, ES256 or EdDSA. It
// decides only whether a token is genuine, meant for Atrium and valid now. It does not decide what the
// bearer may do.
type Verifier interface {
	// Verify returns a token's claims if its iss is the URL of one of issuers, that issuer's current keys verify its
	// signature, its aud names one of that issuer's audiences (and so does its azp if aud names several), it has an exp
	// and a sub that account.Claims permits, and now lies between nbf, iat and exp, with one minute of tolerance.
	//
	// For any other token, even one that is not a JWT, the error is identity.ErrUnauthenticated, and
	// its text gives no details. The network is reached only for issuers, never for an address in a
	// token, and not at all for a token that no key could make valid.
	//
	// The error is ErrUnavailable if the issuer's keys could never be fetched, or ctx ended while they
	// were being fetched. Fetched keys remain in use while the issuer is down, for at most six hours
	// after its last response; then the error is ErrUnavailable until it responds again. A new key is
	// found within one minute of its first token. A key that the issuer no longer publishes is accepted
	// for at most five minutes while the issuer can be reached.
	//
	// The caller owns the result, except Claims.Raw, which is read-only.
	Verify(ctx context.Context, issuers []identity.Issuer, token string, now time.Time) (*account.Claims, error)
}
