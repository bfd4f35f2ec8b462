package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// overlay is a dialog, a menu or a list of commands of the console, and how it is opened on its screen: by the texts of
// tabs and buttons, which are clicked one after the other. A step in brackets is a selector.
type overlay struct {
	name, path, shows string
	steps             []string
	before, after     func(t *testing.T) // the steps and the checks; nil for nothing
}

const more = `[[aria-label="More actions"]]`

// overlays are those of the demo data, and of what was added to it.
func overlays(t *testing.T, owner *client) []overlay {
	t.Helper()
	eve := owner.server.user(t, "member")
	owner.create(t, groups, object{"name": "Reviewers"})
	owner.create(t, webhooks, object{"url": "https://example.com/hook", "events": []string{"group.*"}})
	owner.create(t, "/api/workspaces/default/invitations", object{"email": "someone@example.com", "role": "member"})
	owner.card(t, cardNumber)
	owner.create(t, payments+"/subscriptions", object{"plan_id": "team"})
	found := details(t, owner)
	prompt, chat, source := found[0].path, found[1].path, found[2].path
	protectedID := owner.create(t, templates, object{"name": "dialogs/protected", "visibility": "workspace"}).at("id")
	for _, text := range []string{"Hello {{name}}", "Hello {{customer}}, it is {{weather}} today"} {
		owner.create(t, templates+"/"+protectedID+"/versions", object{"text": text})
	}
	owner.do(t, "POST", templates+"/"+protectedID+"/versions/v1/activate", object{}).is(t, 200)
	in := func(area string, all ...overlay) []overlay {
		for i := range all {
			all[i].path = area
		}
		return all
	}
	owner.do(t, "PATCH", chats+"/"+strings.TrimPrefix(chat, "chats/"), object{"greeting": "Good day!"}).is(t, 200)
	return joined(
		in("prompts",
			overlay{name: "commands", steps: []string{`[[aria-label="Search and commands"]]`}, shows: "Audit trail"},
			overlay{name: "new-prompt", steps: []string{"New prompt"}, shows: "Name"},
			overlay{name: "import", steps: []string{"Import"}},
			overlay{name: "share-a-folder", steps: []string{"Share a folder"}},
			overlay{name: "share-many", shows: eve.email,
				steps: []string{`[[aria-label^="Choose support/"]]`, "Share…"}}),
		in(prompt,
			overlay{name: "menu-of-a-prompt", steps: []string{more}, shows: "Duplicate…"},
			overlay{name: "settings-of-a-prompt", steps: []string{more, "Settings…"}},
			overlay{name: "labels", steps: []string{more, "Labels…"}},
			overlay{name: "duplicate-a-prompt", steps: []string{more, "Duplicate…"}},
			overlay{name: "delete-a-prompt", steps: []string{more, "Delete…"}}),
		in("prompts/"+protectedID, overlay{name: "activate", steps: []string{"Activate…"}, shows: "weather"}),
		in("chats",
			overlay{name: "new-chat", steps: []string{"New chat"}},
			overlay{name: "import-a-chat", steps: []string{"Import…"}}),
		in(chat,
			overlay{name: "publish", steps: []string{"Publish changes"}, shows: "Good day!"},
			overlay{name: "menu-of-a-chat", steps: []string{more}, shows: "Duplicate…"},
			overlay{name: "duplicate-a-chat", steps: []string{more, "Duplicate…"}},
			overlay{name: "delete-a-chat", steps: []string{more, "Delete…"}},
			overlay{name: "usage", steps: []string{"Embed", "Usage"}},
			overlay{name: "rotate", steps: []string{"Embed", "Rotate"}},
			overlay{name: "delete-a-token", steps: []string{"Embed", "Delete"}},
			overlay{name: "add-members", steps: []string{"Members", "Add members"}, shows: eve.email},
			overlay{name: "invite-to-a-chat", steps: []string{"Members", "Invite by e-mail"}}),
		in(source, overlay{name: "detach", steps: []string{"Detach"}}),
		in("connections", overlay{name: "revoke-a-connection", steps: []string{"Revoke"}}),
		in("billing",
			overlay{name: "change-a-plan", steps: []string{"Change…"}},
			overlay{name: "pause", steps: []string{"Pause"}},
			overlay{name: "cancel", steps: []string{"Cancel…"}},
			overlay{name: "test-cards", steps: []string{"Add a payment method"}}),
		in("settings/members",
			overlay{name: "invite", steps: []string{"Invite people"}},
			overlay{name: "remove-a-member", steps: []string{"Remove"}},
			overlay{name: "withdraw-an-invitation", steps: []string{"Withdraw"}}),
		in("settings/groups",
			overlay{name: "new-group", steps: []string{"New group"}},
			overlay{name: "a-group", steps: []string{"Open"}},
			overlay{name: "delete-a-group", steps: []string{"Delete"}}),
		in("settings/keys",
			overlay{name: "new-key", steps: []string{"New API key"}},
			overlay{name: "revoke-a-key", steps: []string{"Revoke"}}),
		in("settings/webhooks",
			overlay{name: "new-webhook", steps: []string{"New webhook"}},
			overlay{name: "a-webhook", steps: []string{"Open"}}),
		in("settings/workspace", overlay{name: "delete-the-workspace", steps: []string{"Delete the workspace"}}),
		in(prompt, overlay{name: "keys", steps: []string{"?"}}),
	)
}

func joined(all ...[]overlay) (found []overlay) {
	for _, subset := range all {
		found = append(found, subset...)
	}
	return found
}

// opens opens what covers a page.
func (o overlay) opens(ctx context.Context, t *testing.T) {
	t.Helper()
	for i, step := range o.steps {
		selector, isSelector := strings.CutPrefix(strings.TrimSuffix(step, "]"), "[")
		switch {
		case step == more && i+1 < len(o.steps): // the next step opens the menu
		case i > 0 && o.steps[i-1] == more:
			picks(ctx, t, step)
		case step == "?":
			drive(ctx, t, chromedp.KeyEvent("?"))
		case strings.HasPrefix(step, "[[") && isSelector:
			on(ctx, t, fmt.Sprintf(`document.querySelector(%q)`, selector), "click")
		default:
			on(ctx, t, fmt.Sprintf(`[...document.querySelectorAll('button, [role=tab], [role=menuitem]')]
				.find((b) => b.innerText.trim() === %q && !b.disabled)`, step), "click")
		}
	}
	drive(ctx, t, poll[bool](`[...document.querySelectorAll('[role=dialog], [role=menu]')].some((one) =>
		getComputedStyle(one).opacity === '1' && !one.getAnimations().some((a) => a.playState === 'running'))`))
	if o.shows != "" {
		reads(ctx, t, o.shows)
	}
}

// beyondWindow names the overlays that reach beyond the window.
const beyondWindow = `[...document.querySelectorAll('[role=dialog], [role=menu]')].filter((one) => {
	const box = one.getBoundingClientRect()
	return box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight ||
		one.scrollWidth > one.clientWidth
}).map((one) => one.outerHTML.slice(0, 160)).join(' ; ')`

// What axe looks at: the page with what covers it, except for contrasts, which need three quarters of the time; and
// everything of what covers it. TestTheConsole looks at the contrasts of the page.
const (
	aroundOverlay = `document, {resultTypes: ['violations'], rules: {'color-contrast': {enabled: false}}}`
	withinOverlay = `{include: [['[role=dialog], [role=menu]']]}, {resultTypes: ['violations']}`
)

// TestDialogsFromRightToLeft opens whatever covers a page, in a wide and in a narrow window, as a language that is
// written from right to left would have it.
func TestDialogsFromRightToLeft(t *testing.T) {
	proof.Only(t)
	t.Parallel()
	s, owner, chromium, ctx, _ := demo(t, sqlite)
	all := joined(overlays(t, owner), prepared(ctx, t, s, owner, chromium))
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](axe(t)))
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`document.documentElement.dir = 'rtl'`))
	reads(ctx, t, "support/answer-ticket")
	for _, o := range all {
		t.Run(o.name, func(t *testing.T) {
			seen(ctx, t, looks{"light", 1280, 800})
			goes(ctx, t, o.path)
			drive(ctx, t, poll[bool](`!!document.querySelector('main h1')`))
			if o.before != nil {
				o.before(t)
			}
			o.opens(ctx, t)
			for _, position := range []struct {
				looks
				audit string
			}{{looks{"light", 1280, 800}, aroundOverlay}, {looks{"light", 360, 740}, withinOverlay}} {
				v := position.looks
				seen(ctx, t, v)
				keep(ctx, t, "console-dialog-"+o.name+"-"+v.String())
				audited(ctx, t, v, position.audit)
				for name, script := range map[string]string{"wider than the page": wide, "cut off": cut,
					"beyond the window": beyondWindow} {
					if found := drive(ctx, t, chromedp.Evaluate[string](script)); found != "" {
						t.Errorf("%s: %s: %s", v, name, found)
					}
				}
			}
			if o.after != nil {
				o.after(t)
			}
			drive(ctx, t, chromedp.KeyEvent(kb.Escape))
			drive(ctx, t, poll[bool](`!document.querySelector('[role=dialog], [role=menu]')`))
		})
	}
}
