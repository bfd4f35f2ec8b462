package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTheConsoleWaitsForAnInvitation signs in somebody who is in no workspace, and is added to one later.
func TestTheConsoleWaitsForAnInvitation(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	owner, person := s.user(t, "owner"), s.user(t, "member")
	link := s.link(t, person.email)
	owner.do(t, "DELETE", "/api/workspaces/default/members/"+person.id, nil).is(t, 204)
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+link)
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "You are not in a workspace yet. Ask for an invitation.")
	keep(ctx, t, "console-no-workspace")
	presses(ctx, t, "Try again")
	reads(ctx, t, "You are not in a workspace yet.")
	s.byCommand(t, "user", "create", "--json", "--email", person.email, "--role", "member")
	s.await(t, func() bool { // the server finds within a second what a command has changed
		return drive(ctx, t, chromedp.Evaluate[bool](`{
			[...document.querySelectorAll('button')].find((b) => b.innerText === 'Try again')?.click()
			location.pathname.endsWith('/prompts')
		}`))
	})
}

// noSuchKind opens the address of a kind of connection that there is not. It runs as a part of TestWorkInTheConsole.
func noSuchKind(ctx context.Context, t *testing.T) {
	t.Helper()
	goes(ctx, t, "connections/new/paper")
	reads(ctx, t, "There is no such kind of connection.")
}

// viewersChat shows a chat to somebody who may only view it. It runs as a part of TestWorkInTheConsole.
func viewersChat(t *testing.T, s *server, owner *client) {
	t.Helper()
	viewer := s.user(t, "member")
	chat := owner.create(t, chats, object{"name": "Only to look at"}).at("id")
	owner.create(t, chats+"/"+chat+"/members", object{"user_id": viewer.id, "role": "viewer"})
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, viewer.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	holds(ctx, t, `location.pathname.endsWith('/prompts')`)
	goes(ctx, t, "chats/"+chat)
	reads(ctx, t, "You have the viewer role in this chat, so you cannot change it.")
	keep(ctx, t, "console-viewers-chat")
	if drive(ctx, t, chromedp.Evaluate[bool](
		`[...document.querySelectorAll('main button')].some((b) => b.innerText === 'Save')`)) {
		t.Error("a viewer is offered Save")
	}
	if !drive(ctx, t, chromedp.Evaluate[bool](`document.querySelector('main [name=name]').matches(':disabled')`)) {
		t.Error("a viewer can type another name")
	}
}
