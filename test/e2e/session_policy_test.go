package e2e

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// needsFactor checks that a caller lacks the second factor that the org requires for the caller's role.
func (c *client) needsFactor(t *testing.T, headers ...string) {
	t.Helper()
	c.get(t, "/api/me", headers...).has(t, map[string]string{"second_factor_required": "true"})
	c.do(t, "GET", templates, nil, headers...).problem(t, 403, "second_factor_required")
	c.do(t, "POST", templates, object{"name": "x"}, headers...).problem(t, 403, "second_factor_required")
}

// showedFactor checks that a caller lacks nothing.
func (c *client) showedFactor(t *testing.T, headers ...string) {
	t.Helper()
	c.get(t, "/api/me", headers...).has(t, map[string]string{"second_factor_required": "false"})
	c.get(t, templates, headers...)
}

// stepsUp confirms the session of c with a passkey.
func (c *client) stepsUp(t *testing.T, a *fixture.Authenticator, headers ...string) {
	t.Helper()
	options := c.do(t, "POST", passkeyStepUp+passkeyOptions, nil, headers...).publicKey(t)
	c.do(t, "POST", passkeyStepUp, object{"credential": a.Sign(t, options)}, headers...).is(t, 200)
}

const passkeysOfAdmins = `
orgs:
  - slug: default
    base_url: http://localhost
    sessions: {require_passkey: admin, idle: 15m, lifetime: 8h}
`

func TestAnOrgRequiresPasskeys(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured(passkeysOfAdmins), set("server.rate_limit.sign_ins_per_minute", "1000"))
		local := s.onLocalhost()
		ann := s.user(t, "owner")

		t.Run("a session without one is led to it, and then works", func(t *testing.T) {
			in, _ := s.opens(t, s.link(t, ann.email), local)
			in.needsFactor(t, local)
			in.do(t, "GET", "/api/events/stream", nil, local, "Accept: text/event-stream").
				problem(t, 403, "second_factor_required")
			for _, path := range []string{"/api/me/access", mySessions, myPasskeys, "/api/workspaces"} {
				in.get(t, path, local)
			}
			laptop, phone := s.authenticator(t), s.authenticator(t)
			id := in.addsPasskey(t, laptop, "Laptop", local)
			in.needsFactor(t, local)
			in.do(t, "POST", myPasskeys+passkeyOptions, nil, local).problem(t, 403, "second_factor_required")
			in.do(t, "DELETE", myPasskeys+"/"+id, nil, local).problem(t, 403, "second_factor_required")
			in.stepsUp(t, laptop, local)
			in.showedFactor(t, local)
			in.addsPasskey(t, phone, "Phone", local)
			byPasskey, _ := s.signsIn(t, phone, local).session(t, s)
			byPasskey.showedFactor(t, local)
			other, _ := s.opens(t, s.link(t, ann.email), local)
			other.needsFactor(t, local)
		})
		t.Run("lower roles need none, until they rise", func(t *testing.T) {
			bob := s.user(t, "member")
			in, _ := s.opens(t, s.link(t, bob.email), local)
			in.showedFactor(t, local)
			stream := in.streamOf(t, "/api/events/stream", "")
			ann.do(t, "PATCH", "/api/workspaces/"+ann.workspace+"/members/"+bob.id, object{"role": "admin"}).is(t, 200)
			stream.ends(time.Second)
			in.needsFactor(t, local)
		})
		t.Run("the role in the workspace that a path names counts", func(t *testing.T) {
			eve := s.user(t, "owner")
			eve.create(t, "/api/workspaces", object{"name": "Second", "slug": "second"})
			in, _ := s.opens(t, s.link(t, eve.email), local) // in two workspaces, and names none
			in.do(t, "PATCH", "/api/workspaces/"+eve.workspace, object{"name": "x"}, local, "If-Match: *").
				problem(t, 403, "second_factor_required")
		})
		t.Run("operators need one, whatever their role", func(t *testing.T) {
			operator := s.user(t, "viewer", "--operator")
			in, _ := s.opens(t, s.link(t, operator.email), local)
			in.needsFactor(t, local)
			in.do(t, "GET", "/api/people", nil, local).problem(t, 403, "second_factor_required")
		})
		t.Run("API keys need none, and the sessions that they open do", func(t *testing.T) {
			ann.showedFactor(t)
			in, _ := s.opens(t, ann.token, local)
			in.needsFactor(t, local)
		})
		t.Run("a person who has lost the passkey starts again", func(t *testing.T) {
			carl := s.user(t, "admin")
			in, _ := s.opens(t, s.link(t, carl.email), local)
			in.addsPasskey(t, s.authenticator(t), "Lost", local)
			in.do(t, "POST", myPasskeys+passkeyOptions, nil, local).problem(t, 403, "second_factor_required")
			out := s.must(t, "user", "reset-passkeys", "--email", carl.email)
			assert.Contains(t, "the command wrote", out, "that were removed: 1")
			s.await(t, func() bool { return in.do(t, "GET", "/api/me", nil, local).status == 401 })
			in, _ = s.opens(t, s.link(t, carl.email), local)
			phone := s.authenticator(t)
			in.addsPasskey(t, phone, "New", local)
			in.stepsUp(t, phone, local)
			in.showedFactor(t, local)
		})
		t.Run("sessions end as the org requires", func(t *testing.T) {
			in, id := s.opens(t, s.link(t, s.user(t, "member").email), local)
			current := in.get(t, mySessions+"/"+id, local)
			lastSeen, err := time.Parse(time.RFC3339Nano, current.at("last_seen_at"))
			require.NoError(t, err)
			expires, err := time.Parse(time.RFC3339Nano, current.at("expires_at"))
			require.NoError(t, err)
			assert.Equal(t, "it may be idle for", expires.Sub(lastSeen), 15*time.Minute)
			s.sql(t, fmt.Sprintf(`UPDATE sessions SET created_at = created_at - %d WHERE id = '%s'`,
				(8*time.Hour).Microseconds(), id))
			s.await(t, func() bool { return in.do(t, "GET", "/api/me", nil, local).status == 401 })
		})
	})
}

func TestAProviderProvesASecondFactor(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		p, strict := fixture.NewProvider(t), fixture.NewProvider(t)
		d := deployMigrated(t, engine, set("server.rate_limit.sign_ins_per_minute", "1000"))
		file := filepath.Join(d.folder, "scim-token")
		require.NoError(t, os.WriteFile(file, []byte(directoryToken+"\n"), 0o600))
		settings := clientOf(t, strict, "strict")
		configured(fmt.Sprintf(`
orgs:
  - slug: default
    sign_up: claims
    issuers:
      - {url: %q, audiences: [atrium], trust_email: true, second_factor: [{claim: amr, value: mfa}], client: %s}
      - {url: %q, audiences: [atrium], trust_email: true, client: %s}
    scim: {tokens: ['file:%s']}
    claim_rules: [{issuer: scim, claim: groups, value: Admins, workspace: default, role: admin}]
    sessions: {require_passkey: admin}
`, p.URL, clientOf(t, p, "main"), strict.URL, settings[:len(settings)-1]+`, max_age: 1h, acr_values: [high]}`,
			file))(d)
		s := d.start(t)
		ann := s.user(t, "owner")
		signIn := func(claims object) *client {
			t.Helper()
			claims["email"] = ann.email
			p.SignIn(claims)
			return s.signsInAt(t, "main")
		}

		t.Run("of a session", func(t *testing.T) {
			signIn(object{}).needsFactor(t)
			signIn(object{"amr": []string{"pwd"}}).needsFactor(t)
			signIn(object{"amr": []string{"pwd", "mfa"}}).showedFactor(t)
		})
		t.Run("of a token", func(t *testing.T) {
			claims := p.Issuer.Claims("atrium", time.Now())
			claims["email"] = ann.email
			bearer := &client{server: s, token: p.Token(claims), workspace: ann.workspace}
			bearer.needsFactor(t)
			claims["amr"] = []string{"mfa"}
			bearer.token = p.Token(claims)
			bearer.showedFactor(t)
		})
		t.Run("of a person in a directory", func(t *testing.T) {
			scimmer := &client{server: s, token: directoryToken}
			eve := scimmer.do(t, "POST", scimUsers, scimUser("eve@example.com")).is(t, 201).at("id")
			scimmer.do(t, "POST", scimGroup, object{"schemas": []string{
				"urn:ietf:params:scim:schemas:core:2.0:Group"}, "displayName": "Admins",
				"members": []object{{"value": eve}}}).is(t, 201)
			p.SignIn(object{"email": "eve@example.com", "sub": "eve-1"})
			s.signsInAt(t, "main").needsFactor(t)
			p.SignIn(object{"email": "eve@example.com", "sub": "eve-1", "amr": []string{"mfa"}})
			s.signsInAt(t, "main").showedFactor(t)
		})
		t.Run("a session steps up at its provider", func(t *testing.T) {
			bob := s.user(t, "member")
			disable := "/api/people/" + bob.id + "/disable"
			operator := s.user(t, "owner", "--operator")
			mfa := object{"email": operator.email, "sub": "operator-1", "amr": []string{"mfa"},
				"auth_time": time.Now().Add(-time.Hour).Unix()}
			p.SignIn(mfa)
			in := s.signsInAt(t, "main") // by a sign-in at the provider an hour ago
			in.showedFactor(t)
			in.do(t, "POST", disable, nil).problem(t, 403, "step_up_required")
			in.do(t, "PUT", "/api/people/"+bob.id+"/operator", object{"operator": true}).
				problem(t, 403, "step_up_required")
			in.do(t, "PUT", "/api/people/"+bob.id+"/operator", object{"operator": false}).is(t, 204)
			flow := s.begin(t, "main", "?max_age=0")
			s.returns(t, flow, nil).problem(t, 403, "insufficient_user_authentication")
			s.returns(t, s.begin(t, "main", "?max_age=0"), nil, asBrowser).at303(t,
				"/console/sign-in#error=insufficient_user_authentication")
			mfa["auth_time"] = time.Now().Unix()
			p.SignIn(mfa)
			in = s.signsInAt(t, "main?max_age=0")
			in.do(t, "PUT", "/api/people/"+bob.id+"/operator", object{"operator": true}).is(t, 204)
			in.do(t, "POST", disable, nil).is(t, 204)
		})
		t.Run("the provider is asked for what the org requires, and must report it", func(t *testing.T) {
			location := s.anonymous().do(t, "GET", "/api/auth/oidc/strict?max_age=7200", nil).is(t, 303).
				header.Get("Location")
			address, err := url.Parse(location)
			require.NoError(t, err)
			assert.Equal(t, "max_age", address.Query().Get("max_age"), "3600")
			assert.Equal(t, "acr_values", address.Query().Get("acr_values"), "high")
			recent := time.Now().Unix()
			for _, claims := range []object{{}, {"auth_time": recent}, {"acr": "high"},
				{"acr": "high", "auth_time": recent - 7200}, {"acr": "low", "auth_time": recent}} {
				claims["email"] = ann.email
				strict.SignIn(claims)
				s.returns(t, s.begin(t, "strict", ""), nil).problem(t, 403, "insufficient_user_authentication")
			}
			strict.SignIn(object{"email": ann.email, "acr": "high", "auth_time": recent})
			s.signsInAt(t, "strict").needsFactor(t) // this issuer's tokens prove none
		})
	})
}

// at303 checks where a response sends the browser.
func (a *answer) at303(t *testing.T, location string) {
	t.Helper()
	assert.Equal(t, "the browser is sent to", a.is(t, 303).header.Get("Location"), location)
}
