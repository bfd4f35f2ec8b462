package e2e

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/require"
)

// passkeyPage is what a page does with a sign-in link: it adds a passkey, signs out, signs in with the passkey, and
// confirms the session. It returns the statuses, and who signed in.
const passkeyPage = `(async (token) => {
	let proof = ''
	const api = async (method, path, body) => {
		const r = await fetch(path, {method, body: body && JSON.stringify(body),
			headers: {'Content-Type': 'application/json', 'Atrium-Console': proof}})
		const text = await r.text()
		return {status: r.status, body: text ? JSON.parse(text) : null}
	}
	const parse = PublicKeyCredential
	const opened = await api('POST', '/api/auth/sessions', {token})
	proof = opened.body.proof
	let challenge = await api('POST', '/api/me/passkeys/challenge')
	let publicKey = parse.parseCreationOptionsFromJSON(challenge.body.public_key)
	let credential = await navigator.credentials.create({publicKey})
	const added = await api('POST', '/api/me/passkeys', {name: 'Chromium', credential: credential.toJSON()})
	const out = await api('DELETE', '/api/auth/session')
	proof = ''
	challenge = await api('POST', '/api/auth/passkeys/challenge')
	publicKey = parse.parseRequestOptionsFromJSON(challenge.body.public_key)
	credential = await navigator.credentials.get({publicKey})
	const back = await api('POST', '/api/auth/passkeys', {credential: credential.toJSON()})
	proof = back.body.proof
	const me = await api('GET', '/api/me')
	challenge = await api('POST', '/api/auth/step-up/challenge')
	publicKey = parse.parseRequestOptionsFromJSON(challenge.body.public_key)
	credential = await navigator.credentials.get({publicKey})
	const confirmed = await api('POST', '/api/auth/step-up', {credential: credential.toJSON()})
	return {statuses: [opened, added, out, back, me, confirmed].map(a => a.status), user: me.body.user?.id}
})`

// hasAuthenticator gives a tab an authenticator whose user is always present, and returns its id.
func hasAuthenticator(
	ctx context.Context, t *testing.T, transport webauthn.AuthenticatorTransport,
) webauthn.AddVirtualAuthenticatorResult {
	t.Helper()
	added, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: transport,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		},
	})
	require.NoError(t, err)
	return added
}

func TestAPersonIsLedToTheSecondFactor(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, configured(passkeysOfAdmins))
	ann, host := s.user(t, "owner"), "http://localhost:"+s.port()
	ctx, _ := tab(t, browser(t), host+"/console/sign-in#token="+s.link(t, ann.email))
	if _, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	hasAuthenticator(ctx, t, webauthn.AuthenticatorTransportInternal)
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "Your organisation requires a passkey")
	reads(ctx, t, "You have no passkey yet.")
	keep(ctx, t, "console-second-factor")
	presses(ctx, t, "Sign in again") // leads to the ways to sign in, and not to the person's session
	reads(ctx, t, "Sign in with a passkey")
	drive(ctx, t, chromedp.Navigate(host+"/console/"))
	reads(ctx, t, "You have no passkey yet.")
	clicks(ctx, t, "[data-second-factor] a")
	types(ctx, t, `[name=name]`, "Laptop")
	presses(ctx, t, "Add")
	presses(ctx, t, "Confirm with a passkey")
	drive(ctx, t, poll[bool](`document.querySelector('[data-second-factor]') === null`))
	drive(ctx, t, chromedp.Navigate(host+"/console/w/default/prompts"))
	reads(ctx, t, "There are no prompts yet.")
}

func TestABrowserSignsInWithAPasskey(t *testing.T) {
	onEach(t, signInWithAPasskey)
}

func signInWithAPasskey(t *testing.T, engine string) {
	s := start(t, engine)
	ann := s.user(t, "member")
	ctx, _ := tab(t, browser(t), "http://localhost:"+s.port()+"/console/sign-in")
	if _, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	hasAuthenticator(ctx, t, webauthn.AuthenticatorTransportInternal)
	token, err := json.Marshal(s.link(t, ann.email))
	require.NoError(t, err)
	got := drive(ctx, t, chromedp.Evaluate[struct {
		Statuses [6]int `json:"statuses"`
		User     string `json:"user"`
	}](passkeyPage+"("+string(token)+")", chromedp.EvalAwaitPromise))
	if want := [6]int{201, 201, 204, 201, 200, 200}; got.Statuses != want || got.User != ann.id {
		t.Errorf("the page got %+v, want %v of %s", got, want, ann.id)
	}
	// The page to sign in offers it, too.
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`localStorage.clear()`))
	drive(ctx, t, chromedp.Navigate("http://localhost:"+s.port()+"/console/sign-in"))
	drive(ctx, t, chromedp.Click(`#by-passkey`))
	reads(ctx, t, "Prompts")
	if proof := drive(ctx, t, chromedp.Evaluate[string](`localStorage.getItem('atrium_proof') ?? ''`)); proof == "" {
		t.Error("the console opened without the proof of a session")
	}
	// Another one is added in the console, by another authenticator.
	key := hasAuthenticator(ctx, t, webauthn.AuthenticatorTransportUsb)
	drive(ctx, t, chromedp.Navigate("http://localhost:"+s.port()+"/console/w/default/settings/passkeys"))
	reads(ctx, t, "Chromium")
	types(ctx, t, `[name=name]`, "Security key")
	presses(ctx, t, "Add")
	drive(ctx, t, poll[bool](`document.querySelector('tbody')?.innerText.includes('Security key')`))
	keep(ctx, t, "console-passkeys")
	// The session becomes too old to remove it, and the first passkey confirms the session.
	if _, err := chromedp.Call(ctx, webauthn.RemoveVirtualAuthenticator,
		webauthn.RemoveVirtualAuthenticatorParams(key)); err != nil {
		t.Fatal(err)
	}
	s.sql(t, `UPDATE sessions SET created_at = created_at - 601000000`)
	awaits(t, "the server knows that the session is old", s, func() bool {
		return drive(ctx, t, chromedp.Evaluate[int](`fetch('/api/me/passkeys/challenge', {method: 'POST',
			headers: {'Atrium-Console': localStorage.getItem('atrium_proof')}}).then((r) => r.status)`,
			chromedp.EvalAwaitPromise)) == 403
	})
	presses(ctx, t, "Remove") // the newest
	reads(ctx, t, "The other sessions that it opened end.")
	drive(ctx, t, chromedp.Click(`[role=dialog] [type=checkbox]`)) // to keep them
	confirms(ctx, t)
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null &&
		!document.querySelector('tbody').innerText.includes('Security key')`))
	if !drive(ctx, t, chromedp.Evaluate[bool](`performance.getEntriesByType('resource')
		.some((request) => request.name.includes('keep_sessions=true'))`)) {
		t.Error("the console did not ask to keep the sessions")
	}
}
