package sessions

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
)

func (a *handlers) sessionOperations() []server.Operation {
	return []server.Operation{
		server.Delete("/api/auth/session", server.Command(a.endOwnSession)),
		server.Get("/api/me/sessions", server.Query(listSessions)),
		server.Delete("/api/me/sessions", server.Command(a.endSessions)),
		server.Get("/api/me/sessions/{session_id}", server.Query(getSession)),
		server.Delete("/api/me/sessions/{session_id}", server.Command(endSession)),
		server.Get("/api/people/{user_id}/sessions", server.Query(listPersonSessions)),
		server.Delete("/api/people/{user_id}/sessions", server.Command(endPersonSessions)),
	}
}

func (a *handlers) signInOperations() []server.Operation {
	return []server.Operation{
		server.Get("/api/auth/methods", server.Anonymous{Run: a.getSignInMethods, Lenient: true}),
		server.Post("/api/auth/sessions", server.Anonymous{Run: counted("session", a.openSession)}),
		server.Post("/api/invitations/preview", server.Anonymous{Run: a.previewInvitation}),
		server.Post("/api/invitations/join", server.Anonymous{Run: counted("invitation", a.joinByInvitation)}),
		server.Post("/api/auth/links", server.Anonymous{Run: a.mailSignInLink}),
		server.Post("/api/auth/links/preview", server.Anonymous{Run: a.previewSignInLink}),
		server.Post(passkeySignIn+"/challenge", server.Anonymous{Run: a.optionsToSignIn}),
		server.Post(passkeySignIn, server.Anonymous{Run: counted("passkey", a.signInWithPasskey)}),
	}
}

func (a *handlers) getSignInMethods(r *server.Call) (server.Reply, error) {
	org := server.Observed(r.Request).Org
	_, err := a.relyingParty(r.Request, org)
	return server.OK(openapi.SignInMethods{
		Org:      openapi.Org{ID: string(org.ID), Slug: org.Slug, Name: org.Name},
		APIKey:   !org.Keys.NoPersonal,
		Mail:     r.Sessions.MailsLinks(),
		Passkeys: err == nil && len(org.Issuers) == 0,
		Oidc:     providers(org),
	}), nil
}

// openSession exchanges a token for a session. Refusals that apply to every token come first, so that a link is not
// used up.
func (a *handlers) openSession(r *server.Call) (server.Reply, error) {
	obs, now := server.Observed(r.Request), r.API.Now()
	if _, _, err := r.API.SessionCookie(r.Request, obs.Org); err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.SessionOpen](r)
	if err != nil {
		return server.Reply{}, err
	}
	if _, isCode := session.ParseCode(in.Token); isCode {
		return a.openByCode(r, obs.Org, in.Token, now)
	}
	if err := a.limitSignIn(r, now); err != nil {
		return server.Reply{}, err
	}
	by := r.SignInActor(now)
	browser := a.browserOf(r, obs.Org)
	browser.User = r.API.SignedInUser(r.Request, now)
	session, err := r.Sessions.Open(r.Context(), by, obs.Org, in.Token, browser)
	if err != nil {
		return server.Reply{}, err
	}
	r.UncountAttempt(now)
	return a.sessionReply(r, session, by, "")
}

// errMailing is returned if too many links are being mailed.
var errMailing = server.ErrRateLimited.Because("Too many links are being mailed. Try again soon.")

// mailSignInLink mails a link after it has responded, so that the response time does not reveal whether someone has the
// address.
func (a *handlers) mailSignInLink(r *server.Call) (server.Reply, error) {
	now := r.API.Now()
	if err := a.limitSignIn(r, now); err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.SignInLinkRequest](r)
	if err != nil {
		return server.Reply{}, err
	}
	if !r.Sessions.MailsLinks() {
		return server.Reply{}, session.ErrMailNotConfigured
	}
	r.UncountAttempt(now) // it tells nothing about whether someone has the address
	if !a.mailLink(r, r.SignInActor(now), in.Email) {
		r.ReplyHeader.Set("Retry-After", "1")
		return server.Reply{}, r.API.Refuse("sign_in_mails", errMailing)
	}
	return server.Reply{Status: http.StatusAccepted, Body: openapi.SignInLinkRequested{Requested: true}}, nil
}

// mailLink begins to mail a link to the person with an address, if there is one. It returns false if too many links are
// being mailed.
func (a *handlers) mailLink(r *server.Call, by identity.Actor, email string) bool {
	select {
	case a.mailings <- struct{}{}:
	default:
		return false
	}
	org, ctx := server.Observed(r.Request).Org, context.WithoutCancel(r.Context())
	go func() {
		defer func() { <-a.mailings }()
		ctx, cancel := context.WithTimeout(ctx, mailingWithin)
		defer cancel()
		err := r.Sessions.MailLink(ctx, by, org, email)
		if err != nil && !errors.Is(err, account.ErrUserNotFound) {
			r.API.Log.WarnContext(ctx, "a sign-in link was not mailed", "request_id", by.Request.ID, "error", err)
		}
	}()
	return true
}

// previewSignInLink shows to a link's bearer whose account it opens, so that nobody works in another account by a
// click.
func (a *handlers) previewSignInLink(r *server.Call) (server.Reply, error) {
	now := r.API.Now()
	if !r.API.SameOrigin(r.Request) {
		return server.Reply{}, server.ErrCrossOrigin
	}
	if err := r.CountAttempt(now); err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.SessionOpen](r)
	if err != nil {
		return server.Reply{}, err
	}
	u, err := r.Sessions.LinkUser(r.Context(), server.Observed(r.Request).Org.ID, in.Token, now)
	if err != nil {
		return server.Reply{}, err
	}
	r.UncountAttempt(now)
	return server.OK(openapi.SignInLinkPreview{
		UserID: string(u.ID),
		Name:   u.Name,
		Email:  openapi.OrNull(u.Email),
	}), nil
}

func (a *handlers) endOwnSession(r *server.Call) (server.Reply, error) {
	if err := r.Sessions.EndOwn(r.Context(), r.By); err != nil {
		return server.Reply{}, err
	}
	return server.NoContent, a.signOut(r)
}

// signOut makes the browser forget what it has of the person. It does not clear cookies: the browser would also remove
// cookies that other sites below the same domain have set.
func (a *handlers) signOut(r *server.Call) error {
	org := server.Observed(r.Request).Org
	if u, err := url.Parse(org.BaseURL); err == nil && strings.Trim(u.Path, "/") == "" { // the origin is Atrium's alone
		r.ReplyHeader.Set("Clear-Site-Data", `"cache", "storage"`)
	}
	return a.SetCookie(r.ReplyHeader, r.Request, org, "", 0)
}

func listSessions(r *server.Call) (server.Reply, error) {
	return server.List(r, server.MapFor(r, toSession), func(q page.Query) (session.Page, error) {
		return r.Sessions.List(r.Context(), r.By, r.SessionPolicy(), q)
	})
}

func sessionID(r *server.Call) identity.SessionID {
	return server.PathID[identity.SessionID](r, "session_id", identity.SessionPrefix)
}

func getSession(r *server.Call) (server.Reply, error) {
	s, err := r.Sessions.Get(r.Context(), r.By, r.SessionPolicy(), sessionID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toSession(r, s)), nil
}

func endSession(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Sessions.End(r.Context(), r.By, sessionID(r))
}

func (a *handlers) endSessions(r *server.Call) (server.Reply, error) {
	if err := r.Sessions.EndAll(r.Context(), r.By); err != nil || r.By.Session == "" {
		return server.NoContent, err
	}
	return server.NoContent, a.signOut(r)
}

func listPersonSessions(r *server.Call) (server.Reply, error) {
	return server.List(r, server.MapFor(r, toSession), func(q page.Query) (session.Page, error) {
		return r.Sessions.ListOf(r.Context(), r.By, r.SessionPolicy(), server.MemberID(r), q)
	})
}

func endPersonSessions(r *server.Call) (server.Reply, error) {
	_, err := r.Sessions.EndOf(r.Context(), r.By, server.MemberID(r), "")
	return server.NoContent, err
}
