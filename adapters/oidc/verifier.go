// Package oidc verifies the bearer tokens of OpenID providers with the keys that the providers publish.
package oidc

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/lestrrat-go/jwx/v3/jws/jwsbb"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

var _ ports.Verifier = (*Verifier)(nil)

// Verifier implements ports.Verifier. It keeps the keys of each issuer that it was asked about.
type Verifier struct {
	provider provider
	log      *slog.Logger
	verified verified

	mu       sync.Mutex
	keyrings map[string]*keyring // by the issuer's URL; only configured issuers
}

// New returns a Verifier that has no keys yet: they are fetched when they are first needed. Errors of
// later refreshes are logged, since no caller notices them.
func New(log *slog.Logger) *Verifier {
	return newVerifier(&http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
		DisableKeepAlives:      true, // for two requests every few minutes, an idle connection is not worthwhile
	}, log)
}

func newVerifier(transport http.RoundTripper, log *slog.Logger) *Verifier {
	return &Verifier{provider: newProvider(transport), log: log, keyrings: map[string]*keyring{}}
}

// Verify implements ports.Verifier.
func (v *Verifier) Verify(
	ctx context.Context, issuers []identity.Issuer, token string, now time.Time,
) (*account.Claims, error) {
	if len(token) > maxToken {
		return nil, refused("it is larger than %d KiB", maxToken>>10)
	}
	sum := sha256.Sum256([]byte(token))
	for _, issuer := range issuers {
		if c, ok := v.recall(ctx, issuer.URL, sum, now); ok {
			return c.acceptedBy(issuer, now)
		}
	}
	t, err := parse(token, types, read)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(issuers, func(i identity.Issuer) bool { return i.URL == t.claims.Issuer })
	if i < 0 {
		return nil, refused("its issuer (iss) %.200q is none that is configured", t.claims.Issuer)
	}
	candidate, err := t.claims.acceptedBy(issuers[i], now)
	if err != nil {
		return nil, err
	}
	set, err := v.verifySignature(ctx, issuers[i].URL, t, now)
	if err != nil {
		return nil, err
	}
	v.verified.put(verifiedKey{issuers[i].URL, sum},
		verification{claims: t.claims, keys: set, until: cachedUntil(t.claims, now)}, now)
	return candidate, nil
}

// verifySignature returns an issuer's keys, one of which signed t.
func (v *Verifier) verifySignature(ctx context.Context, issuer string, t token, now time.Time) (*keySet, error) {
	set, key, err := v.keyring(issuer).find(ctx, t.header, now)
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, refused("its issuer has no %s key of the id (kid) %.100q", t.header.Algorithm, t.header.KeyID)
	}
	if jwsbb.Verify(key.public, key.alg, []byte(t.signed), t.signature) != nil {
		return nil, refused("its signature is not by the issuer's key %.100q", t.header.KeyID)
	}
	return set, nil
}

// recall returns a token's claims if its signature was verified before with the issuer's current keys. The caller must
// still check the claims.
func (v *Verifier) recall(ctx context.Context, issuer string, sum [sha256.Size]byte, now time.Time) (claims, bool) {
	found, ok := v.verified.get(verifiedKey{issuer, sum}, now)
	if !ok {
		return claims{}, false
	}
	set, err := v.keyring(issuer).current(ctx, now)
	return found.claims, err == nil && set == found.keys
}

func (v *Verifier) keyring(issuer string) *keyring {
	v.mu.Lock()
	defer v.mu.Unlock()
	r, ok := v.keyrings[issuer]
	if !ok {
		r = &keyring{issuer: issuer, provider: v.provider, log: v.log}
		v.keyrings[issuer] = r
	}
	return r
}
