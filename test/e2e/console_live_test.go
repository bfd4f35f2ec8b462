package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// shownLive is a screen, what somebody else changes, and what the screen then shows.
type shownLive struct {
	path    string
	presses []string // a tab, or a button that opens a dialog
	loaded  string   // a text, when the screen has loaded
	change  func()
	shows   string
}

// anotherRow is in shows if the screen then has another row in its tables.
const anotherRow = "another row"

// inTheTrail is in shows if the audit trail then has it in the details of an event, which are closed. The number of
// rows cannot show it, since the trail shows the last 50 events.
const inTheTrail = "Audited"

// TestTheConsoleShowsWhatOthersChange opens each screen, which no one touches while somebody else changes what it is
// about by the API. The tab hears of it from the one that signed in, which follows the events for both.
func TestTheConsoleShowsWhatOthersChange(t *testing.T) {
	t.Parallel()
	s, owner, _ := demoServer(t, sqlite)
	boss, eve := s.user(t, "owner", "--operator"), s.user(t, "owner")
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, boss.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")

	editor := s.user(t, "member")
	prompt := templates + "/" + owner.create(t, templates, object{"name": "live/prompt", "protected": true,
		"approvals": 1, "visibility": "workspace", "version": object{"text": "Hello", "activate": true}}).at("id")
	owner.create(t, prompt+"/shares", object{"user_id": editor.id, "role": "editor"})
	editor.create(t, prompt+"/versions", object{"text": "Hello there"})
	chat := "/api/chat-templates/" + boss.create(t, "/api/chat-templates", object{"name": "Live chat",
		"visibility": "workspace", "instructions": "Be kind.", "greeting": "Hello"}).at("id")
	for _, file := range []string{"live.csv", "other.csv"} {
		put(t, s, file, "Mail\nada@example.com\n")
	}
	at := object{"url": "file:live.csv", "header_row": 1}
	source := sources + "/" + owner.create(t, sources, object{"type": "contacts", "name": "Live sheet", "location": at,
		"mapping": []object{{"field": "email", "column": "Mail"}}}).at("id")
	group := "/api/groups/" + owner.create(t, "/api/groups", object{"name": "Live group"}).at("id")
	newText := func(path string) string { return path[strings.LastIndex(path, "/")+1:] }
	invites := func(email string) *answer {
		return eve.create(t, "/api/workspaces/"+eve.workspace+"/invitations", object{"email": email, "role": "member"})
	}
	joins := func(name string) (user, email string) {
		a := s.anonymous().do(t, "POST", joinByInvitation, object{"name": name,
			"token": tokenIn(invites(somebody()).at("accept_url"))}).is(t, 201)
		return a.at("user.id"), a.at("user.email")
	}

	all := []shownLive{
		{"prompts", nil, "support/answer-ticket", func() {
			eve.create(t, templates, object{"name": "live/another", "visibility": "workspace"})
		}, "live/another"},
		{"prompts/" + newText(prompt), nil, "Preview of v", func() {
			eve.do(t, "PATCH", prompt, object{"name": "live/renamed"}).is(t, 200)
		}, "live/renamed"},
		{"prompts/" + newText(prompt), []string{"History"}, " · Owner", func() {
			eve.do(t, "POST", prompt+"/versions/v1/activate", object{"reason": "Once more"})
			eve.do(t, "POST", prompt+"/versions/v2/activate", object{"reason": "A change of mind"}).is(t, 200)
		}, "A change of mind"},
		{"prompts/" + newText(prompt), []string{"Requests"}, "No activation has had to wait", func() {
			editor.create(t, prompt+"/versions", object{"text": "Good day"})
			editor.do(t, "POST", prompt+"/versions/v3/activate", object{"reason": "More polite"}).is(t, 202)
		}, "More polite"},
		{"prompts/" + newText(prompt), []string{"Shares"}, editor.email, func() {
			sam, _ := joins("Shared Sam")
			eve.create(t, prompt+"/shares", object{"user_id": sam, "role": "viewer"})
		}, "Shared Sam"},
		{"chats", nil, "Live chat", func() {
			eve.create(t, "/api/chat-templates", object{"name": "Another chat", "visibility": "workspace"})
		}, "Another chat"},
		{"chats/" + newText(chat), nil, "Greeting", func() {
			eve.do(t, "PATCH", chat, object{"name": "Renamed chat"}).is(t, 200)
		}, "Renamed chat"},
		{"chats/" + newText(chat), []string{"Members"}, "Viewers see the chat", func() {
			_, email := joins("Chatting Charlie")
			eve.create(t, chat+"/members", object{"email": email, "role": "viewer"})
		}, "Chatting Charlie"},
		{"chats/" + newText(chat), []string{"Embed"}, "New embed token", func() {
			eve.create(t, chat+"/embed-tokens", object{"name": "Live site",
				"allowed_origins": []string{"https://example.com"}})
		}, "Live site"},
		{"chats/" + newText(chat), []string{"History"}, "Nothing has been published", func() {
			eve.do(t, "POST", chat+"/versions/draft/publish", object{"reason": "Finally"}).is(t, 200)
		}, "Finally"},
		{"sources", nil, "Live sheet", func() {
			eve.create(t, sources, object{"type": "contacts", "name": "Another sheet",
				"location": object{"url": "file:other.csv", "header_row": 1}})
		}, "Another sheet"},
		{"sources/" + newText(source), nil, "2. Click its column", func() {
			eve.do(t, "PATCH", source, object{"name": "Renamed sheet"}).is(t, 200)
		}, "Renamed sheet"},
		{"connections", nil, "Demo shop", func() {
			eve.create(t, connections, object{"kind": "sqlite", "name": "Live database",
				"credential": object{"file": "demo.db"}})
		}, "Live database"},
		{"billing", nil, "Billing details", func() {
			eve.do(t, "PUT", "/api/payments/details", object{"name": "Live Limited"}).is(t, 200)
		}, "Live Limited"},
		{"settings/sessions", nil, "this one", func() { // boss signs in with another browser
			s.opens(t, s.link(t, boss.email))
		}, anotherRow},
		{"settings/passkeys", nil, "You have no passkeys.", func() {
			local := s.onLocalhost()
			in, _ := s.opens(t, s.link(t, boss.email), local)
			in.addsPasskey(t, s.authenticator(t), "Live passkey", local)
		}, "Live passkey"},
		{"presence", nil, "Set your status", func() {
			eve.create(t, presences, object{"text": "On the board"})
		}, "On the board"},
		{"settings/members", nil, boss.email, func() { joins("Joining Jo") }, "Joining Jo"},
		{"settings/members", nil, boss.email, func() {
			invites("live@example.com")
		}, "live@example.com"},
		{"settings/groups", nil, "Live group", func() {
			eve.create(t, "/api/groups", object{"name": "Another group"})
		}, "Another group"},
		{"settings/groups", []string{"Open"}, "No one is in the group.", func() {
			gil, _ := joins("Grouped Gil")
			eve.do(t, "PUT", group+"/members/"+gil, nil).is(t, 204)
		}, "Grouped Gil"},
		{"settings/keys", nil, "New API key", func() {
			eve.create(t, "/api/api-keys", object{"name": "Live key", "role_ceiling": "viewer"})
		}, "Live key"},
		{"settings/webhooks", nil, "There are no webhooks yet.", func() {
			eve.create(t, "/api/webhooks", object{"url": "https://example.com/live", "events": []string{"group.*"}})
		}, "https://example.com/live"},
		{"settings/audit", nil, "Verify the trail", func() {
			eve.create(t, "/api/groups", object{"name": inTheTrail})
		}, inTheTrail},
		{"people", nil, boss.email, func() { joins("Popular Pat") }, "Popular Pat"},
		{"settings/workspace", nil, "New workspace", func() {
			eve.do(t, "PATCH", "/api/workspaces/"+eve.workspace, object{"name": "Live workspace"}).is(t, 200)
		}, "Live workspace"},
		{"sources/" + newText(source), []string{"Reads"}, "succeeded", func() { // late: it is read again after 30 s
			eve.do(t, "POST", source+"/refresh", nil).is(t, 202)
		}, anotherRow},
		{"billing", nil, "Billing details", func() { // last: the plan limits what the others add
			eve.card(t, "4242424242424242")
			eve.subscribe(t, eve.get(t, payments+"/plans").at("data.0.id"))
		}, "Manage cards and details"},
	}
	open := func(position shownLive) string {
		return strings.Join(append([]string{screen{path: position.path}.name()}, position.presses...), ", ")
	}
	watching, _ := tab(t, ctx, s.url+"/console/w/default/prompts")
	drive(watching, t, chromedp.Evaluate[chromedp.Void](`window.stays = true, undefined`))
	for _, live := range all {
		t.Run(open(live)+" shows "+live.shows, func(t *testing.T) {
			goes(watching, t, live.path)
			for _, text := range live.presses {
				drive(watching, t, poll[bool](fmt.Sprintf(`(() => {
					const all = [...document.querySelectorAll('main [role=tab],main button')]
					const found = all.find((e) => e.innerText === %q)
					found?.click()
					return !!found
				})()`, text)))
			}
			reads(watching, t, live.loaded)
			if strings.Contains(drive(watching, t, chromedp.Evaluate[string](`document.body.innerText`)), live.shows) {
				t.Errorf("%s shows %q before it is there", open(live), live.shows)
			}
			drive(watching, t, chromedp.Evaluate[chromedp.Void](
				`window.rows = document.querySelectorAll('main tbody tr').length, undefined`))
			live.change()
			switch live.shows {
			case anotherRow:
				drive(watching, t, poll[bool](
					`document.querySelectorAll('main tbody tr').length > window.rows`))
			case inTheTrail:
				drive(watching, t, poll[bool](`document.querySelector('main tbody').textContent.includes('`+
					inTheTrail+`')`))
			default:
				reads(watching, t, live.shows)
			}
			if !drive(watching, t, chromedp.Evaluate[bool](`window.stays === true`)) {
				t.Error("the page was loaded again")
			}
		})
	}
}
