package sessions

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

const (
	passkeySignIn = "/api/auth/passkeys" //nolint:gosec // a path, no password
)

func (a *handlers) passkeyOperations() []server.Operation {
	const confirm, mine = "/api/auth/step-up", "/api/me/passkeys"
	return []server.Operation{
		server.Post(confirm+"/challenge", server.Query(a.optionsToStepUp)),
		server.Post(confirm, server.Command(a.stepUp)),
		server.Post(mine+"/challenge", server.Query(a.optionsToAddPasskey)),
		server.Get(mine, server.Query(listPasskeys)),
		server.Post(mine, server.Command(a.addPasskey)),
		server.Get(mine+"/{passkey_id}", server.Query(getPasskey)),
		server.Patch(mine+"/{passkey_id}", server.Command(renamePasskey)),
		server.Delete(mine+"/{passkey_id}", server.Command(removePasskey)),
	}
}

// relyingParty returns what passkeys are bound to in a request: the host that the browser reached.
// account.ErrPasskeysUnavailable for an IP address, which browsers refuse. errHTTPSRequired as for cookies.
func (a *handlers) relyingParty(r *http.Request, org *identity.Org) (account.RelyingParty, error) {
	_, secure, err := a.SessionCookie(r, org)
	if err != nil {
		return account.RelyingParty{}, err
	}
	host := strings.ToLower(a.Host(r))
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return account.RelyingParty{}, account.ErrPasskeysUnavailable
	}
	scheme, defaultPort := "http://", "80"
	if secure {
		scheme, defaultPort = "https://", "443"
	}
	if port != "" && port != defaultPort {
		host = name + ":" + port
	} else {
		host = name
	}
	return account.RelyingParty{Host: name, Name: org.Name, Origin: scheme + host}, nil
}

// ownRelyingParty returns the relying party for a caller who may use passkeys.
func (a *handlers) ownRelyingParty(r *server.Call) (account.RelyingParty, error) {
	if err := account.MayUsePasskeys(r.By); err != nil {
		return account.RelyingParty{}, err
	}
	return a.relyingParty(r.Request, server.Observed(r.Request).Org)
}

func (a *handlers) optionsToSignIn(r *server.Call) (server.Reply, error) {
	org := server.Observed(r.Request).Org
	rp, err := a.relyingParty(r.Request, org)
	if err != nil {
		return server.Reply{}, err
	}
	options, err := r.Passkeys.OptionsToSignIn(org, rp, server.Now())
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toRequestOptions(rp, options)), nil
}

// signInWithPasskey opens a session. Refusals that apply to every response come first, so that no challenge is used up.
func (a *handlers) signInWithPasskey(r *server.Call) (server.Reply, error) {
	now, org := server.Now(), server.Observed(r.Request).Org
	rp, err := a.relyingParty(r.Request, org)
	if err != nil {
		return server.Reply{}, err
	}
	if err := a.limitSignIn(r, now); err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.PasskeyResponse](r)
	if err != nil {
		return server.Reply{}, err
	}
	by := r.SignInActor(now)
	session, err := r.Passkeys.SignIn(r.Context(), by, org, rp, in.Credential, a.browserOf(r, org))
	if err != nil {
		return server.Reply{}, err
	}
	r.UncountAttempt(now)
	return a.sessionReply(r, session, by, "")
}

func (a *handlers) optionsToStepUp(r *server.Call) (server.Reply, error) {
	rp, err := a.ownRelyingParty(r)
	if err != nil {
		return server.Reply{}, err
	}
	options, err := r.Passkeys.OptionsToStepUp(r.Context(), r.By, rp)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toRequestOptions(rp, options)), nil
}

func (a *handlers) stepUp(r *server.Call) (server.Reply, error) {
	rp, err := a.ownRelyingParty(r)
	if err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.PasskeyResponse](r)
	if err != nil {
		return server.Reply{}, err
	}
	s, err := r.Passkeys.StepUp(r.Context(), r.By, rp, in.Credential)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.SteppedUp{ValidUntil: openapi.Time(s.ConfirmedAt.Add(identity.StepUpWithin))}), nil
}

func (a *handlers) optionsToAddPasskey(r *server.Call) (server.Reply, error) {
	rp, err := a.ownRelyingParty(r)
	if err != nil {
		return server.Reply{}, err
	}
	options, err := r.Passkeys.OptionsToAdd(r.Context(), r.By, r.SessionPolicy(), rp)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toCreationOptions(rp, &r.Person().User, options)), nil
}

func (a *handlers) addPasskey(r *server.Call) (server.Reply, error) {
	rp, err := a.ownRelyingParty(r)
	if err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.PasskeyCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	k, err := r.Passkeys.Add(r.Context(), r.By, r.SessionPolicy(), rp, in.Name, in.Credential)
	if err != nil {
		return server.Reply{}, err
	}
	return server.Created("/api/me/passkeys/"+string(k.ID), toPasskey(k)).WithRevision(k.Revision), nil
}

func passkeyID(r *server.Call) account.PasskeyID {
	return server.PathID[account.PasskeyID](r, "passkey_id", account.PasskeyPrefix)
}

func listPasskeys(r *server.Call) (server.Reply, error) {
	return server.List(r, toPasskey, func(q page.Query) (account.PasskeyPage, error) {
		return r.Passkeys.List(r.Context(), r.By, q)
	})
}

func getPasskey(r *server.Call) (server.Reply, error) {
	k, err := r.Passkeys.Get(r.Context(), r.By, passkeyID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toPasskey(k)).WithRevision(k.Revision), nil
}

func renamePasskey(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PasskeyPatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	k, err := r.Passkeys.Rename(r.Context(), r.By, passkeyID(r), r.Match, in.Name)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toPasskey(k)).WithRevision(k.Revision), nil
}

func removePasskey(r *server.Call) (server.Reply, error) {
	keep := sessions.KeepSessions(r.Query.Get("keep_sessions") == "true")
	return server.NoContent, r.Passkeys.Remove(r.Context(), r.By, r.SessionPolicy(), passkeyID(r), r.Match, keep)
}
