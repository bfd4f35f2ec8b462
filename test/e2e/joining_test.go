package e2e

import (
	"strings"
	"testing"
)

const previewInvitation, joinByInvitation = "/api/invitations/preview", "/api/invitations/join"

// invites invites somebody to a workspace of the org on a host, and returns the token.
func (h *testWorkspace) invites(t *testing.T, host string) string {
	t.Helper()
	by := h.owner
	if host == onBlue {
		by = h.blue
	}
	a := by.create(t, "/api/workspaces/"+by.workspace+"/invitations", object{"email": somebody(), "role": "viewer"},
		host)
	return tokenIn(a.at("accept_url"))
}

// tokenIn returns the token that an accept_url ends with.
func tokenIn(url string) string { return url[strings.LastIndexAny(url, "/=")+1:] }

func TestJoining(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		owner := s.user(t, "owner")
		owner.do(t, "PATCH", "/api/me", object{"name": "Ann Lee"}).is(t, 200)
		invite := func(by *client, email string) string { // or renews the invitation
			t.Helper()
			url := by.do(t, "POST", "/api/workspaces/"+by.workspace+"/invitations",
				object{"email": email, "role": "member"}).at("accept_url")
			if !strings.HasPrefix(url, "http://127.0.0.1:0/console/join#token=ati_") {
				t.Errorf("the link is %s", url)
			}
			return tokenIn(url)
		}
		preview := func(token string) *answer {
			t.Helper()
			return s.anonymous().do(t, "POST", previewInvitation, object{"token": token})
		}
		join := func(token string, headers ...string) *answer {
			t.Helper()
			return s.anonymous().do(t, "POST", joinByInvitation, object{"token": token, "name": "Bob Ray"}, headers...)
		}
		t.Run("the token shows who invites to what, and makes the account, membership and session", func(t *testing.T) {
			token := invite(owner, "bob@example.com")
			for range 2 {
				preview(token).is(t, 200).has(t,
					map[string]string{"workspace_name": "default", "inviter_name": "Ann Lee",
						"email": "bob@example.com", "role": "member", "sign_in": "false"})
			}
			a := join(token).is(t, 201).has(t,
				map[string]string{"user.email": "bob@example.com", "user.name": "Bob Ray",
					"session.source": "invitation"})
			cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
			bob := &client{server: s, cookie: cookie, proof: a.at("proof"), workspace: owner.workspace}
			bob.get(t, "/api/me").has(t, map[string]string{"role": "member", "workspace.id": owner.workspace})
			preview(token).problem(t, 404, "invitation_not_found")
			join(token).problem(t, 404, "invitation_not_found")

			other := s.user(t, "owner", "--workspace", "other")
			second := invite(other, "bob@example.com")
			preview(second).is(t, 200).has(t, map[string]string{"sign_in": "false"}) // the inviter reads it, too
			bob.do(t, "POST", "/api/invitations/accept", object{"token": second}).is(t, 200)
			owner.recordsJoins(t)
			other.recordsJoins(t)
		})
		t.Run("an inviter does not become a person who has an account", func(t *testing.T) {
			victim, other := s.user(t, "owner", "--workspace", "theirs"), s.user(t, "owner", "--workspace", "trap")
			join(invite(other, victim.email)).problem(t, 409, "sign_in_required")
			join(invite(other, strings.ToUpper(victim.email))).problem(t, 409, "sign_in_required")
		})
		t.Run("an expired invitation is refused, and no account is left", func(t *testing.T) {
			token := invite(owner, "late@example.com")
			s.sql(t, `UPDATE invitations SET expires_at = 1 WHERE email = 'late@example.com'`)
			join(token).problem(t, 409, "invitation_expired")
			if r := s.run(t, "user", "show", "--email", "late@example.com"); r.code != 1 {
				t.Errorf("it ended with %d: %s", r.code, r.stdout)
			}
		})
		t.Run("what is refused", func(t *testing.T) {
			token := invite(owner, "carl@example.com")
			join(token, "Sec-Fetch-Site: cross-site").problem(t, 403, "cross_origin")
			join(token, "Host: atrium.example.com").problem(t, 403, "https_required")
			s.anonymous().do(t, "POST", previewInvitation, object{"token": token}, "Sec-Fetch-Site: cross-site").
				problem(t, 403, "cross_origin")
			for _, path := range []string{previewInvitation, joinByInvitation} {
				s.anonymous().do(t, "POST", path, object{"token": "ati_x"}).problem(t, 404, "invitation_not_found")
				s.anonymous().do(t, "POST", path, `{"token"`).problem(t, 400, "malformed_json")
				s.anonymous().do(t, "POST", path, object{}).problem(t, 422, "invalid_fields")
			}
			join(token).is(t, 201)
		})
	})
}
