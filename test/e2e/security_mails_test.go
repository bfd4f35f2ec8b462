package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// lettersTo returns the letters to an address, oldest first.
func lettersTo(smtp *fixture.SMTP, address string) (all []fixture.Letter) {
	for _, letter := range smtp.Letters() {
		if letter.To == address {
			all = append(all, letter)
		}
	}
	return all
}

// devices returns the cookie in which a browser keeps who has signed in with it.
func (a *answer) devices(t *testing.T) string {
	t.Helper()
	for _, text := range a.header["Set-Cookie"] {
		if c, err := http.ParseSetCookie(text); err == nil && strings.Contains(c.Name, "device") {
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge != 400*24*3600 {
				t.Errorf("the cookie is %s", text)
			}
			return c.Name + "=" + c.Value
		}
	}
	t.Fatalf("no cookie in %v", a.header["Set-Cookie"])
	return ""
}

// TestPeopleAreToldOfChangesOfTheirAccounts does what someone with a stolen credential would do.
func TestPeopleAreToldOfChangesOfTheirAccounts(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		smtp, options := mailServer(t)
		s := start(t, engine, append(options, set("server.rate_limit.sign_ins_per_minute", "1000"))...)
		operator, ann, local := s.user(t, "owner", "--operator"), s.user(t, "member"), s.onLocalhost()
		// tells expects the next letter to ann, and forgets when it was sent: the next one is mailed at once, too.
		count := 0
		tells := func(t *testing.T, subject string, parts ...string) {
			t.Helper()
			awaits(t, subject, s, func() bool { return len(lettersTo(smtp, ann.email)) > count })
			letters := lettersTo(smtp, ann.email)
			assert.Equal(t, "letters", len(letters), count+1)
			assert.Equal(t, "the subject", letters[count].Subject, subject)
			for _, part := range append(parts, "If you did not: sign in at") {
				assert.Contains(t, "the letter", letters[count].Text, part)
			}
			count = len(letters)
			awaits(t, "the end of the job", s, func() bool {
				return s.column(t, `SELECT COUNT(*) FROM jobs WHERE kind = 'user.notice' AND ended_at = 0`)[0] == "0"
			})
			s.sql(t, `DELETE FROM invitation_mails`)
		}
		first := s.anonymous().create(t, openSessions, object{"token": s.link(t, ann.email)}, local)
		in, _ := first.session(t, s)
		in.workspace = ann.workspace

		t.Run("a new passkey", func(t *testing.T) {
			in.addsPasskey(t, s.authenticator(t), "Laptop", local)
			tells(t, "A passkey was added to your account", "a passkey was added")
		})
		t.Run("a new API key", func(t *testing.T) {
			in.create(t, apiKeys, object{"name": "Deploy 1"}, local)
			tells(t, "An API key was created in your account", `an API key was created ("Deploy")`)
		})
		t.Run("a sign-in with another browser, but not with one that the person has used", func(t *testing.T) {
			devices := first.devices(t)
			_, secondID := s.opens(t, s.link(t, ann.email), local, "Cookie: "+devices)
			_, id := s.opens(t, s.link(t, ann.email), local)
			tells(t, "A new sign-in to your account", "a browser signed in that had not opened the account before")
			kinds := func(session string) []string {
				t.Helper()
				return operator.get(t, "/api/events?subject="+session).each(t, "type")
			}
			assert.EqualSlice(t, "events of the known browser", kinds(secondID), []string{"session.started"})
			assert.EqualSlice(t, "events of the other one", kinds(id),
				[]string{"session.device_added", "session.started"})
		})
		t.Run("a browser of another person, whose cookie names only that person", func(t *testing.T) {
			bob := s.user(t, "member")
			theirs := s.anonymous().create(t, openSessions, object{"token": s.link(t, bob.email)}, local).devices(t)
			pair := s.anonymous().create(t, openSessions, object{"token": s.link(t, ann.email)}, local,
				"Cookie: "+theirs).
				devices(t)
			tells(t, "A new sign-in to your account")
			for _, person := range []*client{ann, bob} {
				_, id := s.opens(t, s.link(t, person.email), local, "Cookie: "+pair)
				operator.get(t, "/api/events?subject="+id).has(t,
					map[string]string{"data.0.type": "session.started", "data.1": ""})
			}
			name, _, _ := strings.Cut(pair, "=")
			s.opens(t, s.link(t, ann.email), local, "Cookie: "+name+"=made-up")
			tells(t, "A new sign-in to your account")
		})
		t.Run("the right of an operator", func(t *testing.T) {
			operator.do(t, "PUT", "/api/people/"+ann.id+"/operator", object{"operator": true}).is(t, 204)
			tells(t, "You are an operator now", "the account became an operator")
			operator.do(t, "PUT", "/api/people/"+ann.id+"/operator", object{"operator": false}).is(t, 204)
			s.must(t, "user", "update", "--email", ann.email, "--operator")
			tells(t, "You are an operator now")
		})
		t.Run("no one floods a mailbox, or delays the mail of another person", func(t *testing.T) {
			for i := range 30 {
				in.create(t, apiKeys, object{"name": fmt.Sprint("key ", i)}, local)
			}
			awaits(t, "the first letter", s, func() bool { return len(lettersTo(smtp, ann.email)) > count })
			for i := range 30 {
				in.create(t, apiKeys, object{"name": fmt.Sprint("later ", i)}, local)
			}
			in.addsPasskey(t, s.authenticator(t), "Phone", local)
			bob := s.user(t, "member")
			bob.create(t, apiKeys, object{"name": "first"})
			awaits(t, "the mail of another person", s, func() bool { return len(lettersTo(smtp, bob.email)) > 0 })
			assert.Equal(t, "letters", len(lettersTo(smtp, ann.email)), count+1)
			// Ten minutes later everything else is in one mail.
			s.sql(t, `UPDATE invitation_mails SET sent = replace(sent, '"sent":[1', '"sent":[')
				WHERE scope LIKE 'notices %'`)
			s.sql(t, `UPDATE jobs SET due_at = 0 WHERE kind = 'user.notice' AND ended_at = 0`)
			awaits(t, "the second letter", s, func() bool { return len(lettersTo(smtp, ann.email)) > count+1 })
			letters := lettersTo(smtp, ann.email)
			assert.Equal(t, "letters", len(letters), count+2)
			assert.Equal(t, "its subject", letters[count+1].Subject, "Changes to your account")
			for _, part := range []string{
				"an API key was created", "a passkey was added", "and more of the same kind",
			} {
				assert.Contains(t, "the letter", letters[count+1].Text, part)
			}
		})
		t.Run("no log has an address, and no letter the client's", func(t *testing.T) {
			if log := s.stderr.String(); strings.Contains(log, ann.email) {
				t.Errorf("the log has %s: %s", ann.email, log)
			}
			for _, letter := range lettersTo(smtp, ann.email) {
				if strings.Count(letter.Text, "127.0.0.1") != strings.Count(letter.Text,
					"http://127.0.0.1:0/console/") {
					t.Errorf("the letter is %s", letter.Text)
				}
			}
		})
	})
}

// TestAnOrgWithoutSecurityMails switches the mails off. The audit trail stays.
func TestAnOrgWithoutSecurityMails(t *testing.T) {
	t.Parallel()
	smtp, options := mailServer(t)
	s := start(t, sqlite, append(options, configured("orgs: [{slug: default, security_mails: false}]"))...)
	ann := s.user(t, "owner")
	id := ann.create(t, apiKeys, object{"name": "Deploy"}).at("id")
	ann.get(t, "/api/events?subject="+id).has(t, map[string]string{"data.0.type": "api_key.created"})
	awaits(t, "the end of the job", s, func() bool {
		return s.column(t, `SELECT COUNT(*) FROM jobs WHERE kind = 'user.notice' AND state = 'succeeded'`)[0] == "1"
	})
	assert.Equal(t, "letters", len(smtp.Letters()), 0)
}
