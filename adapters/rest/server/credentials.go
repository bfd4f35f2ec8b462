package server

import (
	"context"
	"errors"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Refuse counts a refusal under the limit that caused it, and returns err.
func (a *API) Refuse(reason string, err error) error {
	a.Measures.refusals.WithLabelValues(reason).Inc()
	return err
}

// enter waits for the turn of by's request, and counts it if its turn does not come.
func (a *API) enter(ctx context.Context, g *Gates, by identity.Actor) error {
	err := g.Enter(ctx, by)
	switch {
	case err == nil:
		return nil
	case err == errCallerBusy: //nolint:errorlint // errWorkspaceBusy has the same code, so errors.Is equates them
		return a.Refuse("caller_busy", err)
	default:
		return a.Refuse("workspace_busy", err)
	}
}

// EnterAs waits for the turn of a caller that is no user of a workspace, until leave is called.
func (a *API) EnterAs(ctx context.Context, caller string) (leave func(), err error) {
	if !a.Gates.callers.Enter(ctx, caller, a.Gates.wait) {
		return nil, a.Refuse("caller_busy", errCallerBusy)
	}
	return func() { a.Gates.callers.Leave(caller) }, nil
}

// AdmitAs counts a request against the rate limit of a caller that is no user of a workspace.
func (a *API) AdmitAs(h http.Header, caller string, at time.Time) error {
	if TakeAll(h, at, 1, Allowance{a.callers, caller}) != nil {
		return a.Refuse("caller_rate", ErrRateLimited)
	}
	return nil
}

// LimitFailedAuth refuses a token before it is looked up if its address has sent too many invalid ones. A token that
// was valid within knownFor is still looked up, so that a program that guesses tokens does not lock out others at its
// address.
func (a *API) LimitFailedAuth(h http.Header, obs *Observation, token string, at time.Time) error {
	known, noted := a.KnownTokens.has(token, at)
	if !known && a.Unauthenticated.Exhausted(h, obs.Address, at) {
		return a.Refuse("address_rate", ErrRateLimited)
	}
	obs.noted = noted
	return nil
}

// CountFailedAuth counts an invalid token, or one without an account, against its address.
func (a *API) CountFailedAuth(h http.Header, obs *Observation, token string, err error) error {
	if !hasNoAccount(err) {
		return err
	}
	a.KnownTokens.Forget(token)
	return a.CountUnauthenticated(h, obs, err)
}

// hasNoAccount reports whether err means that the caller has no account here, or none that works at its address.
func hasNoAccount(err error) bool {
	return PublicError(err).Kind == fault.Unauthenticated || errors.Is(err, account.ErrSignUpClosed) ||
		errors.Is(err, account.ErrClaimMissing) || errors.Is(err, identity.ErrAddressNotAllowed)
}

// CountUnauthenticated counts a request that shows no valid credential against its address.
func (a *API) CountUnauthenticated(h http.Header, obs *Observation, err error) error {
	if !a.Unauthenticated.Take(h, obs.Address, a.Now()) {
		return a.Refuse("address_rate", ErrRateLimited)
	}
	return err
}

const (
	knownFor       = time.Hour   // how long a valid token is remembered
	knownRefresh   = time.Minute // how old its note can become before it is renewed
	maxKnownTokens = 50_000
)

// knownTokens remembers which tokens were valid recently, but not whose they are. It keeps keyed 64-bit
// hashes. A token that collides with another only reaches the look-up, which refuses it.
type knownTokens struct {
	seed maphash.Seed

	mu     sync.RWMutex
	seenAt map[uint64]time.Time
}

func newKnownTokens() *knownTokens {
	return &knownTokens{seed: maphash.MakeSeed(), seenAt: map[uint64]time.Time{}}
}

// has reports whether a token was valid within knownFor. noted says that it need not be remembered again.
func (p *knownTokens) has(token string, now time.Time) (known, noted bool) {
	p.mu.RLock()
	at, ok := p.seenAt[maphash.String(p.seed, token)]
	p.mu.RUnlock()
	age := now.Sub(at).Abs() // the clock may have been set back
	return ok && age < knownFor, ok && age < knownRefresh
}

// Remember notes that a token is valid.
func (p *knownTokens) Remember(token string, now time.Time) {
	if _, noted := p.has(token, now); noted {
		return
	}
	h := maphash.String(p.seed, token)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seenAt) >= maxKnownTokens {
		for k, at := range p.seenAt {
			if now.Sub(at) >= knownFor {
				delete(p.seenAt, k)
			}
		}
		if len(p.seenAt) >= maxKnownTokens {
			clear(p.seenAt)
		}
	}
	p.seenAt[h] = now
}

// Forget removes the note of a token, which is not valid any more.
func (p *knownTokens) Forget(token string) {
	h := maphash.String(p.seed, token)
	p.mu.RLock()
	_, ok := p.seenAt[h]
	p.mu.RUnlock()
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seenAt, h)
}
