package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	myPasskeys     = "/api/me/passkeys"
	passkeySignIn  = "/api/auth/passkeys"
	passkeyStepUp  = "/api/auth/step-up"
	passkeyOptions = "/challenge"
)

// onLocalhost is the name of a server's host for passkeys, which IP addresses cannot have.
func (s *server) onLocalhost() string { return "Host: localhost:" + s.port() }

// publicKey returns the options of a response for an authenticator.
func (a *answer) publicKey(t *testing.T) map[string]any {
	t.Helper()
	options, ok := a.is(t, 200).value("public_key")
	if !ok {
		t.Fatalf("no options: %s", a)
	}
	return options.(object)
}

// authenticator returns one for the pages of s on localhost.
func (s *server) authenticator(t *testing.T) *fixture.Authenticator {
	t.Helper()
	return fixture.NewAuthenticator(t, "localhost", "http://localhost:"+s.port())
}

// addsPasskey adds the passkey of an authenticator to the account of a client with a session, and returns its id.
func (c *client) addsPasskey(t *testing.T, a *fixture.Authenticator, name string, headers ...string) string {
	t.Helper()
	options := c.do(t, "POST", myPasskeys+passkeyOptions, nil, headers...).publicKey(t)
	return c.create(t, myPasskeys, object{"name": name, "credential": a.Create(t, options)}, headers...).at("id")
}

// signsIn opens a session by a passkey.
func (s *server) signsIn(t *testing.T, a *fixture.Authenticator, headers ...string) *answer {
	t.Helper()
	options := s.anonymous().do(t, "POST", passkeySignIn+passkeyOptions, nil, headers...).publicKey(t)
	return s.anonymous().do(t, "POST", passkeySignIn, object{"credential": a.Sign(t, options)}, headers...)
}

// session returns the client of a session that a opened, and the session's id.
func (a *answer) session(t *testing.T, s *server) (in *client, id string) {
	t.Helper()
	c, err := http.ParseSetCookie(a.is(t, 201).header.Get("Set-Cookie"))
	require.NoError(t, err)
	return &client{server: s, cookie: c.Name + "=" + c.Value, proof: a.at("proof")}, a.at("session.id")
}

func TestPasskeys(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, set("server.rate_limit.sign_ins_per_minute", "1000"))
		ann, at := s.user(t, "owner"), s.onLocalhost()
		in, _ := s.opens(t, s.link(t, ann.email), at)
		laptop := s.authenticator(t)
		laptop.Counts = true
		id := in.addsPasskey(t, laptop, "Laptop", at)
		trail := func(subject string) []string {
			t.Helper()
			return ann.get(t, "/api/events?subject="+subject).each(t, "type")
		}
		invalid := func(a *answer) { t.Helper(); a.problem(t, 401, "passkey_invalid") }

		t.Run("a passkey signs in without a name", func(t *testing.T) {
			s.anonymous().get(t, "/api/auth/methods", at).has(t, map[string]string{"passkeys": "true"})
			s.anonymous().get(t, "/api/auth/methods").has(t, map[string]string{"passkeys": "false"}) // on 127.0.0.1
			a := s.signsIn(t, laptop, at)
			session, sessionID := a.session(t, s)
			session.get(t, "/api/me", at).has(t, map[string]string{"user.id": ann.id})
			session.get(t, mySessions+"/"+sessionID, at).has(t, map[string]string{"source": "passkey"})
			ann.get(t, "/api/events?type=session.started&subject="+sessionID).has(t,
				map[string]string{"data.0.data.source": "passkey"})
			in.get(t, myPasskeys+"/"+id, at).has(t, map[string]string{"name": "Laptop", "host": "localhost",
				"synced": "false", "revision": "1"})
		})
		t.Run("sessions end with the passkey that opened them, unless they are kept", func(t *testing.T) {
			for query, status := range map[string]int{"": 401, "?keep_sessions=true": 200} {
				bob := s.user(t, "member")
				own, _ := s.opens(t, s.link(t, bob.email), at)
				phone, tablet := s.authenticator(t), s.authenticator(t)
				lost := own.addsPasskey(t, phone, "Phone", at)
				own.addsPasskey(t, tablet, "Tablet", at)
				stolen, _ := s.signsIn(t, phone, at).session(t, s)
				other, _ := s.signsIn(t, tablet, at).session(t, s)
				stolen.get(t, "/api/me", at)
				own.do(t, "DELETE", myPasskeys+"/"+lost+query, nil, at).is(t, 204)
				s.await(t, func() bool { return stolen.do(t, "GET", "/api/me", nil, at).status == status })
				for _, stays := range []*client{own, other} {
					stays.get(t, "/api/me", at)
				}
			}
		})
		t.Run("a challenge works once, and a response only for its purpose, host and server", func(t *testing.T) {
			options := s.anonymous().do(t, "POST", passkeySignIn+passkeyOptions, nil, at).publicKey(t)
			response := object{"credential": laptop.Sign(t, options)}
			s.anonymous().do(t, "POST", passkeySignIn, response, at).is(t, 201)
			invalid(s.anonymous().do(t, "POST", passkeySignIn, response, at))
			forStepUp := in.do(t, "POST", passkeyStepUp+passkeyOptions, nil, at).publicKey(t)
			invalid(s.anonymous().do(t, "POST", passkeySignIn, object{"credential": laptop.Sign(t, forStepUp)}, at))
			options = s.anonymous().do(t, "POST", passkeySignIn+passkeyOptions, nil, at).publicKey(t)
			in.do(t, "POST", passkeyStepUp, object{"credential": laptop.Sign(t, options)}, at).
				problem(t, 409, "passkey_refused")
			values := options
			values["challenge"] = strings.Repeat("A", 64)
			invalid(s.anonymous().do(t, "POST", passkeySignIn, object{"credential": laptop.Sign(t, values)}, at))
			invalid(s.anonymous().do(t, "POST", passkeySignIn, object{"credential": object{}}, at))
			invalid(s.signsIn(t, s.authenticator(t), at))
			nameless := laptop.Sign(t, s.anonymous().do(t, "POST", passkeySignIn+passkeyOptions, nil, at).publicKey(t))
			nameless["response"].(map[string]any)["userHandle"] = nil
			invalid(s.anonymous().do(t, "POST", passkeySignIn, object{"credential": nameless}, at))
		})
		t.Run("what cannot be undone needs a new session or a passkey", func(t *testing.T) {
			owner := s.user(t, "owner", "--workspace", fmt.Sprint("w", people.Add(1)))
			bob := s.user(t, "member")
			old, oldID := s.opens(t, s.link(t, owner.email), at)
			key := s.authenticator(t)
			old.addsPasskey(t, key, "Key", at)
			workspace := "/api/workspaces/" + owner.workspace
			s.sql(t, `UPDATE sessions SET created_at = created_at - 601000000 WHERE id = '`+oldID+`'`)
			for starts := 0; ; starts++ { // until the node has forgotten the session as it was
				if a := old.do(t, "DELETE", workspace, nil, at, `If-Match: "999-none"`); a.status == 403 {
					break
				} else if starts > 3000 {
					t.Fatal(a)
				}
			}
			transfer := object{"user_id": bob.id}
			old.do(t, "DELETE", workspace, nil, at).problem(t, 403, "step_up_required")
			old.do(t, "POST", workspace+"/transfer", transfer, at).problem(t, 403, "step_up_required")
			old.do(t, "POST", myPasskeys+passkeyOptions, nil, at).problem(t, 403, "step_up_required")
			old.do(t, "POST", myPasskeys, object{"name": "x", "credential": object{}}, at).
				problem(t, 403, "step_up_required")
			ownText := old.get(t, myPasskeys, at).each(t, "id")[0]
			old.do(t, "DELETE", myPasskeys+"/"+ownText, nil, at).problem(t, 403, "step_up_required")
			options := old.do(t, "POST", passkeyStepUp+passkeyOptions, nil, at).publicKey(t)
			old.do(t, "POST", passkeyStepUp, object{"credential": laptop.Sign(t, options)}, at).
				problem(t, 409, "passkey_refused") // of another person
			old.do(t, "POST", passkeyStepUp, object{"credential": key.Sign(t, options)}, at).is(t, 200)
			old.do(t, "POST", passkeyStepUp, object{"credential": key.Sign(t, options)}, at).
				problem(t, 409, "passkey_refused") // a second time
			old.do(t, "DELETE", workspace, nil, at).is(t, 204)
			if got := trail(oldID); len(got) > 0 {
				t.Errorf("another workspace has the events %v", got)
			}
		})
		t.Run("people rename and remove their passkeys, not those of others", func(t *testing.T) {
			bob := s.user(t, "member")
			hisClient, _ := s.opens(t, s.link(t, bob.email), at)
			phone := s.authenticator(t)
			phoneID := hisClient.addsPasskey(t, phone, "Phone", at)
			for _, method := range []string{"GET", "DELETE"} {
				hisClient.do(t, method, myPasskeys+"/"+id, nil, at).problem(t, 404, "passkey_not_found")
			}
			hisClient.do(t, "PATCH", myPasskeys+"/"+id, object{"name": "Mine"}, at).problem(t, 404, "passkey_not_found")
			hisClient.do(t, "PATCH", myPasskeys+"/"+phoneID, object{"name": "Old phone"}, at).is(t, 200).
				has(t, map[string]string{"name": "Old phone", "revision": "2"})
			hisClient.do(t, "DELETE", myPasskeys+"/"+phoneID, nil, at).problem(t, 409, "last_passkey")
			options := hisClient.do(t, "POST", myPasskeys+passkeyOptions, nil, at).publicKey(t)
			hisClient.do(t, "POST", myPasskeys, object{"name": "Twice", "credential": phone.Create(t, options)}, at).
				problem(t, 409, "passkey_exists")
			hisClient.do(t, "POST", myPasskeys, object{"name": "Nothing", "credential": object{}}, at).
				problem(t, 409, "passkey_refused")
			hisClient.addsPasskey(t, s.authenticator(t), "Another", at)
			hisClient.do(t, "DELETE", myPasskeys+"/"+phoneID, nil, at).is(t, 204)
			invalid(s.signsIn(t, phone, at))
			assert.EqualSlice(t, "passkeys", hisClient.get(t, myPasskeys, at).each(t, "name"), []string{"Another"})
			assert.EqualSlice(t, "events", trail(phoneID), []string{"passkey.removed", "passkey.renamed",
				"passkey.added"})
		})
		t.Run("API keys and their sessions manage none", func(t *testing.T) {
			byKey, _ := s.opens(t, ann.token, at)
			for _, c := range []*client{ann, byKey} {
				c.do(t, "GET", myPasskeys, nil, at).problem(t, 403, "session_required")
				c.do(t, "POST", passkeyStepUp+passkeyOptions, nil, at).problem(t, 403, "session_required")
			}
		})
		t.Run("an authenticator whose counter goes back is reported", func(t *testing.T) {
			laptop.Count = 1
			s.signsIn(t, laptop, at).is(t, 201)
			if got := trail(id); got[0] != "passkey.clone_suspected" {
				t.Errorf("events %v", got)
			}
		})
		t.Run("at most 20, and none on an IP address", func(t *testing.T) {
			bob := s.user(t, "member")
			his, _ := s.opens(t, s.link(t, bob.email), at)
			his.do(t, "POST", passkeyStepUp+passkeyOptions, nil, at).problem(t, 404, "passkey_not_found")
			for i := range 20 {
				his.addsPasskey(t, s.authenticator(t), fmt.Sprint(i), at)
			}
			options := his.do(t, "POST", myPasskeys+passkeyOptions, nil, at).publicKey(t)
			his.do(t, "POST", myPasskeys, object{"name": "x", "credential": s.authenticator(t).Create(t, options)}, at).
				problem(t, 409, "quota_exceeded")
			for path, body := range map[string]any{
				myPasskeys + passkeyOptions: nil, passkeyStepUp + passkeyOptions: nil,
				myPasskeys:    object{"name": "x", "credential": object{}},
				passkeyStepUp: object{"credential": object{}}, passkeySignIn: object{"credential": object{}},
				passkeySignIn + passkeyOptions: nil,
			} {
				his.do(t, "POST", path, body).problem(t, 409, "passkeys_unavailable")
			}
		})
		t.Run("a disabled person has no passkey", func(t *testing.T) {
			bob := s.user(t, "member")
			hisClient, _ := s.opens(t, s.link(t, bob.email), at)
			phone := s.authenticator(t)
			hisClient.addsPasskey(t, phone, "Phone", at)
			s.signsIn(t, phone, at).is(t, 201)
			s.must(t, "user", "disable", "--email", bob.email)
			invalid(s.signsIn(t, phone, at))
			s.must(t, "user", "enable", "--email", bob.email)
			s.signsIn(t, phone, at).is(t, 201)
		})
	})
}

func TestPasskeySignInIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("server.rate_limit.sign_ins_per_minute", "3"), configured(`
orgs:
  - {slug: a, hosts: [a.example.com], base_url: "http://a.example.com"}
  - {slug: b, hosts: [localhost]}
`))
	const onA = "Host: a.example.com"
	path, body := s.onLocalhost(), object{"credential": object{}}
	s.anonymous().do(t, "POST", passkeySignIn+passkeyOptions, nil, onA).problem(t, 403, "https_required")
	s.anonymous().do(t, "POST", passkeySignIn+passkeyOptions+"?x=1", nil, onA).problem(t, 400, "unknown_parameter")
	s.anonymous().do(t, "POST", passkeySignIn, body, onA).problem(t, 403, "https_required")
	s.anonymous().do(t, "POST", passkeySignIn, body, path, "Sec-Fetch-Site: cross-site").problem(t, 403, "cross_origin")
	s.anonymous().do(t, "POST", passkeySignIn, `{"credential"`, path).problem(t, 400, "malformed_json")
	for range 3 {
		s.anonymous().do(t, "POST", passkeySignIn, body, path).problem(t, 401, "passkey_invalid")
	}
	refusal := s.anonymous().do(t, "POST", passkeySignIn, body, path).problem(t, 429, "rate_limited")
	if refusal.header.Get("Retry-After") == "" {
		t.Errorf("headers %v", refusal.header)
	}
}
