package server

import (
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// SignInActor returns the system as the actor for a request without a credential.
func (r *Call) SignInActor(now time.Time) identity.Actor {
	obs := Observed(r.Request)
	by := identity.System(obs.Org.ID, "", "sign-in", now)
	by.Request = identity.Request{ID: obs.ID, Address: obs.Address}
	return by
}

// SignedInUser returns the person whose live session a request shows, and an empty id without one. A session that an
// API key opened does not count.
func (a *API) SignedInUser(r *http.Request, now time.Time) identity.UserID {
	org := Observed(r).Org
	cookie := a.cookieOf(r, org)
	if cookie == "" || !a.SameOrigin(r) {
		return ""
	}
	p, err := a.Services.Sessions.Authenticate(r.Context(), org, cookie, r.Header.Get(proofHeader), now)
	if err != nil || p.Session.Key != "" {
		return ""
	}
	return p.User.ID
}

// CountSignIn counts a sign-in that begins, and its attempt, against the caller's address.
func (r *Call) CountSignIn(now time.Time) error {
	return r.countByAddress(now, r.API.signInFlows, r.API.signIns)
}

// CountAttempt counts an attempt in a sign-in that has been counted against the caller's address, or to show tokens of
// others.
func (r *Call) CountAttempt(now time.Time) error { return r.countByAddress(now, r.API.signIns) }

// UncountAttempt takes an attempt back that succeeded, so that the people behind one address do not use up each
// other's.
func (r *Call) UncountAttempt(now time.Time) {
	r.API.signIns.Spend(identity.AddressGroup(Observed(r.Request).Address), -1, now)
}

func (r *Call) countByAddress(now time.Time, limiters ...*Limiter) error {
	address := identity.AddressGroup(Observed(r.Request).Address)
	allowances := make([]Allowance, len(limiters))
	for i, l := range limiters {
		allowances[i] = l.Allowance(address)
	}
	if TakeAll(r.ReplyHeader, now, 1, allowances...) != nil {
		return r.API.Refuse("sign_in_rate", ErrRateLimited)
	}
	return nil
}
