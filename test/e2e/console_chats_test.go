package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// embedded looks at a chat as its visitors do, on a page of the console, and makes a token that signs visitors.
func embedded(t *testing.T, s *server, owner *client) {
	t.Helper()
	boss := s.user(t, "owner")
	path := strings.Replace(s.url, "127.0.0.1", "localhost", 1) + "/console/"
	ctx, _ := tab(t, browser(t), path+"sign-in#token="+s.link(t, boss.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")
	for _, chat := range details(t, owner) {
		if strings.HasPrefix(chat.path, "chats/") {
			drive(ctx, t, chromedp.Navigate(path+"w/default/"+chat.path))
		}
	}
	reads(ctx, t, "Greeting")
	published(ctx, t)
	opensTab(ctx, t, "Embed")
	drive(ctx, t, poll[bool](draftReads("Customer support")))
	types(ctx, t, `[name=name]`, "Our site")
	types(ctx, t, `[name=origins]`, "https://www.example.com")
	presses(ctx, t, "Create")
	reads(ctx, t, "Your server signs visitors with this secret.")
	reads(ctx, t, "atv_")
	keep(ctx, t, "console-embed")
	presses(ctx, t, "Usage")
	reads(ctx, t, "days in UTC")
	keep(ctx, t, "console-usage")
	clicks(ctx, t, `[role=dialog] [aria-label="Close"]`)
	chatMembers(ctx, t, s.user(t, "member"), s.user(t, "member"))
	moved(ctx, t)
}

// chatMembers adds two members at once, changes them at once, and removes one of them.
func chatMembers(ctx context.Context, t *testing.T, first, second *client) {
	t.Helper()
	ticks := func(email string) {
		on(ctx, t, fmt.Sprintf(`[...document.querySelectorAll('[role=dialog] label')].find((l) => l.innerText.includes(%q))
			?.querySelector('input')`, email), "click")
	}
	selects := func(label, value string) {
		drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
			const field = document.querySelector('[aria-label=%q]')
			if (!field) return false
			field.value = %q
			field.dispatchEvent(new Event('change', {bubbles: true}))
			return true
		})()`, label, value)))
	}
	opensTab(ctx, t, "Members")
	presses(ctx, t, "Add members")
	ticks(first.email)
	ticks(second.email)
	chooses(ctx, t, `[role=dialog] [name=role]`, "editor")
	keep(ctx, t, "console-chat-add")
	presses(ctx, t, "Add 2 members")
	for _, m := range []*client{first, second} {
		clicks(ctx, t, `[aria-label="Choose `+m.email+`"]`)
	}
	reads(ctx, t, "2 chosen")
	keep(ctx, t, "console-chat-members")
	selects("Role of the chosen members", "manager")
	drive(ctx, t, poll[bool](fmt.Sprintf(
		`document.querySelector('[aria-label="Role of %s"]')?.value === 'manager'`, first.email)))
	selects("Role of "+first.email, "viewer")
	clicks(ctx, t, `[aria-label="Choose `+second.email+`"]`)
	presses(ctx, t, "Remove")
	reads(ctx, t, "will no longer have a role on this chat.")
	confirms(ctx, t)
	drive(ctx, t, poll[bool](fmt.Sprintf(`!document.body.innerText.includes(%q) &&
		document.querySelector('[aria-label="Role of %s"]')?.value === 'viewer'`, second.email, first.email)))
}

// moved copies a chat, exports it, deletes the copy, and imports the file.
func moved(ctx context.Context, t *testing.T) {
	t.Helper()
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`URL.createObjectURL = (file) => { window.saved = file; return '#' }`))
	picks(ctx, t, "Export")
	drive(ctx, t, poll[bool](`window.saved?.size > 0`))
	picks(ctx, t, "Duplicate…")
	types(ctx, t, `[role=dialog] [name=name]`, "A copy to delete")
	presses(ctx, t, "Duplicate")
	drive(ctx, t, poll[bool](`document.querySelector('h1')?.innerText === 'A copy to delete'`))
	picks(ctx, t, "Delete…")
	reads(ctx, t, "You can restore it for 30 days.")
	confirms(ctx, t)
	reads(ctx, t, "A copy to delete is deleted.")
	presses(ctx, t, "Undo")
	reads(ctx, t, "Undone.")
	presses(ctx, t, "Import…")
	on(ctx, t, `document.querySelector('[role=dialog] [type=file]')`, "focus")
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`window.choose = (file) => {
		const field = document.querySelector('[role=dialog] [type=file]'), files = new DataTransfer()
		files.items.add(new File([file], 'chat.json'))
		field.files = files.files
		field.dispatchEvent(new Event('change', {bubbles: true}))
	}`))
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`choose('{}')`))
	reads(ctx, t, "This file is not an export of a chat.")
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`choose(saved)`))
	types(ctx, t, `[role=dialog] [name=name]`, "An imported chat")
	keep(ctx, t, "console-chat-import")
	presses(ctx, t, "Import")
	drive(ctx, t, poll[bool](`document.querySelector('h1')?.innerText === 'An imported chat'`))
	keep(ctx, t, "console-chat-imported")
}

// draftReads is whether the frame with the draft of a chat has a text.
func draftReads(text string) string {
	return fmt.Sprintf(`document.querySelector('iframe')?.contentDocument?.body?.innerText.includes(%q) === true`, text)
}

// published changes how a chat looks, sees it in the draft before it is saved, publishes it, and goes back.
func published(ctx context.Context, t *testing.T) {
	t.Helper()
	opensTab(ctx, t, "Look")
	for i, color := range []string{"#0b6e4f", "#0b6e4e"} { // before the draft has loaded, and later
		types(ctx, t, `[type=color]`, color)
		if i == 0 {
			drive(ctx, t, poll[bool](draftReads("Hello! How can we help?")))
		}
		drive(ctx, t, poll[bool](`document.querySelector('iframe').contentDocument.documentElement.style
			.getPropertyValue('--t-primary') === '`+color+`'`))
	}
	keep(ctx, t, "console-look")
	presses(ctx, t, "Save")
	reads(ctx, t, "unpublished changes")
	presses(ctx, t, "Publish changes")
	reads(ctx, t, "Published (v1)")
	types(ctx, t, `[name=reason]`, "Our colours")
	keep(ctx, t, "console-publish")
	presses(ctx, t, "Publish")
	reads(ctx, t, "v2 published")
	opensTab(ctx, t, "History")
	reads(ctx, t, "Our colours")
	presses(ctx, t, "Publish v1 again")
	reads(ctx, t, "Published (v2)")
	presses(ctx, t, "Publish")
	reads(ctx, t, "v1 published")
	keep(ctx, t, "console-publications")
}
