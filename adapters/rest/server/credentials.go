package server

import (
	"context"
	"net/http"
	"time"

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

// LimitFailedAuth refuses a token before it is looked up if its address has sent too many invalid ones. A token that
// was valid within knownFor is still looked up, so that a program that guesses tokens does not lock out others at its
// address.
func (a *API) LimitFailedAuth(h http.Header, obs *Observation, token string, now time.Time) error {
	isKnown, isNoted := a.KnownTokens.has(token, now)
	if !isKnown && a.Unauthenticated.Exhausted(h, obs.Address, now) {
		return a.Refuse("address_rate", ErrRateLimited)
	}
	obs.noted = isNoted
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

// CountUnauthenticated counts a request that shows no valid credential against its address.
func (a *API) CountUnauthenticated(h http.Header, obs *Observation, err error) error {
	if !a.Unauthenticated.Take(h, obs.Address, a.Now()) {
		return a.Refuse("address_rate", ErrRateLimited)
	}
	return err
}

// ErrRateLimited is returned if a limit of requests in a time is reached.
var ErrRateLimited = &fault.Error{
	Kind:   fault.RateLimited,
	Code:   "rate_limited",
	Detail: "Too many requests. Wait for the number of seconds in Retry-After.",
}
