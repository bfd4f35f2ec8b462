package accounts

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/identity"
)

// sessionReply responds with a new session of by's browser. returnTo is the page on which the person began to sign in.
func sessionReply(
	r *server.Call, session accounts.OpenedSession, by identity.Actor, returnTo string,
) (server.Reply, error) {
	s, cookie, org := session.Session, session.Secrets.Cookie.Reveal(), server.Observed(r.Request).Org
	if err := r.API.SetCookie(r.ReplyHeader, r.Request, org, cookie, s.ExpiresAt.Sub(by.At)); err != nil {
		return server.Reply{}, err
	}
	r.API.KnownTokens.Remember(cookie, by.At)
	by.Session, by.Key = s.ID, s.Key // as its requests will have them
	r.By = by
	out := server.Created("/api/me/sessions/"+string(s.ID), openapi.SessionOpened{
		Session:  toSession(r, s),
		Proof:    session.Secrets.Proof.Reveal(),
		User:     toUser(r, &session.User),
		ReturnTo: openapi.OrNull(returnTo),
	})
	out.Reveals = string(s.ID)
	return out, nil
}

// limitSignIn refuses pages of other origins, and counts a sign-in and its attempt against the caller's address.
func (a *handlers) limitSignIn(r *server.Call, now time.Time) error {
	if !r.API.SameOrigin(r.Request) {
		return server.ErrCrossOrigin
	}
	return a.countSignIn(r, now)
}

// signingIn returns the system as the actor for a request without a credential.
func signingIn(r *server.Call, now time.Time) identity.Actor {
	obs := server.Observed(r.Request)
	by := identity.System(obs.Org.ID, "", "sign-in", now)
	by.Request = identity.Request{ID: obs.ID, Address: obs.Address}
	return by
}

const (
	mailingWithin = 20 * time.Second // how long that may take
)

// countSignIn counts a sign-in that begins, and its attempt, against the caller's address.
func (a *handlers) countSignIn(r *server.Call, now time.Time) error {
	return a.count(r, now, a.flows, a.signIns)
}

// countAttempt counts an attempt in a sign-in that has been counted against the caller's address.
func (a *handlers) countAttempt(r *server.Call, now time.Time) error {
	return a.count(r, now, a.signIns)
}

func (a *handlers) count(r *server.Call, now time.Time, limiters ...*server.Limiter) error {
	address := identity.AddressGroup(server.Observed(r.Request).Address)
	allowances := make([]server.Allowance, len(limiters))
	for i, l := range limiters {
		allowances[i] = l.Allowance(address)
	}
	if server.TakeAll(r.ReplyHeader, now, 1, allowances...) != nil {
		return r.API.Refuse("sign_in_rate", server.ErrRateLimited)
	}
	return nil
}

// uncountAttempt takes an attempt back that succeeded, so that the people behind one address do not use up each other's.
func (a *handlers) uncountAttempt(r *server.Call, now time.Time) {
	a.signIns.Spend(identity.AddressGroup(server.Observed(r.Request).Address), -1, now)
}
