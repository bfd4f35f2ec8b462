package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// withoutOwnSession reports whether a caller has no session, or one that an API key opened.
func withoutOwnSession(c *testCaller) bool { return !c.session || !c.jwt }

// callerNamed returns a caller of the authorization table.
func (h *testWorkspace) callerNamed(name string) *testCaller {
	for _, c := range h.callers {
		if c.name == name {
			return c
		}
	}
	panic("no caller is " + name)
}

// passkeyOf adds a passkey to the account of a client with a session on a host, and returns its id.
func (h *testWorkspace) passkeyOf(t *testing.T, c *client, host string) (a *fixture.Authenticator, id string) {
	t.Helper()
	name := strings.TrimPrefix(host, "Host: ")
	a = fixture.NewAuthenticator(t, name, "https://"+name)
	return a, c.addsPasskey(t, a, fmt.Sprint("passkey ", people.Add(1)), host)
}

// prunePasskeys removes old passkeys of the guest before there are too many.
func (h *testWorkspace) prunePasskeys(t *testing.T) {
	t.Helper()
	existing := h.sessions.byLink.get(t, myPasskeys+"?limit=100", onRed).each(t, "id") // newest first
	if len(existing) < account.MaxPasskeys-2 {
		return
	}
	for _, id := range existing[2:] {
		h.sessions.byLink.do(t, "DELETE", myPasskeys+"/"+id, nil, onRed).is(t, 204)
	}
}

// withPasskey is an example on a new passkey of the guest, or only for a caller who has one.
func withPasskey(inPath bool, body any) example {
	return example{make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		position := target{body: body}
		if !inPath && withoutOwnSession(c) {
			return position
		}
		h.prunePasskeys(t)
		h.passkeyOf(t, h.sessions.byLink, onRed) // so that the other one is not the last
		_, id := h.passkeyOf(t, h.sessions.byLink, onRed)
		if inPath {
			position.ids = []string{id}
		}
		return position
	}}
}

// passkeyToSignIn is an example where a passkey of blue's owner signs in; red has its own sign-in.
func passkeyToSignIn(t *testing.T, h *testWorkspace, c *testCaller) target {
	if c.host != onBlue {
		return target{body: object{"credential": object{}}}
	}
	in, _ := h.opens(t, h.link(t, h.blue.email, "--org", "blue"), onBlue)
	a, _ := h.passkeyOf(t, in, onBlue)
	options := h.anonymous().do(t, "POST", passkeySignIn+passkeyOptions, nil, onBlue).publicKey(t)
	return target{body: object{"credential": a.Sign(t, options)}}
}

// passkeyToStepUp is an example where a passkey of the guest confirms the session.
func passkeyToStepUp(t *testing.T, h *testWorkspace, c *testCaller) target {
	if withoutOwnSession(c) {
		return target{body: object{"credential": object{}}}
	}
	h.prunePasskeys(t)
	a, _ := h.passkeyOf(t, h.sessions.byLink, onRed)
	options := h.sessions.byLink.do(t, "POST", passkeyStepUp+passkeyOptions, nil, onRed).publicKey(t)
	return target{body: object{"credential": a.Sign(t, options)}}
}

// passkeyToAdd is an example that adds a passkey of the guest.
func passkeyToAdd(t *testing.T, h *testWorkspace, c *testCaller) target {
	if withoutOwnSession(c) {
		return target{body: object{"name": "New", "credential": object{}}}
	}
	h.prunePasskeys(t)
	a := fixture.NewAuthenticator(t, "red.example.com", "https://red.example.com")
	options := h.sessions.byLink.do(t, "POST", myPasskeys+passkeyOptions, nil, onRed).publicKey(t)
	return target{body: object{"name": "New", "credential": a.Create(t, options)}}
}

// transferred is an example that makes another owner the owner, who then gives the workspace back.
func transferred() example {
	return example{
		make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
			if h.deputy == nil {
				h.deputy = h.user(t, "owner", "--org", "red")
			}
			return target{ids: []string{h.workspace}, body: object{"user_id": h.deputy.id}}
		},
		after: func(t *testing.T, h *testWorkspace) {
			members := "/api/workspaces/" + h.workspace + "/members/"
			h.deputy.do(t, "PATCH", members+h.owner.id, object{"role": "owner"}, onRed).is(t, 200)
			h.owner.do(t, "DELETE", members+h.deputy.id, nil, onRed).is(t, 204)
			h.deputy = nil
		},
	}
}
