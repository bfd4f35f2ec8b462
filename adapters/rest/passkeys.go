package rest

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

const (
	passkeySignIn        = "/api/auth/passkeys" //nolint:gosec // a path, no password
	passkeySignInOptions = passkeySignIn + "/challenge"
)

func (a *accountsArea) passkeyOperations() []operation {
	const confirm, mine = "/api/auth/step-up", "/api/me/passkeys"
	return []operation{
		postOf(confirm+"/challenge", query(a.optionsToStepUp)),
		postOf(confirm, command(a.stepUp)),
		postOf(mine+"/challenge", query(a.optionsToAddPasskey)),
		getOf(mine, query(listPasskeys)),
		postOf(mine, command(a.addPasskey)),
		getOf(mine+"/{passkey_id}", query(getPasskey)),
		patchOf(mine+"/{passkey_id}", command(renamePasskey)),
		deleteOf(mine+"/{passkey_id}", command(removePasskey)),
	}
}

// relyingParty returns what passkeys are bound to in a request: the host that the browser reached.
// account.ErrPasskeysUnavailable for an IP address, which browsers refuse. errHTTPSRequired as for cookies.
func (a *accountsArea) relyingParty(r *http.Request, org *identity.Org) (account.RelyingParty, error) {
	_, secure, err := a.sessionCookie(r, org)
	if err != nil {
		return account.RelyingParty{}, err
	}
	host := strings.ToLower(a.host(r))
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return account.RelyingParty{}, account.ErrPasskeysUnavailable
	}
	scheme, implied := "http://", "80"
	if secure {
		scheme, implied = "https://", "443"
	}
	if port != "" && port != implied {
		host = name + ":" + port
	} else {
		host = name
	}
	return account.RelyingParty{Host: name, Name: org.Name, Origin: scheme + host}, nil
}

// ownRelyingParty returns the relying party for a caller who may use passkeys.
func (a *accountsArea) ownRelyingParty(r *request) (account.RelyingParty, error) {
	if err := account.MayUsePasskeys(r.by); err != nil {
		return account.RelyingParty{}, err
	}
	return a.relyingParty(r.Request, observation(r.Request).org)
}

func (a *accountsArea) optionsToSignIn(r *request) (reply, error) {
	org := observation(r.Request).org
	rp, err := a.relyingParty(r.Request, org)
	if err != nil {
		return reply{}, err
	}
	options, err := r.Passkeys.OptionsToSignIn(org, rp, now())
	if err != nil {
		return reply{}, err
	}
	return ok(toRequestOptions(rp, options)), nil
}

// signInWithPasskey opens a session. Refusals that apply to every response come first, so that no challenge is used up.
func (a *accountsArea) signInWithPasskey(r *request) (reply, error) {
	at, org := now(), observation(r.Request).org
	rp, err := a.relyingParty(r.Request, org)
	if err != nil {
		return reply{}, err
	}
	if err := a.limitSignIn(r, at); err != nil {
		return reply{}, err
	}
	in, err := decode[openapi.PasskeyResponse](r)
	if err != nil {
		return reply{}, err
	}
	by := signingIn(r, at)
	opened, err := r.Passkeys.SignIn(r.Context(), by, org, rp, in.Credential, r.UserAgent())
	if err != nil {
		return reply{}, err
	}
	return sessionReply(r, opened, by, "")
}

func (a *accountsArea) optionsToStepUp(r *request) (reply, error) {
	rp, err := a.ownRelyingParty(r)
	if err != nil {
		return reply{}, err
	}
	options, err := r.Passkeys.OptionsToStepUp(r.Context(), r.by, rp)
	if err != nil {
		return reply{}, err
	}
	return ok(toRequestOptions(rp, options)), nil
}

func (a *accountsArea) stepUp(r *request) (reply, error) {
	rp, err := a.ownRelyingParty(r)
	if err != nil {
		return reply{}, err
	}
	in, err := decode[openapi.PasskeyResponse](r)
	if err != nil {
		return reply{}, err
	}
	s, err := r.Passkeys.StepUp(r.Context(), r.by, rp, in.Credential)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.SteppedUp{ValidUntil: openapi.Time(s.ConfirmedAt.Add(identity.StepUpWithin))}), nil
}

func (a *accountsArea) optionsToAddPasskey(r *request) (reply, error) {
	rp, err := a.ownRelyingParty(r)
	if err != nil {
		return reply{}, err
	}
	options, err := r.Passkeys.OptionsToAdd(r.Context(), r.by, rp)
	if err != nil {
		return reply{}, err
	}
	return ok(toCreationOptions(rp, &r.person().User, options)), nil
}

func (a *accountsArea) addPasskey(r *request) (reply, error) {
	rp, err := a.ownRelyingParty(r)
	if err != nil {
		return reply{}, err
	}
	in, err := decode[openapi.PasskeyCreate](r)
	if err != nil {
		return reply{}, err
	}
	k, err := r.Passkeys.Add(r.Context(), r.by, rp, in.Name, in.Credential)
	if err != nil {
		return reply{}, err
	}
	return created("/api/me/passkeys/"+string(k.ID), toPasskey(k)).withRevision(k.Revision), nil
}

func passkeyID(r *request) account.PasskeyID {
	return pathID[account.PasskeyID](r, "passkey_id", account.PasskeyPrefix)
}

func listPasskeys(r *request) (reply, error) {
	return listing(r, toPasskey, func(q page.Query) (account.PasskeyPage, error) {
		return r.Passkeys.List(r.Context(), r.by, q)
	})
}

func getPasskey(r *request) (reply, error) {
	k, err := r.Passkeys.Get(r.Context(), r.by, passkeyID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toPasskey(k)).withRevision(k.Revision), nil
}

func renamePasskey(r *request) (reply, error) {
	in, err := decode[openapi.PasskeyPatch](r)
	if err != nil {
		return reply{}, err
	}
	k, err := r.Passkeys.Rename(r.Context(), r.by, passkeyID(r), r.match, in.Name)
	if err != nil {
		return reply{}, err
	}
	return ok(toPasskey(k)).withRevision(k.Revision), nil
}

func removePasskey(r *request) (reply, error) {
	return noContent, r.Passkeys.Remove(r.Context(), r.by, passkeyID(r), r.match)
}
