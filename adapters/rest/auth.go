package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

var errRateLimited = &fault.Error{
	Kind:   fault.RateLimited,
	Code:   "rate_limited",
	Detail: "Too many requests. Wait for the number of seconds in Retry-After.",
}

// authenticate returns the caller of a request. It verifies the credential, then applies the rate limits,
// then selects the workspace. If anywhere is true, the request need not name a workspace.
func (a *API) authenticate(
	w http.ResponseWriter, r *http.Request, seen *observed, anywhere bool,
) (identity.Actor, *account.Person, error) {
	at := now()
	token := bearer(r.Header.Get("Authorization"))
	prove := a.byToken
	if strings.HasPrefix(token, account.KeyTokenPrefix) {
		prove = a.byKey
		if err := a.mayGuess(w.Header(), seen, token, at); err != nil {
			return identity.Actor{}, nil, err
		}
	}
	by, who, choose, err := prove(r, seen, token, at)
	if err != nil {
		return identity.Actor{}, nil, a.guessed(w.Header(), seen, token, err)
	}
	seen.user, seen.key = by.User, by.Key
	m, err := choose(r.Header.Get("Workspace-Id"))
	if refused := a.admit(w.Header(), by, m.Workspace.ID, at); refused != nil {
		return identity.Actor{}, nil, refused
	}
	if err != nil && !(anywhere && errors.Is(err, identity.ErrWorkspaceRequired)) {
		return identity.Actor{}, nil, err
	}
	by.Workspace, by.Role = m.Workspace.ID, min(m.Role, by.Ceiling)
	if by.Workspace != "" {
		w.Header().Set("Workspace-Id", string(by.Workspace))
	}
	return by, who, nil
}

// admit counts a request against the rate limits of its credential, its user and, if any, its workspace.
func (a *API) admit(h http.Header, by identity.Actor, ws identity.WorkspaceID, at time.Time) error {
	credential := string(by.User)
	if by.Key != "" {
		credential = string(by.Key)
	}
	shares := [3]share{{a.callers, credential}, {a.users, string(by.User)}, {a.workspaces, string(ws)}}
	n := len(shares)
	if ws == "" {
		n--
	}
	if refused := takeAll(h, at, 1, shares[:n]...); refused != nil {
		return a.refuse(refused.name+"_rate", errRateLimited)
	}
	return nil
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

// choose returns the caller's membership in the workspace that a request names.
type choose func(named string) (account.Membership, error)

// byKey proves a caller by an API key, which is bound to one workspace.
func (a *API) byKey(
	r *http.Request, seen *observed, token string, at time.Time,
) (identity.Actor, *account.Person, choose, error) {
	p, err := a.Services.Accounts.Authenticate(r.Context(), seen.org, token, at)
	if err != nil {
		return identity.Actor{}, nil, nil, err
	}
	a.proven.note(token, at)
	a.Services.Uses.Note(p.Key, at)
	by := bearerOf(p, seen, at)
	return by, &account.Person{User: p.User, Memberships: []account.Membership{p.Membership}}, p.Select, nil
}

// byToken proves a caller by a token that one of the org's issuers signed.
func (a *API) byToken(
	r *http.Request, seen *observed, token string, at time.Time,
) (identity.Actor, *account.Person, choose, error) {
	if token == "" || len(seen.org.Issuers) == 0 {
		return identity.Actor{}, nil, nil, identity.ErrUnauthenticated
	}
	claims, err := a.Verifier.Verify(r.Context(), seen.org.Issuers, token, at)
	if err != nil {
		return identity.Actor{}, nil, nil, err
	}
	by := identity.System(seen.org.ID, "", "sign-in", at)
	by.Request = identity.Request{ID: seen.id, Address: seen.address}
	p, apart, err := a.Services.Accounts.SignIn(r.Context(), by, seen.org, *claims)
	if err != nil {
		return identity.Actor{}, nil, nil, err
	}
	if apart != nil {
		a.Log.WarnContext(
			r.Context(),
			"a user signed in with the e-mail address of an account that could not be joined, and got another one",
			"issuer", claims.Issuer, "user_id", p.User.ID, "address_of", apart.ID,
		)
	}
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	selected := func(named string) (account.Membership, error) { return p.Select(named, safe) }
	return actor(&p.User, seen, at), p, selected, nil
}

// actor is the caller that a user makes, whose credential sets no ceiling, in no workspace yet.
func actor(u *account.User, seen *observed, at time.Time) identity.Actor {
	return identity.Actor{
		Org:      u.Org,
		User:     u.ID,
		Service:  u.Service,
		Ceiling:  identity.Owner,
		Operator: u.Operator,
		At:       at,
		Request:  identity.Request{ID: seen.id, Address: seen.address},
	}
}

// bearerOf is the caller that a key makes.
func bearerOf(p *account.Principal, seen *observed, at time.Time) identity.Actor {
	by := actor(&p.User, seen, at)
	by.Ceiling, by.Key, by.KeyUntil = p.Key.Ceiling, p.Key.ID, p.Key.ExpiresAt
	return by
}

// proof is what the credential of a request has shown, which was found to be good.
func (r *request) proof() (account.Proof, error) {
	token := bearer(r.Header.Get("Authorization"))
	if key, ok := account.ParseToken(token); ok {
		return account.Proof{Key: key.Hash()}, nil
	}
	c, err := r.api.Verifier.Verify(r.Context(), observation(r.Request).org.Issuers, token, r.by.At)
	if err != nil {
		return account.Proof{}, err
	}
	return account.Proof{Issuer: c.Issuer, Subject: c.Subject, Until: c.ExpiresAt}, nil
}

// standing returns the caller behind a proof, if the proof is still valid in the org as it is configured
// now, and ErrUnauthenticated otherwise.
func (a *API) standing(ctx context.Context, seen *observed, p account.Proof, at time.Time) (identity.Actor, error) {
	org, ok := a.Orgs().ByID(seen.org.ID)
	if !ok {
		return identity.Actor{}, identity.ErrUnauthenticated
	}
	found, err := a.Services.Tickets.Standing(ctx, org, []account.Proof{p}, at)
	if err != nil {
		return identity.Actor{}, err
	}
	who := found[0]
	if who == nil {
		return identity.Actor{}, identity.ErrUnauthenticated
	}
	if who.Key.ID == "" {
		return actor(&who.User, seen, at), nil
	}
	by := bearerOf(who, seen, at)
	by.Workspace, by.Role = who.Membership.Workspace.ID, min(who.Membership.Role, by.Ceiling)
	return by, nil
}
