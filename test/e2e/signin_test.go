package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSignIn(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, "personal_workspaces: true")

		t.Run("the first token creates the user, with a workspace of their own", func(t *testing.T) {
			ann := r.person(t, "ann")
			me := ann.get(t, "/api/me").has(t, map[string]string{
				"user.email": "ann@example.com", "user.name": "Ann", "user.operator": "false", "role": "owner",
				"workspaces.0.my_role": "owner", "workspaces.1.id": "",
			})
			ownID := me.at("workspaces.0.id")
			ann.create(t, templates, object{"name": "first"})
			second := r.person(t, "ann")
			if second.id != ann.id || second.get(t, "/api/me").at("workspaces.0.id") != ownID {
				t.Errorf("another token makes somebody else of %s: %s", ann.id, second.get(t, "/api/me"))
			}
			if types := ann.get(t, "/api/events").each(t, "type"); strings.Join(types,
				" ") != "prompt_template.created user.signed_in user.created workspace.created" {
				t.Errorf("their trail is %q", types)
			}
		})
		t.Run("concurrent first sign-ins of one subject create one user", func(t *testing.T) {
			answers := make(chan *answer)
			for range 8 {
				go func() {
					a, err := r.bearer(r.token("at-once")).try(t, "GET", "/api/me", nil)
					if err != nil {
						a = &answer{text: err.Error()}
					}
					answers <- a
				}()
			}
			ids := map[string]bool{}
			for range 8 {
				a := <-answers
				if a.status != 200 {
					t.Error(a)
				}
				ids[a.at("user.id")+a.at("workspaces.0.id")] = true
			}
			if len(ids) != 1 {
				t.Errorf("there are %d of them", len(ids))
			}
		})
		t.Run("name and address follow the tokens", func(t *testing.T) {
			bob := r.person(t, "bob")
			r.again(bob, "bob", object{"name": "Bob B.", "email": "bob.b@example.com"}).get(t, "/api/me").
				has(t, map[string]string{"user.id": bob.id, "user.name": "Bob B.", "user.email": "bob.b@example.com"})
			r.again(bob, "bob", object{"name": nil, "email": "unverified@example.com", "email_verified": false}).get(t,
				"/api/me").
				has(t, map[string]string{"user.id": bob.id, "user.name": "Bob B.", "user.email": "bob.b@example.com"})
			r.again(bob, "bob", object{"email": "ANN@example.com"}).get(t, "/api/me"). // another user's address
													has(t, map[string]string{"user.id": bob.id,
					"user.email": "bob.b@example.com"})
		})
		t.Run("an account is joined by an address that is verified, and by no other", func(t *testing.T) {
			existing := r.user(t, "member")
			stranger := r.person(t, "stranger", object{"email": existing.email, "email_verified": false})
			unsaid := r.person(t, "unsaid", object{"email": existing.email, "email_verified": nil})
			for _, c := range []*client{stranger, unsaid} {
				if c.id == existing.id {
					t.Fatal("an address that nobody vouches for took an account over")
				}
				c.get(t, "/api/me").has(t, map[string]string{"user.email": "null"})
			}
			joinedClient := r.person(t, "known", object{"email": strings.ToUpper(existing.email)})
			joinedClient.get(t, "/api/me").has(t, map[string]string{"user.id": existing.id, "role": "member",
				"workspaces.0.slug": "default", "workspaces.1.id": ""})
			existing.get(t, "/api/me").has(t, map[string]string{"user.id": existing.id}) // the key goes on
			first := r.person(t, "first", object{"email": "owner@localhost"})
			first.get(t, "/api/me").has(t, map[string]string{"user.email": "null", "workspaces.0.my_role": "owner",
				"workspaces.1.id": ""})
			if first.get(t, "/api/me").at("workspaces.0.slug") == "default" {
				t.Error("the first start's owner was joined")
			}
			r.again(joinedClient, "known", object{"email": "renamed." + existing.email}).get(t, "/api/me").has(t,
				map[string]string{"user.id": existing.id})
		})
		t.Run("a second subject with another's address is another user, and the log says so once", func(t *testing.T) {
			carl := r.person(t, "carl")
			second := r.person(t, "carl-2", object{"email": carl.email})
			for range 2 {
				r.again(second, "carl-2", object{"email": carl.email}).get(t, "/api/me").has(t,
					map[string]string{"user.id": second.id, "user.email": "null"})
			}
			if second.id == carl.id || strings.Count(r.stderr.String(), "got a separate account") != 1 {
				t.Errorf("%s and %s; the log says\n%s", carl.id, second.id, r.stderr.String())
			}

			args := []string{"user", "link", "--email", carl.email, "--issuer", r.issuer.URL, "--json", "--subject"}
			for subject, from := range map[string]any{"carl-2": second.id, "carl-3": nil} {
				var out object
				if err := json.Unmarshal([]byte(r.must(t, append(args, subject)...)), &out); err != nil ||
					out["user_id"] != carl.id || out["taken_from"] != from {
					t.Errorf("linking %s: %v, %v", subject, out, err)
				}
			}
			r.person(t, "carl-3", object{"email": carl.email}).get(t, "/api/me").has(t,
				map[string]string{"user.id": carl.id})
			if out := r.run(t, "user", "link", "--email", carl.email, "--issuer", "https://evil.example.com",
				"--subject", "x"); out.code != 1 || !strings.Contains(out.stderr, "issuer: Must be") {
				t.Errorf("%+v", out)
			}
		})
		t.Run("the audit trail records sign-ins without token and address", func(t *testing.T) {
			r.leaves(t, []string{"user.created", "user.updated", "user.linked", "user.unlinked", "workspace.created"},
				"carl@", "ann@example.com", "bob.b@", "unverified@", "renamed.")
		})
	})
}

func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	issuer := fixture.NewIssuer(t, "ES256")
	retiredKey := issuer.Key()
	issuer.Rotate(fixture.NewSigningKey(t, "ES256", "key-2"))
	r := &realm{start(t, sqlite, forIssuer(issuer)), issuer}
	now := time.Now()
	call := func(d time.Duration) int64 { return now.Add(d).Unix() }
	sign := func(key fixture.SigningKey, header, extra object) string {
		h := object{"alg": key.Alg, "kid": key.ID, "typ": "JWT"}
		for k, v := range header {
			h[k] = v
		}
		return fixture.SignToken(t, h, r.claims("ann", extra), key.Private)
	}
	key, other := issuer.Key(), fixture.NewSigningKey(t, "ES256", issuer.Key().ID)
	rsa := fixture.NewSigningKey(t, "RS256", "key-2")
	public, err := json.Marshal(key.JWK())
	require.NoError(t, err)
	good := r.token("ann")
	r.bearer(good).get(t, "/api/me")
	refusal := r.bearer("unknown").do(t, "GET", "/api/me", nil, "Request-Id: same").problem(t, 401, "unauthenticated")
	if refusal.header.Get("WWW-Authenticate") == "" {
		t.Error("nothing says how to authenticate")
	}
	for name, token := range map[string]string{
		"none": fixture.SignToken(t, object{"alg": "none", "typ": "JWT"},
			r.claims("ann"), nil),
		"HS256 with the public key": fixture.SignToken(t, object{"alg": "HS256", "kid": key.ID},
			r.claims("ann"), public),
		"an algorithm that is not taken": fixture.SignToken(t, object{"alg": "RS512", "kid": rsa.ID}, r.claims("ann"), rsa.Private),
		"the algorithm of another key":   sign(rsa, nil, nil),
		"a key that is not published":    sign(other, nil, nil),
		"a key that brings itself":       sign(other, object{"jwk": other.JWK()}, nil),
		"an unknown kid":                 sign(key, object{"kid": "key-3"}, nil),
		"a key that was rotated out":     sign(retiredKey, nil, nil),
		"a critical extension":           sign(key, object{"crit": []string{"b64"}, "b64": true}, nil),
		"a token of another type":        sign(key, object{"typ": "logout+jwt"}, nil),
		"another audience":               r.token("ann", object{"aud": "another"}),
		"no audience":                    r.token("ann", object{"aud": nil}),
		"several audiences, no party":    r.token("ann", object{"aud": []string{"another", "atrium"}}),
		"several for another party":      r.token("ann", object{"aud": []string{"another", "atrium"}, "azp": "another"}),
		"another issuer":                 r.token("ann", object{"iss": "https://evil.example.com"}),
		"a final slash too many":         r.token("ann", object{"iss": issuer.URL + "/"}),
		"no subject":                     r.token("ann", object{"sub": ""}),
		"an expired one":                 r.token("ann", object{"exp": call(-2 * time.Minute)}),
		"one that never ends":            r.token("ann", object{"exp": nil}),
		"one that is not valid yet":      r.token("ann", object{"nbf": call(2 * time.Minute)}),
		"one from the future":            r.token("ann", object{"iat": call(2 * time.Minute)}),
		"a huge one":                     r.token("ann", object{"padding": strings.Repeat("x", 20<<10)}),
		"a changed one":                  good[:len(good)-6] + "AAAAAA",
		"one without a signature":        good[:strings.LastIndexByte(good, '.')+1],
		"two of three parts":             good[:strings.LastIndexByte(good, '.')],
		"three parts of nothing":         "..",
		"no JWT":                         "not-a-jwt",
	} {
		t.Run(name+" gets the same response as any text that is no token", func(t *testing.T) {
			same(t, name, r.bearer(token).do(t, "GET", "/api/me", nil, "Request-Id: same"), refusal)
		})
	}
	t.Run("clocks may differ by a minute", func(t *testing.T) {
		r.bearer(r.token("ann", object{"exp": call(-30 * time.Second)})).get(t, "/api/me")
		r.bearer(r.token("ann", object{"nbf": call(30 * time.Second), "iat": call(30 * time.Second)})).get(t, "/api/me")
	})
	t.Run("one of several audiences is enough, if the token was issued to one of ours", func(t *testing.T) {
		r.bearer(r.token("ann", object{"aud": []string{"another", "atrium"}, "azp": "atrium"})).get(t, "/api/me")
	})
	t.Run("exactly one user was created", func(t *testing.T) {
		types, _ := r.trail(t)
		// the other is the first start's owner
		if all := strings.Join(types, " "); strings.Count(all, "user.created") != 2 {
			t.Errorf("the trail is %s", all)
		}
	})
}

func TestClaimRules(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, `claim_rules:
      - {claim: groups, value: engineering, workspace: research, role: member}
      - {claim: groups, value: leads, workspace: research, role: admin}
      - {claim: groups, value: elsewhere, workspace: nowhere, role: owner}
      - {claim: realm_access.roles, value: support, operator: true}`)
		keeper := r.user(t, "owner", "--workspace", "research")
		groups := func(names ...string) object { return object{"groups": names} }
		role := func(t *testing.T, c *client, want string) {
			t.Helper()
			c.get(t, "/api/me").has(t, map[string]string{"workspaces.0.my_role": want, "workspaces.1.id": ""})
		}

		t.Run("claims give and change a role, and a token without them takes it away", func(t *testing.T) {
			ann := r.person(t, "ann", groups("engineering"))
			role(t, ann, "member")
			ann.create(t, templates, object{"name": "mine"})
			role(t, r.again(ann, "ann", groups("engineering", "leads")), "admin")
			role(t, r.again(ann, "ann", groups("engineering")), "member")
			goneClient := r.again(ann, "ann", groups())
			role(t, goneClient, "")
			goneClient.do(t, "GET", templates, nil).problem(t, 400, "workspace_required")
			goneClient.do(t, "GET", templates, nil, "Workspace-Id: research").problem(t, 404, "workspace_not_found")
			r.person(t, "bob", groups("nobody")).get(t, "/api/me").has(t,
				map[string]string{"workspaces.0.id": "", "role": "null"})
		})
		t.Run("an API key ends with the role that a claim gave", func(t *testing.T) {
			carl := r.person(t, "carl", groups("engineering"))
			key := r.bearer(carl.create(t, "/api/api-keys", object{"name": "laptop"}).at("token"))
			key.get(t, "/api/me")
			r.again(carl, "carl").get(t, "/api/me")
			key.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		})
		t.Run("a role that was given by hand is never lowered", func(t *testing.T) {
			dora := r.user(t, "admin", "--workspace", "research")
			role(t, r.person(t, "dora", object{"email": dora.email, "groups": []string{"engineering"}}), "admin")
			role(t, r.person(t, "dora", object{"email": dora.email}), "admin")
			role(t, r.person(t, "keeper", object{"email": keeper.email}), "owner")
		})
		t.Run("a claim makes an operator, and a later token without it ends that", func(t *testing.T) {
			eve := r.person(t, "eve", object{"realm_access": object{"roles": []string{"support"}}})
			eve.get(t, "/api/me").has(t, map[string]string{"user.operator": "true"})
			r.again(eve, "eve").get(t, "/api/me").has(t, map[string]string{"user.operator": "false"})
		})
		t.Run("a rule for a missing workspace creates none, and reserves its slug", func(t *testing.T) {
			r.person(t, "fay", groups("elsewhere")).get(t, "/api/me").has(t, map[string]string{"workspaces.0.id": ""})
			mallory := r.person(t, "mallory")
			mallory.do(t, "POST", "/api/workspaces", object{"name": "Nowhere", "slug": "nowhere"}).problem(t, 409,
				"slug_taken")
			ownText := "/api/workspaces/" + mallory.create(t, "/api/workspaces", object{"name": "Somewhere"}).at("id")
			mallory.do(t, "PATCH", ownText, object{"slug": "nowhere"}).problem(t, 409, "slug_taken")
		})
		t.Run("the audit trail records roles by claims, in the workspace too", func(t *testing.T) {
			r.leaves(t, []string{"user.created", "user.linked", "user.updated"}, "ann@example.com", "carl@example.com")
			seen := " " + strings.Join(keeper.get(t, "/api/events?limit=100").each(t, "type"), " ") + " "
			for _, kind := range []string{"user.created", "user.linked", "user.updated", "member.added",
				"member.updated", "member.removed"} {
				if !strings.Contains(seen, " "+kind+" ") {
					t.Errorf("there is no %s in %s", kind, seen)
				}
			}
			r.person(t, "kim", groups("engineering"))
			keeper.recordsJoins(t)
		})
	})
}

func TestIssuerOutage(t *testing.T) {
	t.Parallel()
	r := newRealm(t, postgres, "personal_workspaces: true")
	ann := r.person(t, "ann")
	key := r.bearer(ann.create(t, "/api/api-keys", object{"name": "laptop"}).at("token"))
	r.issuer.Network.Cut()

	t.Run("known users continue while the issuer is down, with new tokens too", func(t *testing.T) {
		ann.get(t, "/api/me").has(t, map[string]string{"user.id": ann.id})
		r.again(ann, "ann", object{"name": "Ann A."}).get(t, "/api/me").has(t,
			map[string]string{"user.id": ann.id, "user.name": "Ann A."})
	})
	t.Run("API keys work without the issuer", func(t *testing.T) { key.get(t, "/api/me") })
	t.Run("a node without the issuer's keys returns unavailable", func(t *testing.T) {
		second := r.deployment.start(t)
		ann.at(second).do(t, "GET", "/api/me", nil).problem(t, 503, "unavailable")
		key.at(second).get(t, "/api/me")
		second.anonymous().get(t, "/api/health/ready")
	})
}

func TestDoctorOIDC(t *testing.T) {
	t.Parallel()
	issuer := fixture.NewIssuer(t, "EdDSA")
	d := deploy(t, sqlite, forIssuer(issuer, "claim_rules: [{claim: groups, value: engineering, workspace: research, "+
		"role: member}]"))
	r := &realm{&server{deployment: d}, issuer}
	file := func(token string) string { return tokenFile(t, token) }
	t.Run("the command explains what an accepted token gives", func(t *testing.T) {
		token := r.token("ann", object{"groups": []string{"engineering"}})
		out := d.must(t, "doctor", "oidc", "--token-file", file(token))
		if !containsAny(out, "subject ann of "+issuer.URL+", verified e-mail ann@example.com, member of research") ||
			strings.Contains(out, "FAILED") || strings.Contains(out, token[:30]) {
			t.Error(out)
		}
	})
	t.Run("the command exits with 1 for a refused token", func(t *testing.T) {
		token := r.token("ann", object{"aud": "another"})
		if got := d.run(t, "doctor", "oidc", "--json", "--token-file", file(token)); got.code != 1 ||
			!strings.Contains(got.stdout, `"check":"token","ok":false,"note":"not accepted: it is for the audiences (aud) [\"another\"]; configured are [\"atrium\"]"`) || containsAny(got.stdout+got.stderr, token[:30]) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("the command exits with 1 if the issuer does not respond", func(t *testing.T) {
		issuer.Network.Cut()
		defer issuer.Network.Restore()
		if got := d.run(t, "doctor", "oidc"); got.code != 1 || !strings.Contains(got.stdout, "FAILED") ||
			!strings.Contains(got.stdout, issuer.URL) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("the command stores nothing", func(t *testing.T) {
		if _, err := os.Stat(d.data); !os.IsNotExist(err) {
			t.Errorf("the data directory is there: %v", err)
		}
	})
}

// tokenFile writes a file with one token.
func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token.jwt")
	require.NoError(t, os.WriteFile(path, []byte(token+"\n"), 0o600))
	return path
}
