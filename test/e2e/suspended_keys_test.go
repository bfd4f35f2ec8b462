package e2e

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestDeactivationsByADirectorySuspendKeys has a directory deactivate a person for a while.
func TestDeactivationsByADirectorySuspendKeys(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s, scimmer := directory(t, engine, "")
		owner := s.user(t, "owner")
		user := scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 201).at("id")
		s.must(t, "user", "create", "--email", "ann@example.com", "--workspace", "default", "--role", "admin")
		ann := &client{server: s, id: user, email: "ann@example.com", workspace: owner.workspace}
		ownClient, _ := ann.key(t)
		program, id := ownClient.service(t, "admin")
		active := func(t *testing.T, ok bool) {
			t.Helper()
			scimmer.do(t, "PATCH", scimUsers+"/"+user, patch(object{"op": "replace", "path": "active", "value": ok})).
				is(t, 200)
		}
		t.Run("a service key waits while its creator is deactivated", func(t *testing.T) {
			active(t, false)
			program.refusedWithin(t, 1500*time.Millisecond)
			owner.get(t, apiKeys+"/"+id).has(t, map[string]string{"status": "suspended", "revoked_at": "null"})
			assert.Contains(t, "the list has", owner.get(t, apiKeys).text, `"suspended"`)
			owner.get(t, "/api/events?type=user.disabled&limit=1").has(t,
				map[string]string{"data.0.data.service_keys_suspended.0": id})
			active(t, true)
			program.answeredWithin(t, 200, 1500*time.Millisecond)
			owner.get(t, apiKeys+"/"+id).has(t, map[string]string{"status": "active"})
			owner.get(t, "/api/events?type=user.enabled&limit=1").has(t,
				map[string]string{"data.0.data.service_keys_resumed.0": id})
		})
		t.Run("an admin can go on with a rotated key meanwhile", func(t *testing.T) {
			active(t, false)
			program.refusedWithin(t, 1500*time.Millisecond)
			next := owner.create(t, apiKeys+"/"+id+"/rotate", object{})
			(&client{server: s, token: next.at("token")}).get(t, "/api/me")
			active(t, true)
			program.refusedWithin(t, 1500*time.Millisecond)
		})
		t.Run("a suspended key that an admin keeps works again", func(t *testing.T) {
			bob := scimmer.do(t, "POST", scimUsers, scimUser("bob@example.com")).is(t, 201).at("id")
			s.must(t, "user", "create", "--email", "bob@example.com", "--workspace", "default", "--role", "admin")
			bobs, _ := (&client{server: s, id: bob, email: "bob@example.com", workspace: owner.workspace}).key(t)
			program, id := bobs.service(t, "admin")
			scimmer.do(t, "PATCH", scimUsers+"/"+bob, patch(object{"op": "replace", "path": "active", "value": false})).
				is(t, 200)
			program.refusedWithin(t, 1500*time.Millisecond)
			owner.do(t, "DELETE", "/api/workspaces/"+owner.workspace+"/members/"+bob+"?keep_service_keys=true", nil).
				is(t, 200).has(t, map[string]string{"service_keys_kept.0": id})
			program.answeredWithin(t, 200, 1500*time.Millisecond)
		})
		t.Run("a suspended key above the role that is left ends", func(t *testing.T) {
			program, id := ownClient.service(t, "admin")
			active(t, false)
			owner.do(t, "PATCH", "/api/workspaces/"+owner.workspace+"/members/"+user, object{"role": "viewer"}).
				is(t, 200).
				has(t, map[string]string{"lost.service_keys_ended.0": id})
			active(t, true)
			ownClient.answeredWithin(t, 200, 1500*time.Millisecond)
			program.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			owner.get(t, apiKeys+"/"+id).has(t, map[string]string{"status": "revoked"})
		})
	})
}
