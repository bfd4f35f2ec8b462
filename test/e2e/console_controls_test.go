package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// unpressed are controls that lead away from the console, or take away the rights of who presses them.
const unpressed = `["Sign out", "Pay on the provider’s page", "Manage cards and details", "Transfer"]`

// disposable makes things that may be deleted, for somebody with a role, and returns the screens of those that have
// one.
func disposable(t *testing.T, owner, person *client, role string) (found []screen) {
	t.Helper()
	s := owner.server
	prompt := func(by *client, name string) string {
		id := by.create(t, templates, object{"name": "throw-away/" + name, "visibility": "workspace"}).at("id")
		path := templates + "/" + id
		first := by.create(t, path+"/versions", object{"text": "Hello {{name}}"}).at("id")
		by.do(t, "POST", path+"/versions/"+first+"/activate", object{}).is(t, 200)
		by.create(t, path+"/versions", object{"text": "Good day {{name}}"})
		found = append(found, screen{path: "prompts/" + id})
		return path
	}
	chat := func(by *client, name string) string {
		id := by.create(t, "/api/chat-templates", object{"name": "throw-away " + name,
			"visibility": "workspace"}).at("id")
		found = append(found, screen{path: "chats/" + id})
		return "/api/chat-templates/" + id
	}
	if role != "viewer" {
		prompt(person, role)
		person.create(t, "/api/api-keys", object{"name": "throw-away " + role, "role_ceiling": "viewer"})
	}
	if role == "member" {
		chat(person, role)
		for _, sharedText := range []string{"editor", "manager"} {
			owner.create(t, prompt(owner, sharedText)+"/shares", object{"user_id": person.id, "role": sharedText})
			owner.create(t, chat(owner, sharedText)+"/members", object{"email": person.email, "role": sharedText})
		}
	}
	s.user(t, "viewer", "--name", "throw-away viewer")
	s.user(t, "owner", "--name", "throw-away owner")
	owner.create(t, "/api/groups", object{"name": "throw-away " + role})
	owner.create(t, "/api/webhooks", object{"url": "https://example.com/throw-away", "events": []string{"group.*"}})
	for _, invitation := range []string{"viewer", "owner"} {
		owner.create(t, "/api/workspaces/"+person.workspace+"/invitations",
			object{"email": "throw-away." + role + "." + invitation + "@example.com", "role": invitation})
	}
	owner.create(t, connections, object{"kind": "sqlite", "name": "throw-away " + role,
		"credential": object{"file": "demo.db"}})
	put(t, s, role+".csv", "Mail\nada@example.com\n")
	source := owner.create(t, sources, object{"type": "contacts", "name": "throw-away " + role,
		"location": object{"url": "file:" + role + ".csv", "header_row": 1},
		"mapping":  []object{{"field": "email", "column": "Mail"}}}).at("id")
	s.link(t, person.email)
	return append(found, screen{path: "sources/" + source})
}

// pressed clicks every control of every screen as somebody with a role, in dialogs and menus, too: none leads to a call
// that is refused or fails.
func pressed(t *testing.T, person, owner *client, role string, newScreens []screen) {
	t.Helper()
	s, begin := person.server, time.Now()
	ctx, console := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, person.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")
	toFront(ctx, t)
	script, err := os.ReadFile("testdata/console/controls.js")
	require.NoError(t, err)
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](string(script)))
	all := 0
	for _, item := range append(append(details(t, owner), screens...), append(newScreens, operatorScreens...)...) {
		if unlinked(role, item) {
			continue
		}
		found := drive(ctx, t, chromedp.Evaluate[struct {
			Clicks int
			Wrong  []string
		}](fmt.Sprintf(`walked('w/default/%s', %s)`, item.path, unpressed), chromedp.EvalAwaitPromise))
		if all += found.Clicks; found.Clicks == 0 {
			t.Errorf("%s: nothing on %s can be clicked", role, item.name())
		}
		for _, problem := range found.Wrong {
			t.Errorf("%s: %s", role, problem)
		}
	}
	// Chromium says so of every refused request: what a form says of a name that is taken, for example.
	saysNothing(ctx, t, console, "Failed to load resource")
	t.Logf("%s: %d clicks in %s", role, all, time.Since(begin).Round(time.Second/10))
}

// operatorScreens are the screens that only operators have.
var operatorScreens = []screen{{path: "people"}, {path: "people/directory"}, {path: "revenue"}}

// unlinked reports whether nothing leads a role to a screen.
func unlinked(role string, item screen) bool {
	switch {
	case strings.HasPrefix(item.path, "people") || item.path == "revenue":
		return role != "operator"
	case role == "viewer" && strings.Contains(item.path, "/new"):
		return true
	}
	return (role == "viewer" || role == "member") && (item.path == "settings/audit" || item.path == "settings/webhooks")
}

// toFront shows a tab: those behind others have no frames.
func toFront(ctx context.Context, t *testing.T) {
	t.Helper()
	drive(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.BringToFront, cdp.Empty{})
		return err
	}))
}

// TestControlsOfTheConsole takes the role in make test that is offered least, and all of them in make prove.
func TestControlsOfTheConsole(t *testing.T) {
	t.Parallel()
	s, owner, _ := demoServer(t, sqlite)
	roles := []string{"viewer", "member", "admin", "operator"}
	roles = roles[:proof.Sample(1, len(roles))]
	persons, newScreens := map[string]*client{}, map[string][]screen{}
	for _, role := range roles { // before any of them chooses a plan that has less
		if persons[role] = s.user(t, strings.Replace(role, "operator", "owner", 1)); role == "operator" {
			persons[role] = s.user(t, "owner", "--operator")
		}
		newScreens[role] = disposable(t, owner, persons[role], role)
	}
	for _, role := range roles {
		t.Run("nothing that is offered to a role is refused to it: "+role, func(t *testing.T) {
			pressed(t, persons[role], owner, role, newScreens[role])
		})
	}
}
