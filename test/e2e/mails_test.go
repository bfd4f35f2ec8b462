package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// TestMails invites through a mail server. The number of mails is limited, and the inviter loses nothing.
func TestMails(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		smtp := fixture.NewSMTP(t, "none")
		s := start(t, engine, set("mail.smtp.addr", smtp.Addr()), set("mail.smtp.from", "atrium@example.com"),
			set("mail.smtp.tls", "none"),
			set("mail.limits.user_per_hour", "4"), set("mail.limits.address_per_day", "2"))
		owner, cannon := s.user(t, "owner"), s.user(t, "admin")
		invite := func(t *testing.T, by *client, email, mail string, headers ...string) *answer {
			t.Helper()
			previous := len(smtp.Letters())
			response := by.do(t, "POST", "/api/workspaces/"+by.workspace+"/invitations",
				object{"email": email, "role": "viewer"}, headers...).has(t, map[string]string{"mailed": mail})
			if response.status >= 300 || !strings.Contains(response.at("accept_url"), "ati_") {
				t.Fatal(response)
			}
			want := previous
			if mail == "true" && response.header.Get("Idempotency-Replayed") == "" {
				want++
			}
			if got := smtp.Letters(); len(got) != want || (want > previous &&
				(got[previous].To != email || !strings.Contains(got[previous].Text, response.at("accept_url")))) {
				t.Fatalf("%d letters after %d: %+v", len(got), previous, got)
			}
			return response
		}

		t.Run("withdrawing and inviting in turns sends no more than the limit of a user", func(t *testing.T) {
			for i := range 8 {
				mail := "true"
				if i >= 4 {
					mail = "false"
				}
				response := invite(t, cannon, fmt.Sprint("stranger-", i, "@example.com"), mail)
				cannon.do(t, "DELETE", "/api/workspaces/"+cannon.workspace+"/invitations/"+response.at("id"),
					nil).is(t, 204)
			}
		})
		t.Run("a mailbox gets no more than its limit, however it is spelt", func(t *testing.T) {
			for i, mail := range []string{"true", "true", "false"} {
				invite(t, owner, fmt.Sprintf("victim+%d@example.com", i), mail)
			}
		})
		t.Run("a repeated request mails nothing", func(t *testing.T) {
			other := s.user(t, "owner")
			key := "Idempotency-Key: invite-once"
			first := invite(t, other, "once@example.com", "true", key)
			item := invite(t, other, "once@example.com", "false", key)
			if item.header.Get("Idempotency-Replayed") != "true" || item.at("accept_url") != first.at("accept_url") {
				t.Error(item)
			}
			refusal := other.do(t, "POST", "/api/workspaces/"+other.workspace+"/invitations",
				object{"email": "once@example.com", "role": "owner"}, key)
			refusal.is(t, 422)
		})
		t.Run("nothing is mailed to a machine", func(t *testing.T) {
			for _, email := range []string{"root@localhost", "a@[127.0.0.1]"} {
				invite(t, owner, email, "false")
			}
		})
		t.Run("names carry no message", func(t *testing.T) {
			loud := s.user(t, "owner")
			name := "URGENT call 1 900 555 0199 or https://evil.example now!! " + strings.Repeat("x", 60)
			loud.do(t, "PATCH", "/api/workspaces/"+loud.workspace, object{"name": name}).is(t, 200)
			invite(t, loud, "reader@example.com", "true")
			letters := smtp.Letters()
			if text := letters[len(letters)-1].Text; !strings.Contains(text,
				`"URGENT call or https evil example now x…"`) {
				t.Error(text)
			}
		})
		t.Run("an invitation for a chat template counts too, and says whether it was mailed", func(t *testing.T) {
			chat := chats + "/" + owner.create(t, chats, object{"name": "Support"}).at("id")
			for i, mail := range []string{"true", "false"} {
				if i == 1 {
					smtp.Answer("RCPT", "550 5.1.1 no such user")
				}
				owner.create(t, chat+"/members", object{"email": fmt.Sprint("guest-", i, "@example.com"),
					"role": "viewer"}).has(t, map[string]string{"mailed": mail})
			}
			owner.create(t, chat+"/members", object{"email": "guest-2@example.com", "role": "viewer"}).has(t,
				map[string]string{"mailed": "false"})
			assert.Equal(t, "letters", len(smtp.Letters()), 9)
			if a := owner.create(t, chat+"/members", object{"user_id": cannon.id, "role": "viewer"}); strings.Contains(
				a.text, "mailed") {
				t.Error(a)
			}
		})
		t.Run("limits of mails survive a restart", func(t *testing.T) {
			s.stop(t)
			second := s.deployment.start(t)
			invite(t, cannon.at(second), "restarted@example.com", "false")
		})
	})
}
