package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// authenticate sets the caller, by the credential of the request: it verifies the credential, then applies the rate
// limits, then selects the workspace.
func (r *Call) authenticate() error {
	a, obs, now := r.API, Observed(r.Request), r.API.Now()
	token, prove, isStored := a.credential(r.Request, obs.Org)
	if isStored {
		if err := a.LimitFailedAuth(r.ReplyHeader, obs, token, now); err != nil {
			return err
		}
	}
	by, owner, selectMembership, err := prove(a, r.Request, obs, token, now)
	if token != "" {
		a.Measures.Authenticated(credentialKind(token, isStored), err)
	}
	if err != nil {
		if errors.Is(err, identity.ErrUnauthenticated) {
			err = refusalOf(r.Request, token)
		}
		if errors.Is(err, identity.ErrAddressNotAllowed) {
			a.Services.Accounts.NoteRefusal(r.Context(), by, r.Operation.ID, r.Method == http.MethodDelete, err)
		}
		return a.CountFailedAuth(r.ReplyHeader, obs, token, err)
	}
	obs.User, obs.Key, obs.session = by.User, by.Key, by.Session
	m, err := selectMembership(r.Header.Get("Workspace-Id"))
	if refusal := a.Admit(r.ReplyHeader, by, m.Workspace.ID, now); refusal != nil {
		return refusal
	}
	if err != nil && !(r.workspaceOptional && errors.Is(err, identity.ErrWorkspaceRequired)) {
		return err
	}
	by.Workspace, by.Role, by.Grouped = m.Workspace.ID, min(m.Role, by.Ceiling), m.Grouped
	r.By, r.owner, obs.Workspace = by, owner, by.Workspace
	if by.Workspace != "" {
		r.ReplyHeader.Set("Workspace-Id", string(by.Workspace))
	}
	if id := WorkspaceID(r); id != "" {
		obs.Workspace = id
	}
	return r.checkSecondFactor(obs.Org, by)
}

// SessionPolicy returns the policy of the request's org.
func (r *Call) SessionPolicy() identity.SessionPolicy { return Observed(r.Request).Org.Sessions }

// checkSecondFactor returns identity.ErrSecondFactorRequired if the org's policy wants one for the role that by has in
// the request's workspace. What concerns only the caller needs none, so that the caller can see and do what is missing.
func (r *Call) checkSecondFactor(org *identity.Org, by identity.Actor) error {
	if area := r.Operation.Access.Area; area == "self" || area == "anyone" {
		return nil
	}
	if id := WorkspaceID(r); id != "" && id != by.Workspace && r.owner != nil {
		by.Role = min(r.Person().RoleIn(id), by.Ceiling)
	}
	return org.Sessions.Check(by)
}

// AuthenticateReader sets the caller and its proof, by which the access is checked as long as the response lasts.
func (r *Call) AuthenticateReader() error {
	if err := r.authenticate(); err != nil {
		return err
	}
	proof, err := r.Proof()
	r.proof = &proof
	return err
}

// AuthenticateByTicket sets the caller, by a ticket for one stream. redeem returns the proof that a ticket stands for.
func (r *Call) AuthenticateByTicket(
	ticket string, redeem func(context.Context, identity.OrgID, string, time.Time) (session.Proof, error),
) error {
	a, obs, now := r.API, Observed(r.Request), r.API.Now()
	if err := a.LimitFailedAuth(r.ReplyHeader, obs, ticket, now); err != nil {
		return err
	}
	proof, err := redeem(r.Context(), obs.Org.ID, ticket, now)
	if err == nil {
		r.By, err = a.ResolveProof(r.Context(), obs, proof, now)
	}
	if err == nil {
		err = r.checkSecondFactor(obs.Org, r.By)
	}
	a.Measures.Authenticated(byTicket, err)
	if err != nil {
		return a.CountFailedAuth(r.ReplyHeader, obs, ticket, err)
	}
	r.proof = &proof
	obs.User, obs.Key, obs.Workspace = r.By.User, r.By.Key, r.By.Workspace
	return a.Admit(r.ReplyHeader, r.By, r.By.Workspace, now)
}

// AdmitAs sets a caller that is no workspace user, and counts the request against its rate limit.
func (r *Call) AdmitAs(caller string, now time.Time) error {
	r.By = identity.Actor{User: identity.UserID(caller)}
	return r.API.Admit(r.ReplyHeader, r.By, "", now)
}

type (
	keyOwner  account.Principal
	userOwner account.Person
)

func (b *keyOwner) person() *account.Person {
	return &account.Person{User: b.User, Memberships: []account.Membership{b.Membership}}
}

func (b *userOwner) person() *account.Person { return (*account.Person)(b) }

// prover authenticates the caller by a credential of one kind.
type prover func(
	a *API, r *http.Request, obs *Observation, token string, now time.Time,
) (identity.Actor, owner, selectMembership, error)

// credential returns the credential of a request and the function that verifies it. A cookie counts only if there is no
// Authorization header. stored reports whether the verification reads the database.
func (a *API) credential(r *http.Request, org *identity.Org) (token string, prove prover, isStored bool) {
	authorization := r.Header.Get("Authorization")
	if authorization == "" {
		if cookie := a.cookieOf(r, org); cookie != "" {
			return cookie, (*API).bySession, true
		}
	}
	token = Bearer(authorization)
	if strings.HasPrefix(token, account.KeyTokenPrefix) {
		return token, (*API).byKey, true
	}
	return token, (*API).byToken, false
}

// Admit counts a request against the rate limits of its credential, its user and, if any, its workspace.
func (a *API) Admit(h http.Header, by identity.Actor, ws identity.WorkspaceID, now time.Time) error {
	credential := string(by.User)
	if by.Key != "" {
		credential = string(by.Key)
	}
	allowances := [3]Allowance{{a.callers, credential}, {a.users, string(by.User)}, {a.workspaces, string(ws)}}
	n := len(allowances)
	if ws == "" {
		n--
	}
	if limiter := TakeAll(h, now, 1, allowances[:n]...); limiter != nil {
		return a.Refuse(limiter.name+"_rate", ErrRateLimited)
	}
	return nil
}

// Bearer returns an Authorization header's token; empty if the scheme is not Bearer. Schemes are not case-sensitive
// (RFC 9110, section 11.1).
func Bearer(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// selectMembership returns the caller's membership in the workspace that a request names.
type selectMembership func(id string) (account.Membership, error)

// byKey authenticates a caller by an API key, which is bound to one workspace.
func (a *API) byKey(
	r *http.Request, obs *Observation, token string, now time.Time,
) (identity.Actor, owner, selectMembership, error) {
	p, err := a.Services.Accounts.Authenticate(r.Context(), obs.Org, token, now)
	if err != nil {
		if p != nil {
			a.noteRefusedKey(r.Context(), obs, p, now)
		}
		return identity.Actor{}, nil, nil, err
	}
	by := keyActor(p, obs, now)
	by.Workspace = p.Membership.Workspace.ID
	if err := by.CheckAddress(); err != nil {
		return by, nil, nil, err
	}
	if !obs.noted {
		a.KnownTokens.Remember(token, now)
	}
	a.Services.KeyUsage.Record(&p.Key, now, obs.Address)
	return by, (*keyOwner)(p), p.Select, nil
}

// noteRefusedKey tells the operators and the workspace that a key is still used that is no longer accepted.
func (a *API) noteRefusedKey(ctx context.Context, obs *Observation, p *account.Principal, now time.Time) {
	obs.refused = &p.Key
	by := keyActor(p, obs, now)
	a.Measures.refusedKeys.WithLabelValues(string(p.Refusal(by))).Inc()
	a.Services.Accounts.NoteRefusedKey(ctx, by, p)
}

// bySession authenticates a caller by a session's cookie and proof. It refuses a request from a page of another origin.
func (a *API) bySession(
	r *http.Request, obs *Observation, cookie string, now time.Time,
) (identity.Actor, owner, selectMembership, error) {
	if !a.SameOrigin(r) {
		return identity.Actor{}, nil, nil, identity.ErrUnauthenticated
	}
	p, err := a.Services.Sessions.Authenticate(r.Context(), obs.Org, cookie, r.Header.Get(proofHeader), now)
	if err != nil {
		return identity.Actor{}, nil, nil, err
	}
	by := principalActor(p.Principal(), obs, now)
	if err := by.CheckAddress(); err != nil {
		by.Workspace = p.Session.Workspace
		return by, nil, nil, err
	}
	if !obs.noted {
		a.KnownTokens.Remember(cookie, now)
	}
	a.Services.SessionUsage.Record(&p.Session, now)
	if p.Key.ID != "" {
		a.Services.KeyUsage.Record(&p.Key, now, obs.Address)
	}
	selectByID := func(id string) (account.Membership, error) { return p.Select(id, isSafe(r)) }
	return by, (*userOwner)(&p.Person), selectByID, nil
}

// isSafe reports whether a request changes nothing (RFC 9110, section 9.2.1).
func isSafe(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// byToken authenticates a caller by a token that one of the org's issuers signed.
func (a *API) byToken(
	r *http.Request, obs *Observation, token string, now time.Time,
) (identity.Actor, owner, selectMembership, error) {
	if token == "" || len(obs.Org.Issuers) == 0 {
		return identity.Actor{}, nil, nil, identity.ErrUnauthenticated
	}
	claims, err := a.Verifier.Verify(r.Context(), obs.Org.Issuers, token, now)
	if err != nil {
		return identity.Actor{}, nil, nil, err
	}
	by := identity.System(obs.Org.ID, "", "sign-in", now)
	by.Request = identity.Request{ID: obs.ID, Address: obs.Address}
	p, err := a.SignIn(r.Context(), by, obs.Org, claims)
	if err != nil {
		return identity.Actor{}, nil, nil, err
	}
	selectByID := func(id string) (account.Membership, error) { return p.Select(id, isSafe(r)) }
	by = userActor(&p.User, obs, now)
	by.SecondFactor = claims.HasSecondFactor(obs.Org)
	return by, (*userOwner)(p), selectByID, nil
}

// SignIn returns the person that verified claims belong to. by is the system, in the request of the sign-in.
func (a *API) SignIn(
	ctx context.Context, by identity.Actor, org *identity.Org, claims *account.Claims,
) (*account.Person, error) {
	p, unlinked, err := a.Services.Accounts.SignIn(ctx, by, org, *claims)
	if err == nil && unlinked != nil {
		a.Log.WarnContext(
			ctx, "a user signed in with the e-mail address of an account that could not be joined, "+
				"and got a separate account",
			"issuer", claims.Issuer, "user_id", p.User.ID, "address_of", unlinked.ID,
		)
	}
	return p, err
}

// userActor returns the caller for a user whose credential sets no ceiling, in no workspace yet.
func userActor(u *account.User, obs *Observation, now time.Time) identity.Actor {
	return identity.Actor{
		Org:      u.Org,
		User:     u.ID,
		Service:  u.Service,
		Ceiling:  identity.Owner,
		Operator: u.Operator,
		At:       now,
		Request:  identity.Request{ID: obs.ID, Address: obs.Address},
	}
}

// keyActor returns the caller for a key.
func keyActor(p *account.Principal, obs *Observation, now time.Time) identity.Actor {
	by := userActor(&p.User, obs, now)
	by.Ceiling, by.Key, by.KeyUntil = p.Key.Ceiling, p.Key.ID, p.Key.ExpiresAt
	by.Scopes, by.Networks = p.Key.Scopes, p.Key.Networks
	return by
}

// principalActor returns the caller for a principal: of a session, with the limits of the key that opened it, if one
// did; of a key; or of a token of an issuer, which was checked before it became a proof.
func principalActor(p *session.Principal, obs *Observation, now time.Time) identity.Actor {
	by := userActor(&p.User, obs, now)
	if p.Key.ID != "" {
		by = keyActor(&p.Principal, obs, now)
	}
	if p.Session.ID == "" {
		by.SecondFactor = true
		return by
	}
	by.Session, by.SignedInAt, by.SecondFactor = p.Session.ID, p.Session.SignedInAt(), p.Session.HasSecondFactor()
	return by
}

// Proof returns what identifies a request's valid credential, and the workspace of the request.
func (r *Call) Proof() (session.Proof, error) {
	if r.proof != nil {
		return *r.proof, nil
	}
	org := Observed(r.Request).Org
	token, _, _ := r.API.credential(r.Request, org)
	if key, ok := account.ParseToken(token); ok {
		return session.Proof{Key: key.Hash(), Workspace: r.By.Workspace}, nil
	}
	if cookie, ok := session.ParseCookie(token); ok {
		return session.Proof{Session: cookie.Hash(), Workspace: r.By.Workspace}, nil
	}
	c, err := r.API.Verifier.Verify(r.Context(), org.Issuers, token, r.By.At)
	if err != nil {
		return session.Proof{}, err
	}
	return session.Proof{
		Issuer: c.Issuer, Subject: c.Subject, Until: c.ExpiresAt.Add(account.ClockSkew), Workspace: r.By.Workspace,
	}, nil
}

// ResolveProof returns the caller behind a proof, if the proof is still valid in the org as it is configured
// now, and ErrUnauthenticated otherwise.
func (a *API) ResolveProof(
	ctx context.Context, obs *Observation, p session.Proof, now time.Time,
) (identity.Actor, error) {
	org, ok := a.Orgs().ByID(obs.Org.ID)
	if !ok {
		return identity.Actor{}, identity.ErrUnauthenticated
	}
	found, err := a.Services.Tickets.ResolveProofs(ctx, org, []session.Proof{p}, now)
	if err != nil {
		return identity.Actor{}, err
	}
	return actorOf(found[0], obs, now)
}

// actorOf returns a resolved proof's caller, whose principal is nil if the proof is no longer valid.
func actorOf(principal *session.Principal, obs *Observation, now time.Time) (identity.Actor, error) {
	if principal == nil {
		return identity.Actor{}, identity.ErrUnauthenticated
	}
	by, m := principalActor(principal, obs, now), principal.Membership
	by.Workspace, by.Role, by.Grouped = m.Workspace.ID, min(m.Role, by.Ceiling), m.Grouped
	return by, by.CheckAddress()
}

// Person returns the person that the credential belongs to; nil until it is verified.
func (r *Call) Person() *account.Person {
	if r.known == nil && r.owner != nil {
		r.known = r.owner.person()
	}
	return r.known
}
