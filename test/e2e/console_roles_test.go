package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// refusals names the calls of a page that were answered 403, since it was evaluated before.
const refusals = `(() => {
	const found = performance.getEntriesByType('resource').filter((e) => e.responseStatus === 403)
	performance.clearResourceTimings()
	return found.map((e) => new URL(e.name).pathname).join(' ')
})()`

// permitted walks through every screen, and every tab on them, as somebody with a role: what a page shows
// never asks for what the role is refused.
func permitted(t *testing.T, s *server, owner *client, role string) {
	t.Helper()
	var person *client
	if role == "operator" {
		person = s.user(t, "owner", "--operator")
	} else {
		person = s.user(t, role)
	}
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, person.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")
	all := append(details(t, owner), screens...)
	if role == "operator" {
		all = append(all, operatorScreens...)
	}
	for _, position := range all {
		if unlinked(role, position) {
			continue
		}
		goes(ctx, t, position.path)
		drive(ctx, t, poll[bool](`document.querySelector('main h1') !== null`))
		loaded(ctx, t)
		tabs := 0
		if !strings.HasPrefix(position.path, "settings/") { // whose tabs are screens
			tabs = drive(ctx, t, chromedp.Evaluate[int](`document.querySelectorAll('main [role=tab]').length`))
		}
		for i := range tabs {
			opens(ctx, t, i)
			loaded(ctx, t)
		}
		if found := drive(ctx, t, chromedp.Evaluate[string](refusals)); found != "" {
			t.Errorf("%s: %s may not call %s", role, position.name(), found)
		}
	}
}

// opens clicks the tab with a number, if the page still has it.
func opens(ctx context.Context, t *testing.T, number int) {
	t.Helper()
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](
		fmt.Sprintf(`document.querySelectorAll('main [role=tab]')[%d]?.click()`, number)))
}

// loaded waits until nothing on the page is being loaded.
func loaded(ctx context.Context, t *testing.T) {
	t.Helper()
	drive(ctx, t, poll[bool](`![...document.querySelectorAll('main [role=status]')]
		.some((e) => e.innerText === 'Loading…')`))
}
