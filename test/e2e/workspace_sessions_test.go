package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sessionsapp "github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	openSessions = "/api/auth/sessions"
	mySessions   = "/api/me/sessions"
)

// link creates a sign-in link, and returns its token. The flags are those of the command console.
func (d *deployment) link(t *testing.T, email string, flags ...string) (token string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := d.provisions(ctx, grantOf(t, "console", flags).org, func(
		s ports.Stores, by identity.Actor, _ *identity.Org,
	) error {
		service := sessionsapp.NewService(s.Atomic, s.Sessions, s.Keys, s.Users, nil, nil)
		newToken, _, err := service.LinkFor(ctx, by, email)
		token = newToken.Reveal()
		return err
	})
	if err == nil {
		return token
	}
	out := d.must(t, append([]string{"console", "--json", "--email", email}, flags...)...)
	var newCase struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(out), &newCase); err != nil {
		t.Fatalf("console --json wrote %q: %v", out, err)
	}
	_, token, isLink := strings.Cut(newCase.URL, "/console/sign-in#token=")
	if !isLink {
		t.Fatalf("the link is %q", newCase.URL)
	}
	return token
}

// opens opens a session with a token, and returns a client with both of its secrets, and its id.
func (s *server) opens(t *testing.T, token string, headers ...string) (in *client, id string) {
	t.Helper()
	a := s.anonymous().create(t, openSessions, object{"token": token}, headers...)
	cookies, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	require.NoError(t, err)
	in = &client{server: s, cookie: cookies.Name + "=" + cookies.Value, proof: a.at("proof"), id: a.at("user.id"),
		email: a.at("user.email")}
	return in, a.at("session.id")
}

// workspaceSessions are the callers of the authorization table with a session, of the guest or by a key of the owner.
// No example opens sessions by that key but its own callers': a key has few, and another one ends the oldest.
type workspaceSessions struct {
	byLink, byKey, noProof, othersProof, otherPort, expired *client
	key                                                     string
}

// signIn opens the sessions of the workspace.
func (h *testWorkspace) signIn(t *testing.T) *workspaceSessions {
	t.Helper()
	h.sessions = &workspaceSessions{
		byLink: &client{}, byKey: &client{}, noProof: &client{}, othersProof: &client{}, otherPort: &client{},
	}
	key, _ := h.owner.key(t, "--org", "red")
	h.sessions.key = key.token
	var id string
	h.sessions.expired, id = h.opens(t, h.owner.token, onRed)
	h.sql(t, `UPDATE sessions SET expires_at = 1 WHERE id = '`+id+`'`)
	h.signInAgain(t)
	return h.sessions
}

// signInAgain replaces those sessions of the workspace that have ended.
func (h *testWorkspace) signInAgain(t *testing.T) {
	t.Helper()
	in := h.sessions
	hasEnded := func(c *client) bool { return c.server == nil || c.do(t, "GET", "/api/me", nil, onRed).status == 401 }
	if hasEnded(in.byKey) {
		openedClient, _ := h.opens(t, in.key, onRed)
		*in.byKey = *openedClient
	}
	if hasEnded(in.byLink) {
		openedClient, _ := h.opens(t, h.link(t, h.guest.email, "--org", "red"), onRed)
		*in.byLink = *openedClient
	}
	in.byKey.workspace, in.byLink.workspace = h.workspace, h.workspace
	*in.noProof, *in.othersProof, *in.otherPort = *in.byLink, *in.byLink, *in.byLink
	in.noProof.proof, in.othersProof.proof = "", in.byKey.proof
	_, value, _ := strings.Cut(in.byLink.cookie, "=")
	in.otherPort.cookie = "atrium_session_8081=" + value
}

// sessionOf opens another session of a caller, or of the owner's key if the caller has no credential.
func (h *testWorkspace) sessionOf(t *testing.T, c *testCaller) (in *client, id string) {
	t.Helper()
	switch {
	case !c.known:
		return h.opens(t, h.owner.token, onRed)
	case c.jwt:
		return h.opens(t, h.link(t, c.email, "--org", "red"), onRed)
	case c.session:
		return h.opens(t, h.sessions.key, onRed)
	default:
		return h.opens(t, c.token, c.host)
	}
}

// withSession is an example on a new session of the caller.
func withSession() example {
	return example{each: true, make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		_, id := h.sessionOf(t, c)
		return target{ids: []string{id}}
	}}
}

// ownSession is an example whose caller shows a new session, if it has any.
func ownSession(t *testing.T, h *testWorkspace, c *testCaller) target {
	if !c.session {
		return target{}
	}
	var in *client
	if c.known && !c.jwt { // another session of the key would end one that a test has yet to use
		key, _ := h.owner.key(t, "--org", "red")
		in, _ = h.opens(t, key.token, onRed)
	} else {
		in, _ = h.sessionOf(t, c)
	}
	return target{headers: []string{"Cookie: " + in.cookie, "Atrium-Console: " + in.proof}}
}
