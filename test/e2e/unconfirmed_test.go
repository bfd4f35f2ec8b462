package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// mailServer returns a stand-in and the settings of a server that mails through it.
func mailServer(t *testing.T) (*fixture.SMTP, []option) {
	t.Helper()
	smtp := fixture.NewSMTP(t, "none")
	return smtp, []option{set("mail.smtp.addr", smtp.Addr()), set("mail.smtp.from", "atrium@example.com"),
		set("mail.smtp.tls", "none")}
}

// linkTo waits for the newest letter to an address with a subject, and returns the token of its sign-in link.
func (s *server) linkTo(t *testing.T, smtp *fixture.SMTP, address, subject string) string {
	t.Helper()
	var token string
	awaits(t, subject+" to "+address, s, func() bool {
		for _, letter := range smtp.Letters() {
			_, rest, hasLink := strings.Cut(letter.Text, "/console/sign-in#token=")
			if hasLink && letter.To == address && strings.Contains(letter.Subject, subject) {
				token, _, _ = strings.Cut(rest, "\n")
			}
		}
		return token != ""
	})
	return token
}

// names returns the names of the members of an object, sorted.
func (a *answer) names(t *testing.T) []string {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(a.text), &members))
	return slices.Sorted(maps.Keys(members))
}

// TestMailboxesAreAsked joins by the invitations of one's own workspace.
func TestMailboxesAreAsked(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		smtp, options := mailServer(t)
		s := start(t, engine, options...)
		operator, owner := s.user(t, "owner", "--operator"), s.user(t, "owner", "--workspace", "acme")
		invite := func(t *testing.T, by *client, email, role string) *answer {
			t.Helper()
			return by.do(t, "POST", "/api/workspaces/"+by.workspace+"/invitations",
				object{"email": email, "role": role})
		}
		joins := func(t *testing.T, email, role string, headers ...string) *client {
			t.Helper()
			token := tokenIn(invite(t, owner, email, role).is(t, 201).at("accept_url"))
			a := s.anonymous().do(t, "POST", joinByInvitation, object{"token": token}, headers...)
			session, _ := a.session(t, s)
			session.workspace, session.id, session.email = owner.workspace, a.at("user.id"), email
			return session
		}
		expectConfirmed := func(t *testing.T, id, want string) {
			t.Helper()
			operator.get(t, "/api/people/"+id).has(t, map[string]string{"email_verified": want})
		}
		t.Run("a person who joins can invite when their mailbox has confirmed the address", func(t *testing.T) {
			bob := joins(t, "bob@example.com", "admin", s.onLocalhost())
			expectConfirmed(t, bob.id, "false")
			invite(t, bob, "carl@example.com", "viewer").problem(t, 403, "address_unconfirmed")
			program := bob.create(t, "/api/api-keys", object{"name": "p", "kind": "service", "role_ceiling": "admin"})
			key := &client{server: s, token: program.at("token"), workspace: owner.workspace}
			invite(t, key, "carl@example.com", "viewer").problem(t, 403, "address_unconfirmed")
			laptop := s.authenticator(t)
			bob.addsPasskey(t, laptop, "Laptop", s.onLocalhost())

			token := s.linkTo(t, smtp, "bob@example.com", "Confirm")
			second, _ := bob.do(t, "POST", openSessions, object{"token": token}, s.onLocalhost()).session(t, s)
			expectConfirmed(t, bob.id, "true")
			second.get(t, "/api/me").has(t, map[string]string{"user.id": bob.id})
			bob.get(t, "/api/me").is(t, 200) // the same person confirmed
			s.signsIn(t, laptop, s.onLocalhost()).is(t, 201)
			invite(t, bob, "carl@example.com", "viewer").is(t, 201)
			invite(t, key, "dora@example.com", "viewer").is(t, 201)
			if r := s.run(t, "user", "show", "--email", "bob@example.com"); !strings.Contains(r.stdout, "by mailbox") {
				t.Errorf("the command says %s", r.stdout)
			}
			owner.get(t, "/api/events?type=user.updated&subject="+bob.id).
				has(t, map[string]string{"data.0.data.email_verified_by": "mailbox"})
		})
		t.Run("a person whose address an inviter has taken gets the account, and the inviter loses it",
			func(t *testing.T) {
				squatter := joins(t, "ceo@example.com", "admin", s.onLocalhost())
				personal := squatter.create(t, "/api/api-keys", object{"name": "own", "role_ceiling": "admin"})
				program := squatter.create(t, "/api/api-keys",
					object{"name": "p", "kind": "service", "role_ceiling": "admin"})
				laptop := s.authenticator(t)
				squatter.addsPasskey(t, laptop, "Laptop", s.onLocalhost())
				r := s.run(t, "user", "show", "--email", "ceo@example.com")
				if !strings.Contains(r.stdout, "unconfirmed") {
					t.Errorf("the command says %s", r.stdout)
				}
				s.linkTo(t, smtp, "ceo@example.com", "Confirm") // which the person ignores
				s.sql(t, `DELETE FROM invitation_mails`)        // a day later
				s.anonymous().do(t, "POST", mailLinks, object{"email": "ceo@example.com"}).is(t, 202)
				awaits(t, "a second mail", s, func() bool {
					var mails int
					for _, letter := range smtp.Letters() {
						if letter.To == "ceo@example.com" && strings.Contains(letter.Subject, "Confirm") {
							mails++
						}
					}
					return mails == 2
				})
				person, _ := s.opens(t, s.linkTo(t, smtp, "ceo@example.com", "Confirm"))
				person.get(t, "/api/me").has(t, map[string]string{"user.id": squatter.id})
				expectConfirmed(t, squatter.id, "true")
				squatter.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
				for _, key := range []*answer{personal, program} {
					caller := &client{server: s, token: key.at("token")}
					caller.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
				}
				s.signsIn(t, laptop, s.onLocalhost()).problem(t, 401, "passkey_invalid")
				person.get(t, "/api/me/passkeys").has(t, map[string]string{"data": "[]"})
			})
		t.Run("an operator who prints a link vouches for the address", func(t *testing.T) {
			dan := joins(t, "dan@example.com", "admin")
			s.opens(t, s.link(t, dan.email))
			expectConfirmed(t, dan.id, "true")
			dan.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated") // another browser has confirmed
		})
		t.Run("neither inviting nor the link tells whether an address has an account", func(t *testing.T) {
			stranger := s.user(t, "owner", "--workspace", "theirs")
			var answers, previews []string
			for _, email := range []string{"nobody@example.com", stranger.email} {
				a := invite(t, owner, email, "viewer").is(t, 201)
				preview := s.anonymous().do(t, "POST", previewInvitation, object{"token": tokenIn(a.at("accept_url"))})
				preview.is(t, 200)
				answers = append(answers, a.at("mailed")+a.at("status")+strings.Join(a.names(t), " "))
				previews = append(previews, preview.at("sign_in")+strings.Join(preview.names(t), " "))
			}
			require.Equal(t, "the invitation", answers[0], answers[1])
			require.Equal(t, "the preview", previews[0], previews[1])
		})
		t.Run("who has an account gets a link by trying to join", func(t *testing.T) {
			holder := s.user(t, "owner", "--workspace", "known")
			token := tokenIn(invite(t, owner, holder.email, "viewer").is(t, 201).at("accept_url"))
			s.anonymous().do(t, "POST", joinByInvitation, object{"token": token}).problem(t, 409, "sign_in_required")
			session, _ := s.opens(t, s.linkTo(t, smtp, holder.email, "sign-in link"))
			session.do(t, "POST", "/api/invitations/accept", object{"token": token}).is(t, 200)
		})
	})
}
