package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func (a *accountsArea) sessionOperations() []operation {
	return []operation{
		deleteOf("/api/auth/session", command(a.endOwnSession)),
		getOf("/api/me/sessions", query(listSessions)),
		deleteOf("/api/me/sessions", command(endSessions)),
		getOf("/api/me/sessions/{session_id}", query(getSession)),
		deleteOf("/api/me/sessions/{session_id}", command(endSession)),
		getOf("/api/people/{user_id}/sessions", query(listPersonSessions)),
		deleteOf("/api/people/{user_id}/sessions", command(endPersonSessions)),
	}
}

func (a *accountsArea) signInRoutes() []route {
	const methods, open, links = "/api/auth/methods", "/api/auth/sessions", "/api/auth/links"
	const preview, join = "/api/invitations/preview", "/api/invitations/join"
	return []route{
		newRoute(http.MethodGet, methods, withRoute(methods, a.getSignInMethods)),
		a.signInRoute(open, a.openSession),
		a.signInRoute(preview, a.previewInvitation),
		a.signInRoute(join, a.joinByInvitation),
		a.signInRoute(links, a.mailSignInLink),
		a.signInRoute(leakedPath, a.reportLeakedKeys),
		a.signInRoute(passkeySignInOptions, a.optionsToSignIn),
		a.signInRoute(passkeySignIn, a.signInWithPasskey),
	}
}

func (a *accountsArea) getSignInMethods(w http.ResponseWriter, r *http.Request) {
	org := observation(r).org
	_, err := a.relyingParty(r, org)
	a.send(w, r, ok(openapi.SignInMethods{
		Org:      openapi.Org{ID: string(org.ID), Slug: org.Slug, Name: org.Name},
		APIKey:   !org.Keys.NoPersonal,
		Mail:     a.Services.Sessions.MailsLinks(),
		Passkeys: err == nil && len(org.Issuers) == 0,
		Oidc:     providers(org),
	}))
}

// signInRoute is the route of an operation whose caller has no credential yet.
func (a *accountsArea) signInRoute(path string, run query) route {
	op, _ := a.contract.Operation(http.MethodPost, path) // route finds out if there is none
	return newRoute(http.MethodPost, path, withRoute(path, func(w http.ResponseWriter, hr *http.Request) {
		ctx, cancel := context.WithTimeout(hr.Context(), a.config.RequestTimeout)
		defer cancel()
		r := a.newRequest(w, hr.WithContext(ctx), op, "")
		err := r.parse(w)
		var out reply
		if err == nil {
			out, err = run(r)
		}
		if err != nil {
			a.problem(w, r.Request, err)
			return
		}
		a.send(w, r.Request, out)
	}))
}

// openSession exchanges a token for a session. Refusals that apply to every token come first, so that a link is not
// used up.
func (a *accountsArea) openSession(r *request) (reply, error) {
	obs, at := observation(r.Request), r.api.now()
	if _, _, err := r.api.sessionCookie(r.Request, obs.org); err != nil {
		return reply{}, err
	}
	if err := a.limitSignIn(r, at); err != nil {
		return reply{}, err
	}
	in, err := decode[openapi.SessionOpen](r)
	if err != nil {
		return reply{}, err
	}
	if _, isCode := account.ParseSignInCode(in.Token); isCode {
		return a.openByCode(r, obs.org, in.Token, at)
	}
	by := signingIn(r, at)
	opened, err := r.Sessions.Open(r.Context(), by, obs.org, in.Token, r.UserAgent())
	if err != nil {
		return reply{}, err
	}
	if opened.Session.Key == "" { // a link works once, but a key opens any number of sessions
		a.uncountSignIn(r, at)
	}
	return sessionReply(r, opened, by, "")
}

// sessionReply responds with a new session of by's browser. returnTo is the page on which the person began to sign in.
func sessionReply(r *request, opened accounts.OpenedSession, by identity.Actor, returnTo string) (reply, error) {
	s, cookie, org := opened.Session, opened.Secrets.Cookie.Reveal(), observation(r.Request).org
	if err := r.api.setCookie(r.answer, r.Request, org, cookie, s.ExpiresAt.Sub(by.At)); err != nil {
		return reply{}, err
	}
	r.api.knownTokens.remember(cookie, by.At)
	by.Session, by.Key = s.ID, s.Key // as its requests will have them
	r.by = by
	out := created("/api/me/sessions/"+string(s.ID), openapi.SessionOpened{
		Session:  toSession(r, s),
		Proof:    opened.Secrets.Proof.Reveal(),
		User:     toUser(r, &opened.User),
		ReturnTo: openapi.OrNull(returnTo),
	})
	out.reveals = string(s.ID)
	return out, nil
}

// limitSignIn refuses pages of other origins, and counts the attempt against the caller's address.
func (a *accountsArea) limitSignIn(r *request, at time.Time) error {
	if !r.api.sameOrigin(r.Request) {
		return errCrossOrigin
	}
	return a.countSignIn(r, at)
}

// signingIn returns the system as the actor of a request without a credential.
func signingIn(r *request, at time.Time) identity.Actor {
	obs := observation(r.Request)
	by := identity.System(obs.org.ID, "", "sign-in", at)
	by.Request = identity.Request{ID: obs.id, Address: obs.address}
	return by
}

const (
	mailingsAtOnce = 16               // links that are mailed at the same time on a node
	mailingWithin  = 20 * time.Second // how long that may take
)

// errMailing is returned if too many links are being mailed.
var errMailing = errRateLimited.Because("Too many links are being mailed. Try again soon.")

// mailSignInLink mails a link after it has responded, so that the response time does not reveal whether someone has the
// address.
func (a *accountsArea) mailSignInLink(r *request) (reply, error) {
	at, org := r.api.now(), observation(r.Request).org
	if err := a.limitSignIn(r, at); err != nil {
		return reply{}, err
	}
	in, err := decode[openapi.SignInLinkRequest](r)
	if err != nil {
		return reply{}, err
	}
	if !r.Sessions.MailsLinks() {
		return reply{}, account.ErrMailNotConfigured
	}
	select {
	case a.mailings <- struct{}{}:
	default:
		r.answer.Set("Retry-After", "1")
		return reply{}, r.api.refuse("sign_in_mails", errMailing)
	}
	by, ctx := signingIn(r, at), context.WithoutCancel(r.Context())
	go func() {
		defer func() { <-a.mailings }()
		ctx, cancel := context.WithTimeout(ctx, mailingWithin)
		defer cancel()
		err := r.Sessions.MailLink(ctx, by, org, in.Email)
		if err != nil && !errors.Is(err, account.ErrUserNotFound) {
			r.api.Log.WarnContext(ctx, "a sign-in link was not mailed", "request_id", by.Request.ID, "error", err)
		}
	}()
	return reply{status: http.StatusAccepted, body: openapi.SignInLinkRequested{Requested: true}}, nil
}

func (a *accountsArea) endOwnSession(r *request) (reply, error) {
	if err := r.Sessions.EndOwn(r.Context(), r.by); err != nil {
		return reply{}, err
	}
	return noContent, a.setCookie(r.answer, r.Request, observation(r.Request).org, "", 0)
}

func listSessions(r *request) (reply, error) {
	return listing(r, mapFor(r, toSession), func(q page.Query) (account.SessionPage, error) {
		return r.Sessions.List(r.Context(), r.by, q)
	})
}

func sessionID(r *request) identity.SessionID {
	return pathID[identity.SessionID](r, "session_id", identity.SessionPrefix)
}

func getSession(r *request) (reply, error) {
	s, err := r.Sessions.Get(r.Context(), r.by, sessionID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toSession(r, s)), nil
}

func endSession(r *request) (reply, error) {
	return noContent, r.Sessions.End(r.Context(), r.by, sessionID(r))
}

func endSessions(r *request) (reply, error) {
	return noContent, r.Sessions.EndAll(r.Context(), r.by)
}

func listPersonSessions(r *request) (reply, error) {
	return listing(r, mapFor(r, toSession), func(q page.Query) (account.SessionPage, error) {
		return r.Sessions.ListOf(r.Context(), r.by, memberID(r), q)
	})
}

func endPersonSessions(r *request) (reply, error) {
	_, err := r.Sessions.EndOf(r.Context(), r.by, memberID(r), "")
	return noContent, err
}

func toSession(r *request, s *account.Session) openapi.Session {
	return openapi.Session{
		ID:         string(s.ID),
		Current:    s.ID == r.by.Session,
		Source:     openapi.SessionSource(s.Source),
		APIKeyID:   openapi.OrNull(string(s.Key)),
		UserAgent:  s.Agent,
		Address:    openapi.OrNull(s.Address),
		CreatedAt:  openapi.Time(s.CreatedAt),
		LastSeenAt: openapi.Time(s.LastSeenAt),
		ExpiresAt:  openapi.Time(s.EndsAt()),
	}
}
