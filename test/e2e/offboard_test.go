package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

const apiKeys = "/api/api-keys"

// service creates a service key, and returns a client with it and the key's id.
func (c *client) service(t *testing.T, role string) (bearer *client, id string) {
	t.Helper()
	a := c.create(t, apiKeys, object{"name": "a program", "kind": "service", "role_ceiling": role})
	return &client{server: c.server, token: a.at("token"), id: a.at("user_id"), workspace: c.workspace}, a.at("id")
}

// refusedWithin waits until a caller is refused. If durations count, it must be within a time.
func (c *client) refusedWithin(t *testing.T, limit time.Duration) {
	t.Helper()
	c.answeredWithin(t, 401, limit)
}

// answeredWithin waits until a caller gets a status.
func (c *client) answeredWithin(t *testing.T, status int, limit time.Duration) {
	t.Helper()
	proof.EventuallyWithin(t, fmt.Sprint("a response of ", status), limit, func() bool {
		return c.do(t, "GET", "/api/me", nil).status == status
	})
}

func TestOffboardingMembers(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		owner := r.user(t, "owner")
		members := "/api/workspaces/" + owner.workspace + "/members/"
		// A signed-in user, because keys created with a key have ended with it before.
		signedIn := func(t *testing.T, name string) *client {
			t.Helper()
			token, _ := r.invite(t, owner, name+"@example.com", "admin")
			c := r.person(t, name)
			c.workspace = owner.workspace
			accept(t, c, token).is(t, 200)
			return c
		}
		reads := func(t *testing.T, c *client, want bool) {
			t.Helper()
			if a := c.do(t, "GET", "/api/events?limit=1", nil); (a.status == 200) != want {
				t.Errorf("it reads: %v, want %v: %s", !want, want, a)
			}
		}
		t.Run("service keys end with the member who created them", func(t *testing.T) {
			ann := signedIn(t, "ann")
			program, id := ann.service(t, "admin")
			newClient := r.bearer(program.create(t, apiKeys, object{"name": "by the program"}).at("token"))
			others, _ := owner.service(t, "admin")
			reads(t, program, true)
			owner.do(t, "DELETE", members+ann.id, nil).is(t, 200).has(t, map[string]string{"service_keys_ended.0": id})
			reads(t, program, false)
			reads(t, newClient, false)
			reads(t, others, true)
			owner.get(t, apiKeys+"/"+id).has(t, map[string]string{"status": "revoked"})
			a := owner.get(t, "/api/events?type=member.removed&limit=1")
			a.has(t, map[string]string{"data.0.data.user_id": ann.id, "data.0.data.service_keys_ended.0": id})
		})
		t.Run("service keys stay if an admin keeps them", func(t *testing.T) {
			bob := signedIn(t, "bob")
			program, id := bob.service(t, "admin")
			ownClient := r.bearer(bob.create(t, apiKeys, object{"name": "laptop"}).at("token"))
			bob.do(t, "DELETE", members+bob.id+"?keep_service_keys=true", nil).problem(t, 403, "forbidden")
			owner.do(t, "DELETE", members+bob.id+"?keep_service_keys=true", nil).is(t, 200).has(t,
				map[string]string{"service_keys_kept.0": id})
			reads(t, program, true)
			reads(t, ownClient, false)
			a := owner.get(t, "/api/events?type=member.removed&limit=1")
			a.has(t, map[string]string{"data.0.data.user_id": bob.id, "data.0.data.service_keys_kept.0": id})
		})
		t.Run("service keys end with a member who leaves", func(t *testing.T) {
			eve := signedIn(t, "eve")
			program, _ := eve.service(t, "admin")
			eve.do(t, "DELETE", members+eve.id, nil).is(t, 200)
			reads(t, program, false)
		})
		t.Run("no credential can revoke one with a higher role", func(t *testing.T) {
			admin := r.user(t, "admin")
			large := owner.create(t, apiKeys, object{"name": "large"})
			small := owner.create(t, apiKeys, object{"name": "small", "role_ceiling": "member"})
			leakedClient := r.bearer(small.at("token"))
			leakedClient.do(t, "DELETE", apiKeys+"/"+large.at("id"), nil).problem(t, 403, "role_ceiling")
			admin.do(t, "DELETE", apiKeys+"/"+large.at("id"), nil).problem(t, 403, "role_ceiling")
			r.bearer(large.at("token")).get(t, "/api/me")
			admin.do(t, "DELETE", apiKeys+"/"+small.at("id"), nil).is(t, 204)
			leakedClient.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			other := owner.create(t, apiKeys, object{"name": "small", "role_ceiling": "member"})
			r.bearer(other.at("token")).do(t, "DELETE", apiKeys+"/"+other.at("id"), nil).is(t, 204)
		})
	})
}

func TestDisabledPeople(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, "personal_workspaces: true")
		nodes := []*server{r.server}
		if engine == postgres {
			nodes = append(nodes, r.deployment.start(t))
		}
		far := nodes[len(nodes)-1]
		operator, other := r.user(t, "owner", "--operator"), r.user(t, "owner", "--operator")
		disable := func(t *testing.T, by, person *client, body any) *answer {
			t.Helper()
			return by.do(t, "POST", "/api/people/"+person.id+"/disable", body)
		}
		enable := func(t *testing.T, by, person *client) {
			t.Helper()
			by.do(t, "POST", "/api/people/"+person.id+"/enable", nil).is(t, 204)
		}
		t.Run("no credential of a disabled user works, on any node or stream, until they are enabled",
			func(t *testing.T) {
				ann := r.person(t, "ann")
				ann.workspace = ann.get(t, "/api/me").at("workspace.id")
				key := r.bearer(ann.create(t, apiKeys, object{"name": "laptop"}).at("token"))
				program, id := ann.service(t, "admin")
				all := []*client{ann.at(far), key.at(far), program.at(far)}
				streams := []*events{ann.at(far).stream(t, ""), key.at(far).stream(t, "")}
				for _, s := range streams {
					s.next()
				}
				disable(t, operator, ann, object{"reason": "Left the company"}).is(t, 200)
				for _, c := range all {
					c.refusedWithin(t, 1500*time.Millisecond)
				}
				for _, s := range streams {
					s.ends(1500 * time.Millisecond)
				}
				r.again(ann, "ann", object{"iat": time.Now().Unix() + 1}).do(t, "GET", "/api/me", nil).problem(t, 401,
					"unauthenticated")
				disable(t, operator, ann, nil).is(t, 204)
				enable(t, operator, ann)
				enable(t, operator, ann)
				ann.get(t, "/api/me")
				key.get(t, "/api/me")
				program.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated") // it was ended
				ann.get(t, "/api/events?type=user.disabled").has(t, map[string]string{
					"data.0.subject": ann.id, "data.0.actor": operator.id, "data.0.data.reason": "Left the company",
					"data.0.data.service_keys_ended.0": id, "data.1": "",
				})
				ann.get(t, "/api/events?type=user.enabled").has(t,
					map[string]string{"data.0.subject": ann.id, "data.1": ""})
			})
		t.Run("service keys of a disabled user can be kept", func(t *testing.T) {
			bob := r.person(t, "bob")
			program, _ := bob.service(t, "admin")
			disable(t, operator, bob, object{"keep_service_keys": true}).is(t, 200)
			bob.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			program.get(t, "/api/me")
		})
		t.Run("a user can be disabled on the command line", func(t *testing.T) {
			eve := r.user(t, "member")
			out := r.must(t, "user", "disable", "--email", eve.email, "--reason", "Lost a laptop", "--json")
			if !strings.Contains(out, eve.id) || !strings.Contains(out, `"disabled":true`) {
				t.Errorf("it says %s", out)
			}
			eve.refusedWithin(t, 1500*time.Millisecond)
			for _, command := range [][]string{{"token", "create"},
				{"user", "create", "--role", "owner", "--workspace", "another"}} {
				if got := r.run(t, append(command, "--email", eve.email)...); got.code != 1 ||
					!strings.Contains(got.stderr, "disabled") {
					t.Errorf("%q: %+v", command, got)
				}
			}
			assert.Contains(t, "it says", r.must(t, "user", "enable", "--email", eve.email), "is enabled")
			eve.answeredWithin(t, 200, 1500*time.Millisecond) // the node caches the principal of a key for one second
			if got := r.run(t, "user", "disable", "--email", "who@example.com"); got.code != 1 ||
				!strings.Contains(got.stderr, "no such user") {
				t.Errorf("%+v", got)
			}
		})
		t.Run("only operators can disable users, and the last operator cannot be disabled", func(t *testing.T) {
			owner := r.user(t, "owner")
			disable(t, owner, other, nil).problem(t, 403, "forbidden")
			small, _ := operator.key(t, "--role", "admin")
			disable(t, small, owner, nil).problem(t, 403, "forbidden")
			disable(t, operator, &client{id: "usr_00000000000000000000000000"}, nil).problem(t, 404, "user_not_found")
			operator.do(t, "POST", "/api/people/me/enable", nil).problem(t, 404, "user_not_found")
			disable(t, operator, other, nil).is(t, 204)
			other.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			disable(t, operator, operator, nil).problem(t, 409, "last_operator")
			enable(t, operator, other)
			disable(t, operator, operator, nil).is(t, 204)
			operator.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		})
	})
}

func TestKeyPolicy(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		owner := r.user(t, "owner")
		id := owner.create(t, apiKeys, object{"name": "of before"}).at("id")
		program, serviceID := owner.service(t, "admin")
		issuers := "orgs: [{slug: default, issuers: [{url: '" + r.issuer.URL + "', audiences: [atrium]}], api_keys: {"
		reload := func(t *testing.T, yaml string) *server {
			t.Helper()
			r.stop(t)
			r.deployment.configure(issuers + yaml + "}}]\n")
			return r.deployment.start(t)
		}
		t.Run("the lifetime of keys is limited by the org", func(t *testing.T) {
			s := reload(t, "max_lifetime: 30d")
			by := owner.at(s)
			latest := time.Now().Truncate(time.Millisecond).Add(30 * 24 * time.Hour) // as answers show times
			for _, body := range []object{{"name": "without an end"},
				{"name": "program", "kind": "service", "role_ceiling": "viewer"}} {
				ends, err := time.Parse(time.RFC3339, by.create(t, apiKeys, body).at("expires_at"))
				if d := ends.Sub(latest); err != nil || d < 0 || d > time.Minute {
					t.Errorf("it ends %s, want about %s: %v", ends, latest, err)
				}
			}
			a := by.do(t, "POST", apiKeys,
				object{"name": "too long", "expires_at": latest.Add(time.Hour).UTC().Format(time.RFC3339)}).problem(t,
				422, "invalid_fields")
			if invalid := a.wrong(); len(invalid) != 1 || invalid[0] != "/expires_at too_late" {
				t.Errorf("wrong: %q", invalid)
			}
			if next := by.create(t, apiKeys+"/"+id+"/rotate", nil); next.at("expires_at") == "" {
				t.Error("the successor has no end")
			}
			if got := s.run(t, "token", "create", "--email", owner.email, "--expires", "31d"); got.code != 1 ||
				!strings.Contains(got.stderr, "expires_at") {
				t.Errorf("%+v", got)
			}
			s.stop(t)
		})
		t.Run("in an org without personal keys people must sign in", func(t *testing.T) {
			r.deployment.configure(issuers + "personal: false}}]\n")
			s := r.deployment.start(t)
			owner.at(s).do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			program.at(s).get(t, "/api/me")
			ann := (&client{token: r.token("owner-signs-in", object{"email": owner.email})}).at(s)
			ann.workspace = owner.workspace
			ann.get(t, "/api/me").has(t, map[string]string{"user.id": owner.id})
			ann.do(t, "POST", apiKeys, object{"name": "none"}).problem(t, 403, "personal_keys_forbidden")
			ownResponse := ann.get(t, apiKeys)
			for i := range ownResponse.items(t) {
				if path := "data." + string(rune('0'+i)); ownResponse.at(path+".user_id") == owner.id {
					ann.do(t, "POST", apiKeys+"/"+ownResponse.at(path+".id")+"/rotate", nil).problem(t, 403,
						"personal_keys_forbidden")
				}
			}
			ann.create(t, apiKeys+"/"+serviceID+"/rotate", nil)
			if got := s.run(t, "token", "create", "--email", owner.email); got.code != 1 ||
				!strings.Contains(got.stderr, "personal") {
				t.Errorf("%+v", got)
			}
			if out := s.must(t, "user", "create", "--email", "new@example.com", "--role", "member",
				"--json"); !strings.Contains(out, `"token":null`) {
				t.Errorf("it says %s", out)
			}
		})
	})
}
