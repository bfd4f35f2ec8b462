package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
)

const mailLinks = "/api/auth/links"

// TestMailedLinks asks for links through a mail server. No response tells whether a person has the address.
func TestMailedLinks(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		smtp := fixture.NewSMTP(t, "none")
		s := start(t, engine, set("mail.smtp.addr", smtp.Addr()), set("mail.smtp.from", "atrium@example.com"),
			set("mail.smtp.tls", "none"))
		ann, bob := s.user(t, "member"), s.user(t, "member")
		ask := func(email string) *answer {
			t.Helper()
			return s.anonymous().do(t, "POST", mailLinks, object{"email": email}, "Request-Id: same").is(t, 202)
		}
		s.anonymous().get(t, "/api/auth/methods").has(t, map[string]string{"mail": "true"})
		first := ask("nobody@example.com")
		for name, email := range map[string]string{
			"no address": "not an address", "a person": strings.ToUpper(ann.email), "another person": bob.email,
		} {
			if a := ask(email); a.text != first.text || len(a.header) != len(first.header) {
				t.Errorf("%s: %s, %v, want %s, %v", name, a, a.header, first, first.header)
			}
		}
		ask(ann.email) // a second time within a minute
		seen := map[string]bool{}
		for _, letter := range waitForLetters(t, smtp, 2) {
			if seen[letter.To] {
				t.Errorf("%s got two letters", letter.To)
			}
			seen[letter.To] = true
			_, token, _ := strings.Cut(letter.Text, "/console/sign-in#token=")
			token, _, _ = strings.Cut(token, "\n")
			in, _ := s.opens(t, token)
			in.get(t, "/api/me").has(t, map[string]string{"user.email": letter.To})
		}
		if !seen[ann.email] || !seen[bob.email] {
			t.Errorf("letters went to %v", seen)
		}
		s.anonymous().do(t, "POST", mailLinks, object{"email": ann.email}, "Sec-Fetch-Site: cross-site").
			problem(t, 403, "cross_origin")
		s.anonymous().do(t, "POST", mailLinks, object{}).problem(t, 422, "invalid_fields")
		s.anonymous().do(t, "POST", mailLinks, `{"email"`).problem(t, 400, "malformed_json")
	})
}

// TestNoOneUsesUpTheLinksOfAnother asks for a person's links from many addresses before the person does.
func TestNoOneUsesUpTheLinksOfAnother(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		smtp := fixture.NewSMTP(t, "none")
		s := start(t, engine, set("mail.smtp.addr", smtp.Addr()), set("mail.smtp.from", "atrium@example.com"),
			set("mail.smtp.tls", "none"), set("mail.limits.address_per_day", "1"),
			configured("server: {trusted_proxies: [127.0.0.0/8]}\n"))
		ann := s.user(t, "member")
		ask := func(from string, mails int) (token string) {
			t.Helper()
			s.anonymous().do(t, "POST", mailLinks, object{"email": ann.email}, "X-Forwarded-For: "+from).is(t, 202)
			awaits(t, "the mail that was asked for from "+from, s, func() bool { return len(smtp.Letters()) >= mails })
			letters := smtp.Letters()
			if len(letters) != mails {
				t.Fatalf("%d mails after the one for %s, want %d", len(letters), from, mails)
			}
			_, token, _ = strings.Cut(letters[mails-1].Text, "/console/sign-in#token=")
			token, _, _ = strings.Cut(token, "\n")
			return token
		}
		first := ask("203.0.113.1", 1)
		ask("203.0.113.1", 1)
		for i := range 6 {
			ask("203.0.113."+strconv.Itoa(i+2), i+2)
		}
		second, third := ask("198.51.100.9", 8), ask("2001:db8::1", 9)
		ask("2001:db8::2", 9) // the same network
		in, _ := s.opens(t, first)
		in.get(t, "/api/me").has(t, map[string]string{"user.email": ann.email})
		for _, token := range []string{second, third} {
			s.anonymous().do(t, "POST", openSessions, object{"token": token}).problem(t, 401, "sign_in_link_invalid")
		}
	})
}

func TestOldSessionsUndoNothing(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	owner, bob := s.user(t, "owner", "--operator"), s.user(t, "member")
	in, _ := s.opens(t, s.link(t, owner.email))
	disable, workspace := "/api/people/"+bob.id+"/disable", "/api/workspaces/"+owner.workspace
	s.sql(t, `UPDATE sessions SET created_at = created_at - 601000000`)
	in.do(t, "POST", disable, nil).problem(t, 403, "step_up_required")
	in.do(t, "POST", "/api/people/"+bob.id+"/erase", nil).problem(t, 403, "step_up_required")
	in.do(t, "DELETE", workspace, nil).problem(t, 403, "step_up_required")
	in.do(t, "PATCH", workspace, object{"name": "Other"}).is(t, 200)
	second, _ := s.opens(t, s.link(t, owner.email))
	transfer, carl := workspace+"/transfer", s.user(t, "member")
	program := owner.create(t, "/api/api-keys", object{"name": "p", "kind": "service", "role_ceiling": "member"})
	in.do(t, "POST", transfer, object{"user_id": carl.id}).problem(t, 403, "step_up_required")
	second.do(t, "POST", transfer, object{"user_id": "usr_none"}).problem(t, 404, "member_not_found")
	for _, destination := range []string{owner.id, program.at("user_id")} {
		second.do(t, "POST", transfer, object{"user_id": destination}).problem(t, 409, "transfer_refused")
	}
	second.do(t, "POST", disable, nil).is(t, 204)
	second.do(t, "POST", transfer, object{"user_id": bob.id}).problem(t, 409, "transfer_refused") // who is disabled
	second.do(t, "POST", transfer, object{"user_id": carl.id}).is(t, 200).
		has(t, map[string]string{"user_id": carl.id, "role": "owner"})
	owner.get(t, "/api/events?type=workspace.transferred").
		has(t, map[string]string{"data.0.data.from": owner.id, "data.0.data.to": carl.id})
	second.do(t, "DELETE", workspace, nil).problem(t, 403, "forbidden") // an admin now
	hisClient, _ := s.opens(t, s.link(t, carl.email))
	hisClient.do(t, "DELETE", workspace, nil).is(t, 204)
}

// TestALinkNamesItsAccountBeforeItIsUsed opens the link of one person in the browser of another one.
func TestALinkNamesItsAccountBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	ann, eve := s.user(t, "owner"), s.user(t, "owner")
	preview := func(token string, headers ...string) *answer {
		t.Helper()
		return s.anonymous().do(t, "POST", mailLinks+"/preview", object{"token": token}, headers...)
	}
	t.Run("its bearer may read whose it is, as often as they like", func(t *testing.T) {
		link := s.link(t, eve.email)
		for range 20 { // more than the attempts that may fail
			preview(link).is(t, 200).has(t, map[string]string{"user_id": eve.id, "email": eve.email})
		}
		preview(link, "Sec-Fetch-Site: cross-site").problem(t, 403, "cross_origin")
		s.opens(t, link)
		preview(link).problem(t, 401, "sign_in_link_invalid")
		preview(ann.token).problem(t, 401, "sign_in_link_invalid")
		s.anonymous().do(t, "POST", mailLinks+"/preview", object{}).problem(t, 422, "invalid_fields")
		s.anonymous().do(t, "POST", mailLinks+"/preview", `{"token"`).problem(t, 400, "malformed_json")
	})
	t.Run("the page names the account, and asks before it replaces a session", func(t *testing.T) {
		chromium := browser(t)
		ctx, _ := tab(t, chromium, s.url+"/console/sign-in#token="+s.link(t, ann.email))
		reads(ctx, t, "This link signs you in as")
		reads(ctx, t, ann.email)
		clicks(ctx, t, "#use-link")
		reads(ctx, t, "There are no prompts yet.")
		other, _ := tab(t, chromium, s.url+"/console/sign-in#token="+s.link(t, eve.email))
		reads(other, t, "You are signed in here as")
		reads(other, t, ann.email)
		reads(other, t, "Change to")
		keep(other, t, "sign-in-replaces")
		clicks(other, t, "#use-link")
		reads(other, t, "There are no prompts yet.")
		drive(other, t, poll[bool](`localStorage.getItem('atrium_person') === '`+eve.id+`'`))
	})
	t.Run("a link that was used leads to the other ways", func(t *testing.T) {
		link := s.link(t, eve.email)
		s.opens(t, link)
		ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+link)
		reads(ctx, t, "Sign in with the key")
	})
	t.Run("who guesses is stopped", func(t *testing.T) {
		s := start(t, sqlite, set("server.rate_limit.sign_ins_per_minute", "3"))
		s.await(t, func() bool {
			return s.anonymous().do(t, "POST", mailLinks+"/preview", object{"token": "atl_none"}).status == 429
		})
	})
}
