package e2e

import (
	"strings"
	"testing"
)

func TestInvitations(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		owner, admin := r.user(t, "owner"), r.user(t, "admin")
		ann, bob := r.person(t, "ann"), r.person(t, "bob")
		invitations := "/api/workspaces/" + owner.workspace + "/invitations"

		t.Run("the invited person accepts once; attempts by others leave the invitation open", func(t *testing.T) {
			token, _ := r.invite(t, owner, "Ann@Example.com", "member")
			accept(t, bob, token).problem(t, 403, "invitation_email_mismatch")
			accept(t, owner, token).problem(t, 403, "invitation_email_mismatch")
			unverifiedClient := r.person(t, "mallory", object{"email": "ann@example.com", "email_verified": false})
			accept(t, unverifiedClient, token).problem(t, 403, "invitation_email_mismatch")
			accept(t, r.anonymous(), token).problem(t, 401, "unauthenticated")

			accept(t, ann, token).is(t, 200).has(t, map[string]string{"id": owner.workspace, "my_role": "member"})
			ann.get(t, "/api/me").has(t, map[string]string{"role": "member", "workspaces.0.id": owner.workspace})
			accept(t, ann, token).problem(t, 404, "invitation_not_found")
			accept(t, bob, token).problem(t, 404, "invitation_not_found")
			if open := owner.get(t, invitations).items(t); len(open) != 0 {
				t.Errorf("still open are %v", open)
			}
		})
		t.Run("a repeated acceptance gets the same response, although the caller's workspaces have changed",
			func(t *testing.T) {
				token, _ := r.invite(t, owner, "rita@example.com", "member")
				rita := r.person(t, "rita")
				repeat := func(path string, body object) {
					t.Helper()
					first := rita.do(t, "POST", path, body, "Idempotency-Key: again")
					second := rita.do(t, "POST", path, body, "Idempotency-Key: again").is(t, first.status)
					if first.status >= 300 || second.header.Get("Idempotency-Replayed") != "true" ||
						second.text != first.text {
						t.Errorf("the first answer was %s\nthe second %s", first, second)
					}
				}
				repeat("/api/invitations/accept", object{"token": token}) // from no workspace to the only one
				repeat("/api/workspaces", object{"name": "Rita's"})       // from the only one to none that is implied
			})
		t.Run("the invited person's own API key cannot accept", func(t *testing.T) {
			existing := r.user(t, "owner", "--workspace", "theirs")
			token, _ := r.invite(t, owner, existing.email, "viewer")
			accept(t, existing, token).problem(t, 403, "invitation_email_mismatch")
			accept(t, r.person(t, "known", object{"email": existing.email}), token).is(t, 200).has(t,
				map[string]string{"my_role": "viewer"})
		})
		t.Run("renewing ends the old link", func(t *testing.T) {
			first, isRenewed := r.invite(t, owner, "bob@example.com", "viewer")
			second, isRepeat := r.invite(t, admin, "BOB@example.com", "member")
			if first == second || isRenewed || !isRepeat {
				t.Fatal("the second is not a renewal of the first")
			}
			accept(t, bob, first).problem(t, 404, "invitation_not_found")
			accept(t, bob, second).is(t, 200).has(t, map[string]string{"my_role": "member"})
		})
		t.Run("without a mail server nothing is mailed, and the link is in the response", func(t *testing.T) {
			response := owner.create(t, invitations, object{"email": "often@example.com", "role": "viewer"}).has(t,
				map[string]string{"mailed": "false"})
			if !strings.Contains(response.at("accept_url"), "/join/ati_") {
				t.Error(response)
			}
			owner.do(t, "DELETE", invitations+"/"+response.at("id"), nil).is(t, 204)
		})
		t.Run("an invitation ends with its creator's right to invite", func(t *testing.T) {
			maker := r.user(t, "admin")
			token, _ := r.invite(t, maker, "late@example.com", "admin")
			owner.do(t, "PATCH", "/api/workspaces/"+owner.workspace+"/members/"+maker.id,
				object{"role": "member"}).is(t, 200)
			accept(t, r.person(t, "late"), token).problem(t, 404, "invitation_not_found")
			owner.do(t, "DELETE", invitations+"/"+owner.get(t, invitations).at("data.0.id"), nil).is(t, 204)
		})
		t.Run("withdrawing ends an invitation", func(t *testing.T) {
			token, _ := r.invite(t, owner, "carl@example.com", "member")
			id := owner.get(t, invitations).at("data.0.id")
			admin.do(t, "DELETE", invitations+"/"+id, nil).is(t, 204)
			accept(t, r.person(t, "carl"), token).problem(t, 404, "invitation_not_found")
			admin.do(t, "DELETE", invitations+"/"+id, nil).problem(t, 404, "invitation_not_found")
		})
		t.Run("a repeated request returns the link again until the invitation has ended", func(t *testing.T) {
			body := object{"email": "dora@example.com", "role": "viewer"}
			response := owner.create(t, invitations, body, "Idempotency-Key: invite-dora")
			if second := owner.create(t, invitations, body,
				"Idempotency-Key: invite-dora"); second.at("accept_url") != response.at("accept_url") ||
				second.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("not replayed: %s", second)
			}
			owner.do(t, "DELETE", invitations+"/"+response.at("id"), nil).is(t, 204)
			if a := owner.do(t, "POST", invitations, body, "Idempotency-Key: invite-dora"); strings.Contains(a.text,
				"ati_") {
				t.Errorf("the link is shown still: %s", a)
			}
		})
		t.Run("a caller cannot create, renew or end an invitation above their own role", func(t *testing.T) {
			admin.do(t, "POST", invitations, object{"email": "eve@example.com", "role": "owner"}).problem(t, 403,
				"role_ceiling")
			token, _ := r.invite(t, owner, "eve@example.com", "owner")
			id := owner.get(t, invitations).at("data.0.id")
			admin.do(t, "POST", invitations, object{"email": "eve@example.com", "role": "viewer"}).problem(t, 403,
				"role_ceiling")
			admin.do(t, "DELETE", invitations+"/"+id, nil).problem(t, 403, "role_ceiling")
			accept(t, r.person(t, "eve"), token).is(t, 200).has(t, map[string]string{"my_role": "owner"})
		})
		t.Run("a member is not invited again", func(t *testing.T) {
			owner.do(t, "POST", invitations, object{"email": "ANN@example.com", "role": "admin"}).problem(t, 409,
				"already_member")
		})
		t.Run("an invalid token is no invitation", func(t *testing.T) {
			for _, token := range []string{"x", owner.token, "ati_" + strings.Repeat("0", 49)} {
				accept(t, ann, token).problem(t, 404, "invitation_not_found")
			}
		})
		t.Run("an invitation of a deleted workspace cannot be accepted until it is restored", func(t *testing.T) {
			other := r.user(t, "owner", "--workspace", "short-lived")
			token, _ := r.invite(t, other, "bob@example.com", "viewer")
			other.do(t, "DELETE", "/api/workspaces/"+other.workspace, nil).is(t, 204)
			accept(t, bob, token).problem(t, 404, "invitation_not_found")
			r.must(t, "workspace", "restore", "short-lived")
			accept(t, bob, token).is(t, 200)
		})
		t.Run("the audit trail records invitations without link and address", func(t *testing.T) {
			r.leaves(t, []string{"invitation.created", "invitation.renewed", "invitation.withdrawn",
				"invitation.accepted", "member.added"}, "ann@", "bob@", "carl@", "dora@", "eve@", "Ann@", "BOB@")
			owner.recordsJoins(t)
		})
	})
}

func TestInvitationsWithoutSignIn(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	owner := s.user(t, "owner")
	response := owner.create(t, "/api/workspaces/"+owner.workspace+"/invitations",
		object{"email": "ann@example.com", "role": "viewer"})
	// below server.addr, as it is configured
	token, ok := strings.CutPrefix(response.at("accept_url"), "http://127.0.0.1:0/console/join#token=")
	if !ok {
		t.Error(response)
	}
	accept(t, owner, token).problem(t, 409, "sign_in_not_configured")
}
