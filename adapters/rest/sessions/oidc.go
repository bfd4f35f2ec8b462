package sessions

import (
	"net/url"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

const (
	providerPath = "/api/auth/oidc/"
	callbackPath = providerPath + "callback"
)

// RedirectURI returns an org's redirect URI, to register at its OpenID providers.
func RedirectURI(org *identity.Org) string { return org.BaseURL + callbackPath }

func (a *handlers) providerOperations() []server.Operation {
	return []server.Operation{
		server.Get(callbackPath, server.Redirecting{Run: counted("provider", a.finishSignIn), Refused: showRefusal}),
		server.Get(providerPath+"{provider}", server.Redirecting{Run: a.beginSignIn, Refused: showRefusal}),
		server.Post(providerPath+"logout", server.Anonymous{Run: a.receiveLogout}),
	}
}

// showRefusal returns the address of the sign-in page, which shows a problem and gets only its code.
func showRefusal(r *server.Call, code string) string {
	return signInAddress(server.Observed(r.Request).Org) + "#error=" + code
}

// beginSignIn sends a browser to a provider.
func (a *handlers) beginSignIn(r *server.Call) (string, error) {
	now, org := server.Now(), server.Observed(r.Request).Org
	if _, _, err := r.API.SessionCookie(r.Request, org); err != nil {
		return "", err
	}
	if err := r.CountSignIn(now); err != nil {
		return "", err
	}
	if err := r.Operation.CheckQuery(r.URL.RawQuery); err != nil {
		return "", err
	}
	address, f, err := a.atProvider(r).Begin(r.Context(), org, signInOf(r), RedirectURI(org), now)
	if err != nil {
		return "", err
	}
	r.UncountAttempt(now)
	return address, a.setFlow(r, org, f, session.SignInWithin)
}

// signInOf returns what a browser asks for, whose query the contract has let through.
func signInOf(r *server.Call) sessions.ProviderSignIn {
	query := r.URL.Query()
	in := sessions.ProviderSignIn{Provider: server.PathVar(r.Request, "provider"), ReturnTo: query.Get("return_to")}
	if seconds, err := strconv.Atoi(query.Get("max_age")); err == nil {
		maxAge := time.Duration(seconds) * time.Second
		in.MaxAge = &maxAge
	}
	return in
}

// atProvider returns the use cases of signing in at a provider, for a request.
func (a *handlers) atProvider(r *server.Call) sessions.AtProvider {
	return sessions.AtProvider{Client: a.openID, Sessions: r.Sessions, SignIn: r.API.SignIn}
}

// finishSignIn signs in a person who returns from a provider, and sends the browser to the page that opens the session.
// Providers may send additional parameters.
func (a *handlers) finishSignIn(r *server.Call) (string, error) {
	now, org := server.Now(), server.Observed(r.Request).Org
	if _, _, err := r.API.SessionCookie(r.Request, org); err != nil {
		return "", err
	}
	if err := r.CountAttempt(now); err != nil {
		return "", err
	}
	parameters := callbackParameters(r.URL.RawQuery)
	code, bound, err := a.atProvider(r).Finish(r.Context(), r.SignInActor(now), org, a.flowOf(r, org, now),
		RedirectURI(org),
		sessions.ProviderResponse{State: parameters["state"], Code: parameters["code"], Issuer: parameters["iss"],
			Error: parameters["error"]})
	if err != nil {
		return "", err
	}
	r.UncountAttempt(now)
	// The remaining cookie only binds the code to this browser.
	return signInAddress(org) + "#code=" + code.Reveal(), a.setFlow(r, org, bound, session.CodeLife)
}

const maxCallbackParameter = 4096 // bytes; a code's bytes differ from provider to provider

// callbackParameters returns the parameters in a provider's response that Atrium uses. One that is too long, or that is
// given twice, counts as absent.
func callbackParameters(query string) map[string]string {
	all, _ := url.ParseQuery(query) // without those that cannot be parsed
	parameters := map[string]string{}
	for _, name := range []string{"state", "code", "iss", "error"} {
		if values := all[name]; len(values) == 1 && len(values[0]) <= maxCallbackParameter {
			parameters[name] = values[0]
		}
		if len(all[name]) > 1 {
			return map[string]string{}
		}
	}
	return parameters
}

// setFlow stores a sign-in in the browser, or removes it if it lasts no time.
func (a *handlers) setFlow(r *server.Call, org *identity.Org, f sessions.ProviderFlow, lasts time.Duration) error {
	return a.setSealed(r, flowCookie, org, f, lasts)
}

// flowOf returns the sign-in in the browser; zero if not found or ended.
func (a *handlers) flowOf(r *server.Call, org *identity.Org, now time.Time) (f sessions.ProviderFlow) {
	if !a.readSealed(r, flowCookie, org, &f) || !now.Before(f.Until) {
		return sessions.ProviderFlow{}
	}
	return f
}

// openByCode exchanges the code for a sign-in at a provider for a session.
func (a *handlers) openByCode(r *server.Call, org *identity.Org, code string, now time.Time) (server.Reply, error) {
	if !r.API.SameOrigin(r.Request) {
		return server.Reply{}, server.ErrCrossOrigin
	}
	if err := r.CountAttempt(now); err != nil {
		return server.Reply{}, err
	}
	f, by := a.flowOf(r, org, now), r.SignInActor(now)
	session, err := r.Sessions.OpenByCode(r.Context(), by, org, code, f.Browser, a.browserOf(r, org))
	if err != nil {
		return server.Reply{}, err
	}
	if err := a.setFlow(r, org, sessions.ProviderFlow{}, 0); err != nil {
		return server.Reply{}, err
	}
	r.UncountAttempt(now)
	return a.sessionReply(r, session, by, f.ReturnTo)
}

// receiveLogout ends the sessions whose end a provider reports. Only tokens that are refused count against the caller's
// address: a provider may sign out many people.
func (a *handlers) receiveLogout(r *server.Call) (server.Reply, error) {
	now, obs := server.Now(), server.Observed(r.Request)
	if r.API.Unauthenticated.Exhausted(r.ReplyHeader, obs.Address, now) {
		return server.Reply{}, r.API.Refuse("address_rate", server.ErrRateLimited)
	}
	in, err := server.Decode[openapi.LogoutReceive](r)
	if err != nil {
		return server.Reply{}, err
	}
	if err := a.atProvider(r).Logout(r.Context(), r.SignInActor(now), obs.Org, in.LogoutToken); err != nil {
		if server.PublicError(err) == session.ErrLogoutToken {
			err = r.API.CountUnauthenticated(r.ReplyHeader, obs, err)
		}
		return server.Reply{}, err
	}
	out := server.OK(openapi.LogoutReceived{Received: true})
	out.Reveals = "logout" // so that it is not stored
	return out, nil
}

func providers(org *identity.Org) []openapi.SignInProvider {
	all := []openapi.SignInProvider{}
	for _, i := range org.Issuers {
		if c := i.Client; c != nil {
			all = append(all, openapi.SignInProvider{
				Key: c.Name, Title: c.Title, URL: org.BaseURL + providerPath + c.Name,
			})
		}
	}
	return all
}

// signInAddress returns the address of the page for signing in, below the path of the org's canonical address.
func signInAddress(org *identity.Org) string {
	path := ""
	if u, err := url.Parse(org.BaseURL); err == nil {
		path = u.Path
	}
	return path + "/console/sign-in"
}
