package e2e

import (
	"testing"
)

// TestAPersonJoinsByThePage opens the links of invitations where no issuer is configured.
func TestAPersonJoinsByThePage(t *testing.T) {
	t.Parallel()
	smtp, options := mailServer(t)
	s := start(t, sqlite, options...)
	owner, guest := s.user(t, "owner"), s.user(t, "owner", "--workspace", "theirs")
	page := func(email string) string {
		t.Helper()
		a := owner.do(t, "POST", "/api/workspaces/"+owner.workspace+"/invitations",
			object{"email": email, "role": "viewer"}).is(t, 201)
		return s.url + "/console/join#token=" + tokenIn(a.at("accept_url"))
	}
	chromium := browser(t)
	t.Run("a new person joins, and confirms the address in the same browser", func(t *testing.T) {
		ctx, _ := tab(t, chromium, page("new@example.com"))
		reads(ctx, t, "Join with a new account or, if you have one, sign in")
		types(ctx, t, "#name", "Bob Ray")
		clicks(ctx, t, "#join button")
		reads(ctx, t, "We have mailed you a link.")
		reads(ctx, t, "Signed in as Bob Ray")
		link, _ := tab(t, chromium, s.url+"/console/sign-in#token="+s.linkTo(t, smtp, "new@example.com", "Confirm"))
		clicks(link, t, "#use-link")
		reads(link, t, "There are no prompts yet.")
		s.anonymous().do(t, "POST", mailLinks, object{"email": "new@example.com"}).is(t, 202)
	})
	t.Run("a person with an account is asked to sign in, and then accepts", func(t *testing.T) {
		chromium := browser(t) // in which no one is signed in
		address := page(guest.email)
		ctx, _ := tab(t, chromium, address)
		reads(ctx, t, "Join with a new account or, if you have one, sign in")
		clicks(ctx, t, "#join button")
		reads(ctx, t, "This address has an account.")
		link, _ := tab(t, chromium, s.url+"/console/sign-in#token="+s.linkTo(t, smtp, guest.email, "sign-in link"))
		clicks(link, t, "#use-link")
		reads(link, t, "There are no prompts yet.")
		reads(ctx, t, "Accept the invitation") // the page has noticed the session
		clicks(ctx, t, "#accept-now")
		reads(ctx, t, "You joined")
	})
}
