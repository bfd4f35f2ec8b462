package sessions

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// sessionReply responds with a new session of by's browser, which keeps that the person signed in. returnTo is the page
// on which the person began to sign in.
func (a *handlers) sessionReply(
	r *server.Call, opening session.Opened, by identity.Actor, returnTo string,
) (server.Reply, error) {
	s, cookie, org := opening.Session, opening.Secrets.Cookie.Reveal(), server.Observed(r.Request).Org
	if err := r.API.SetCookie(r.ReplyHeader, r.Request, org, cookie, s.ExpiresAt.Sub(by.At)); err != nil {
		return server.Reply{}, err
	}
	if err := a.keepDevice(r, org, s.User); err != nil {
		return server.Reply{}, err
	}
	r.API.KnownTokens.Remember(cookie, by.At)
	by.Session, by.Key = s.ID, s.Key // as its requests will have them
	r.By = by
	out := server.Created("/api/me/sessions/"+string(s.ID), openapi.SessionOpened{
		Session:  toSession(r, s),
		Proof:    opening.Secrets.Proof.Reveal(),
		User:     convert.ToUser(r.By, &opening.User),
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
	return r.CountSignIn(now)
}
