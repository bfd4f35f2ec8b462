package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// leaver is a person who is about to lose a role, in every way there is.
type leaver struct {
	*client
	lose func(t *testing.T) *answer // nil where no one gets a response
	kind string                     // of the event that names what ended
	left string                     // the role that is left; empty: the person is no member, or cannot sign in
}

// loss is a way to lose a role. arrive has a person get the role first.
type loss struct {
	person string
	arrive func(t *testing.T, name string) leaver
}

// invited returns a person who has accepted the invitation of owner.
func (r *realm) invited(t *testing.T, owner *client, name, role string) *client {
	t.Helper()
	token, _ := r.invite(t, owner, name+"@example.com", role)
	c := r.person(t, name)
	c.workspace = owner.workspace
	accept(t, c, token).is(t, 200)
	return c
}

// claimLoss is the way to lose a role by a token.
func (r *realm) claimLoss(owner *client) loss {
	return loss{"an admin by a claim that the next token lacks", func(t *testing.T, name string) leaver {
		r.invited(t, owner, name, "viewer")
		c := r.person(t, name, object{"groups": []string{"admins"}, "iat": time.Now().Unix() + 1})
		c.workspace = owner.workspace
		return leaver{c, func(t *testing.T) *answer {
			t.Helper()
			r.again(c, name, object{"iat": time.Now().Unix() + 2}).get(t, "/api/me")
			return nil
		}, "member.updated", "viewer"}
	}}
}

// losses returns the ways to lose a role in the workspace of owner, who is an operator. member returns a new member of
// it with a role.
func (s *server) losses(
	t *testing.T, owner, scimmer *client, member func(t *testing.T, name, role string) *client,
) []loss {
	t.Helper()
	ws := "/api/workspaces/" + owner.workspace
	groupedClient := func(t *testing.T, name string) (c *client, group string) {
		t.Helper()
		c = member(t, name, "viewer")
		group = "/api/groups/" + owner.create(t, "/api/groups", object{"name": name, "role": "admin"}).at("id")
		owner.do(t, "PUT", group+"/members/"+c.id, nil).is(t, 204)
		return c, group
	}
	provisionedClient := func(t *testing.T, name string) (c *client, user, group string) {
		t.Helper()
		email := name + "@directory.test"
		id := scimmer.do(t, "POST", scimUsers, scimUser(email)).is(t, 201).at("id")
		group = scimGroup + "/" + scimmer.get(t, scimGroup+"?filter=displayName%20eq%20%22Admins%22").
			at("Resources.0.id")
		scimmer.do(t, "PATCH", group, patch(object{"op": "add", "path": "members",
			"value": []object{{"value": id}}})).is(t, 200)
		c = &client{server: s, id: id, email: email, workspace: owner.workspace}
		ownClient, _ := c.key(t)
		c.token = ownClient.token
		return c, scimUsers + "/" + id, group
	}
	operatedResponse := func(c *client, path string, body any) func(t *testing.T) *answer {
		return func(t *testing.T) *answer {
			t.Helper()
			return owner.do(t, "POST", "/api/people/"+c.id+path, body)
		}
	}
	return []loss{
		{"an admin whose role is lowered", func(t *testing.T, name string) leaver {
			c := member(t, name, "admin")
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				return owner.do(t, "PATCH", ws+"/members/"+c.id, object{"role": "viewer"}).is(t, 200)
			}, "member.updated", "viewer"}
		}},
		{"an admin who is removed", func(t *testing.T, name string) leaver {
			c := member(t, name, "admin")
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				return owner.do(t, "DELETE", ws+"/members/"+c.id, nil).is(t, 200)
			}, "member.removed", ""}
		}},
		{"an admin who leaves", func(t *testing.T, name string) leaver {
			c := member(t, name, "admin")
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				return c.do(t, "DELETE", ws+"/members/"+c.id, nil).is(t, 200)
			}, "member.removed", ""}
		}},
		{"an admin by a group who is taken out of it", func(t *testing.T, name string) leaver {
			c, group := groupedClient(t, name)
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				owner.do(t, "DELETE", group+"/members/"+c.id, nil).is(t, 204)
				return nil
			}, "member.updated", "viewer"}
		}},
		{"an admin by a group that loses its role", func(t *testing.T, name string) leaver {
			c, group := groupedClient(t, name)
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				owner.do(t, "PATCH", group, object{"role": nil}).is(t, 200)
				return nil
			}, "member.updated", "viewer"}
		}},
		{"an admin by a group that is deleted", func(t *testing.T, name string) leaver {
			c, group := groupedClient(t, name)
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				owner.do(t, "DELETE", group, nil).is(t, 204)
				return nil
			}, "member.updated", "viewer"}
		}},
		{"an admin by a directory's group who is taken out of it", func(t *testing.T, name string) leaver {
			c, _, group := provisionedClient(t, name)
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				scimmer.do(t, "PATCH", group, patch(object{"op": "remove",
					"path": `members[value eq "` + c.id + `"]`})).is(t, 200)
				return nil
			}, "member.removed", ""}
		}},
		{"an admin who is deleted by the directory", func(t *testing.T, name string) leaver {
			c, user, _ := provisionedClient(t, name)
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				scimmer.do(t, "DELETE", user, nil).is(t, 204)
				return nil
			}, "member.removed", ""}
		}},
		{"an admin who is disabled by an operator", func(t *testing.T, name string) leaver {
			c := member(t, name, "admin")
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				return operatedResponse(c, "/disable", nil)(t).is(t, 200)
			}, "user.disabled", ""}
		}},
		{"an admin who is disabled at the command line", func(t *testing.T, name string) leaver {
			c := member(t, name, "admin")
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				s.must(t, "user", "disable", "--email", c.email)
				return nil
			}, "user.disabled", ""}
		}},
		{"an admin who is erased", func(t *testing.T, name string) leaver {
			c := member(t, name, "admin")
			return leaver{c, func(t *testing.T) *answer {
				t.Helper()
				operatedResponse(c, "/erase", nil)(t).is(t, 202)
				return nil
			}, "member.removed", ""}
		}},
	}
}

// TestWhatARoleMadeEndsWithTheRole walks every way to lose a role, and everything that a role can make that acts
// without the person.
func TestWhatARoleMadeEndsWithTheRole(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		token := filepath.Join(t.TempDir(), "scim-token")
		require.NoError(t, os.WriteFile(token, []byte(directoryToken+"\n"), 0o600))
		issuer := fixture.NewIssuer(t, "ES256")
		r := &realm{
			start(t, engine, forIssuer(issuer, `scim: {tokens: ["file:`+token+`"], email_domains: [directory.test]}`,
				"egress: {allow: [127.0.0.0/8]}", `claim_rules:
      - {issuer: "`+issuer.URL+`", claim: groups, value: admins, workspace: default, role: admin}
      - {issuer: scim, claim: groups, value: Admins, workspace: default, role: admin}`),
				set("connections.probe_limits.workspace_per_minute", "100")),
			issuer,
		}
		owner, scimmer := r.user(t, "owner", "--operator"), &client{server: r.server, token: directoryToken}
		scimmer.do(t, "POST", scimGroup, object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:Group"},
			"displayName": "Admins"}).is(t, 201)
		members := "/api/workspaces/" + owner.workspace + "/members/"
		hooks, answers := newReceiver(t), newReplies(t, nil)
		member := func(t *testing.T, name, role string) *client { return r.invited(t, owner, name, role) }
		for i, way := range append(r.losses(t, owner, scimmer, member), r.claimLoss(owner)) {
			t.Run(way.person, func(t *testing.T) {
				l := way.arrive(t, fmt.Sprint("leaver-", i))
				program, key := l.service(t, "admin")
				small, _ := l.service(t, "viewer")
				hook := func(by *client) string {
					return by.create(t, "/api/webhooks", object{"url": hooks.url, "events": []string{"group.*"}}).
						at("id")
				}
				ownText, programs := hook(l.client), hook(program)
				chat := l.create(t, connections, object{"kind": "reply_endpoint",
					"credential": object{"url": answers.url,
						"signing_secret": "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))),
					}}).
					at("id")
				response := l.lose(t)
				program.refusedWithin(t, 1500*time.Millisecond)
				program.do(t, "PATCH", members+l.id, object{"role": "admin"}).is(t, 401)
				if role := owner.do(t, "GET", members+l.id, nil).at("role"); l.left != "" && role != l.left {
					t.Errorf("the person is %q, want %q", role, l.left)
				}
				if want := l.left != ""; (small.do(t, "GET", "/api/me", nil).status == 200) != want {
					t.Errorf("a key below the new role works: %v, want %v", !want, want)
				}
				said := owner.get(t, "/api/events?limit=1&type="+l.kind)
				for from, text := range map[string]string{"the event": said.text, "the response": textOf(response)} {
					if response == nil && from == "the response" {
						continue
					}
					for member, id := range map[string]string{"service_keys_ended": key, "webhooks_ownerless": ownText,
						"reply_endpoints_ownerless": chat} {
						if !strings.Contains(text, id) || !strings.Contains(text, `"`+member+`"`) {
							t.Errorf("%s does not name %s in %s: %s", from, id, member, text)
						}
					}
					if !strings.Contains(text, programs) {
						t.Errorf("%s does not name %s of the program: %s", from, programs, text)
					}
				}
				for _, path := range []string{
					"/api/webhooks/" + ownText, "/api/webhooks/" + programs, connections + "/" + chat,
				} {
					previous := owner.get(t, path)
					previous.has(t, map[string]string{"ownerless": "true"})
					confirmation := owner.do(t, "POST", path+"/confirm", nil).is(t, 200)
					confirmation.has(t, map[string]string{"ownerless": "false"})
					if confirmation.at("revision") == previous.at("revision") {
						t.Errorf("%s has the same revision", path)
					}
					owner.get(t, path).has(t, map[string]string{"ownerless": "false"})
				}
				for _, id := range []string{ownText, programs} {
					owner.do(t, "DELETE", "/api/webhooks/"+id, nil).is(t, 204)
				}
			})
		}
		t.Run("an owner who transfers the workspace has no key of an owner left", func(t *testing.T) {
			seller := r.user(t, "owner", "--workspace", "sold")
			buyer := r.user(t, "admin", "--workspace", "sold")
			program, key := seller.service(t, "owner")
			small, _ := seller.service(t, "admin")
			sold := "/api/workspaces/" + seller.workspace
			a := seller.do(t, "POST", sold+"/transfer", object{"user_id": buyer.id}).is(t, 200)
			a.has(t, map[string]string{"user_id": buyer.id, "role": "owner", "lost.service_keys_ended.0": key,
				"lost.service_keys_ended.1": ""})
			program.do(t, "PATCH", sold+"/members/"+seller.id, object{"role": "owner"}).is(t, 401)
			small.get(t, "/api/webhooks")
		})
	})
}

func textOf(a *answer) string {
	if a == nil {
		return ""
	}
	return a.text
}

// TestKeptServiceKeys has admins keep the keys of others who lose a role.
func TestKeptServiceKeys(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		owner := s.user(t, "owner")
		ws := "/api/workspaces/" + owner.workspace
		t.Run("an admin who lowers a role can keep the keys, which cannot give it back", func(t *testing.T) {
			ann := s.user(t, "admin")
			program, key := ann.service(t, "admin")
			loweredValues := object{"role": "viewer", "keep_service_keys": true}
			owner.do(t, "PATCH", ws+"/members/"+ann.id, loweredValues).is(t, 200).has(t, map[string]string{
				"role": "viewer", "lost.service_keys_kept.0": key, "lost.service_keys_ended.0": ""})
			program.get(t, "/api/webhooks")
			owner.get(t, apiKeys+"/"+key).has(t, map[string]string{"created_by": ann.id, "kept_by": owner.id})
			owner.get(t, "/api/events?type=member.updated&limit=1").has(t, map[string]string{
				"data.0.data.service_keys_kept.0": key})
			program.do(t, "PATCH", ws+"/members/"+ann.id, object{"role": "admin"}).problem(t, 403, "role_ceiling")
			admins := "/api/groups/" + owner.create(t, "/api/groups", object{"name": "admins", "role": "admin"}).
				at("id")
			program.do(t, "PUT", admins+"/members/"+ann.id, nil).problem(t, 403, "role_ceiling")
			for _, followedValues := range []object{{"external_id": "staff"}, {"name": "others"}} {
				want := map[bool]int{true: 403, false: 200}[followedValues["external_id"] != nil]
				program.do(t, "PATCH", admins, followedValues, "If-Match: *").is(t, want)
			}
			program.do(t, "POST", "/api/groups", object{"name": "staff", "role": "admin", "external_id": "staff"}).
				problem(t, 403, "role_ceiling")
			child := &client{server: s, workspace: owner.workspace}
			child.token = program.create(t, apiKeys, object{"name": "child", "kind": "service",
				"role_ceiling": "admin"}).at("token")
			child.do(t, "PATCH", ws+"/members/"+ann.id, object{"role": "admin"}).problem(t, 403, "role_ceiling")
			bob := s.user(t, "viewer")
			program.do(t, "PATCH", ws+"/members/"+bob.id, object{"role": "member"}).is(t, 200)
		})
		t.Run("the doctor names keys from before, which the loss of the role left", func(t *testing.T) {
			ned := s.user(t, "admin")
			_, key := ned.service(t, "admin")
			if out := s.must(t, "doctor"); !strings.Contains(out, "ok      service keys   none has") {
				t.Error(out)
			}
			s.sql(t, "UPDATE memberships SET role = 2 WHERE user_id = '"+ned.id+"'")
			if out := s.must(t, "doctor"); !strings.Contains(out, "WARNING service keys   1 service key above the "+
				"role of the person who is responsible for it: "+key+". An admin ends") {
				t.Error(out)
			}
			owner.do(t, "DELETE", apiKeys+"/"+key, nil).is(t, 204)
			if out := s.must(t, "doctor"); !strings.Contains(out, "ok      service keys") {
				t.Error(out)
			}
		})
		t.Run("no one keeps their own keys when they lower themselves", func(t *testing.T) {
			eve := s.user(t, "admin")
			eve.do(t, "PATCH", ws+"/members/"+eve.id, object{"role": "viewer", "keep_service_keys": true}).
				problem(t, 403, "forbidden")
		})
		t.Run("an owner who transfers the workspace can keep the keys of programs", func(t *testing.T) {
			seller := s.user(t, "owner", "--workspace", "kept")
			buyer := s.user(t, "member", "--workspace", "kept")
			program, key := seller.service(t, "owner")
			a := seller.do(t, "POST", "/api/workspaces/"+seller.workspace+"/transfer",
				object{"user_id": buyer.id, "keep_service_keys": true}).is(t, 200)
			a.has(t, map[string]string{"lost.service_keys_kept.0": key})
			program.get(t, "/api/me")
			sold := "/api/workspaces/" + seller.workspace + "/members/"
			program.do(t, "PATCH", sold+seller.id, object{"role": "owner"}).problem(t, 403, "role_ceiling")
			program.do(t, "DELETE", sold+buyer.id, nil).problem(t, 403, "role_ceiling")
			bot := program.get(t, "/api/me").at("user.id")
			buyer.get(t, sold+bot).has(t, map[string]string{"role": "admin"})
		})
		t.Run("what a kept program made keeps its owner, and a program cannot confirm", func(t *testing.T) {
			tom := s.user(t, "admin")
			program, _ := tom.service(t, "admin")
			hook := object{"url": "https://app.example.com/hook", "events": []string{"*"}}
			programs := "/api/webhooks/" + program.create(t, "/api/webhooks", hook).at("id")
			ownID := tom.create(t, "/api/webhooks", hook).at("id")
			owner.do(t, "PATCH", ws+"/members/"+tom.id, object{"role": "member", "keep_service_keys": true}).is(t, 200).
				has(t, map[string]string{"lost.webhooks_ownerless.0": ownID, "lost.webhooks_ownerless.1": ""})
			owner.get(t, programs).has(t, map[string]string{"ownerless": "false"})
			program.do(t, "POST", "/api/webhooks/"+ownID+"/confirm", nil).problem(t, 403, "forbidden")
			tom.do(t, "POST", "/api/webhooks/"+ownID+"/confirm", nil).problem(t, 403, "forbidden")
			owner.do(t, "PATCH", "/api/webhooks/"+ownID, object{"url": "https://app.example.com/ours"}).is(t, 200).
				has(t, map[string]string{"ownerless": "false"})
			owner.get(t, "/api/events?type=member.updated&limit=1").has(t,
				map[string]string{"data.0.data.webhooks_ownerless.0": ownID})
		})
		t.Run("an owner who becomes an admin still owns webhooks", func(t *testing.T) {
			second := s.user(t, "owner")
			ownID := second.create(t, "/api/webhooks", object{"url": "https://app.example.com/hook",
				"events": []string{"*"}}).at("id")
			owner.do(t, "PATCH", ws+"/members/"+second.id, object{"role": "admin"}).is(t, 200).has(t,
				map[string]string{"lost": ""})
			owner.get(t, "/api/webhooks/"+ownID).has(t, map[string]string{"ownerless": "false"})
		})
		t.Run("nothing is lost where nothing was made", func(t *testing.T) {
			zoe := s.user(t, "admin")
			owner.do(t, "PATCH", ws+"/members/"+zoe.id, object{"role": "member"}).is(t, 200).has(t,
				map[string]string{"lost": ""})
			owner.do(t, "DELETE", ws+"/members/"+zoe.id, nil).is(t, 204)
		})
	})
}
