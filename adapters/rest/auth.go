package rest

import (
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

var errRateLimited = &fault.Error{Kind: fault.RateLimited, Code: "rate_limited", Detail: "Too many requests. Wait as long as Retry-After says."}

// authenticate names the caller of a request: whom its credential proves, then whether it still
// may call now, then in which workspace.
func (a *API) authenticate(w http.ResponseWriter, r *http.Request, seen *observed) (identity.Actor, error) {
	at := now()
	p, err := a.services.Accounts.Authenticate(r.Context(), seen.org.ID, bearer(r.Header.Get("Authorization")), at)
	if err != nil {
		if foreseen(err).Kind == fault.Unauthenticated && !a.unknown.allow(w, seen.address, at) {
			return identity.Actor{}, errRateLimited
		}
		return identity.Actor{}, err
	}
	seen.user, seen.key = p.User.ID, p.Key.ID
	if !a.callers.allow(w, string(p.Key.ID), at) {
		return identity.Actor{}, errRateLimited
	}
	if err := a.services.Accounts.NoteUse(r.Context(), p.Key, at); err != nil {
		a.Log.WarnContext(r.Context(), "the use of a key was not noted", "api_key_id", p.Key.ID, "error", err)
	}
	ws := p.Membership.Workspace
	if named := r.Header.Get("Workspace-Id"); named != "" && named != string(ws.ID) && named != ws.Slug {
		return identity.Actor{}, identity.ErrWorkspaceMismatch
	}
	w.Header().Set("Workspace-Id", string(ws.ID))
	return actor(p, seen, at), nil
}

// bearer is the token in an Authorization header; empty if that has another scheme or none. The
// case of a scheme does not matter (RFC 9110, section 11.1).
func bearer(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// actor is the caller that a principal makes.
func actor(p *account.Principal, seen *observed, at time.Time) identity.Actor {
	return identity.Actor{
		Org: p.User.Org, User: p.User.ID, Workspace: p.Membership.Workspace.ID,
		Role: min(p.Membership.Role, p.Key.Ceiling), Ceiling: p.Key.Ceiling, Operator: p.User.Operator,
		Key: p.Key.ID, KeyUntil: p.Key.ExpiresAt, At: at, Request: identity.Request{ID: seen.id, Address: seen.address},
	}
}
