package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// undone takes back what can be taken back: an activation, and the deletion of a prompt.
func undone(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	template := owner.create(t, templates, object{"name": "console/undone", "visibility": "workspace"}).at("id")
	for _, text := range []string{"Hello", "Hi"} {
		owner.create(t, templates+"/"+template+"/versions", object{"text": text})
	}
	owner.do(t, "POST", templates+"/"+template+"/versions/v1/activate", object{}).is(t, 200)
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	reads(ctx, t, "Preview of v2")
	presses(ctx, t, "Activate…")
	reads(ctx, t, "Activate v2")
	presses(ctx, t, "Activate")
	reads(ctx, t, "v2 is active.")
	keep(ctx, t, "console-toast")
	presses(ctx, t, "Undo")
	reads(ctx, t, "Undone.")
	owner.get(t, templates+"/"+template+"/versions/active").has(t, map[string]string{"number": "1"})
	picks(ctx, t, "Delete…")
	reads(ctx, t, "You can restore it for 30 days.")
	presses(ctx, t, "Delete")
	reads(ctx, t, "console/undone is deleted.")
	presses(ctx, t, "Undo")
	reads(ctx, t, "Undone.")
	owner.get(t, templates+"/"+template).has(t, map[string]string{"name": "console/undone"})
}

// embedded looks at a chat as its visitors do, on a page of the console, and makes a token that signs visitors.
func embedded(t *testing.T, s *server, owner *client) {
	t.Helper()
	boss := s.user(t, "owner")
	at := strings.Replace(s.url, "127.0.0.1", "localhost", 1) + "/console/"
	ctx, _ := tab(t, browser(t), at+"sign-in#token="+s.link(t, boss.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")
	for _, chat := range details(t, owner) {
		if strings.HasPrefix(chat.path, "chats/") {
			drive(ctx, t, chromedp.Navigate(at+"w/default/"+chat.path))
		}
	}
	reads(ctx, t, "Greeting")
	published(ctx, t)
	opensTab(ctx, t, "Embed")
	drive(ctx, t, chromedp.Poll[bool](draftReads("Customer support")))
	types(ctx, t, `[name=name]`, "Our site")
	types(ctx, t, `[name=origins]`, "https://www.example.com")
	presses(ctx, t, "Create")
	reads(ctx, t, "Your server signs visitors with this secret.")
	reads(ctx, t, "atv_")
	keep(ctx, t, "console-embed")
	presses(ctx, t, "Usage")
	reads(ctx, t, "days in UTC")
	keep(ctx, t, "console-usage")
}

// draftReads is whether the frame with the draft of a chat has a text.
func draftReads(text string) string {
	return fmt.Sprintf(`document.querySelector('iframe')?.contentDocument?.body?.innerText.includes(%q) === true`, text)
}

// published changes how a chat looks, sees it in the draft before it is saved, publishes it, and goes back.
func published(ctx context.Context, t *testing.T) {
	t.Helper()
	opensTab(ctx, t, "Look")
	drive(ctx, t, chromedp.Poll[bool](draftReads("Hello! How can we help?")))
	types(ctx, t, `[type=color]`, "#0b6e4f")
	drive(ctx, t, chromedp.Poll[bool](`document.querySelector('iframe').contentDocument.documentElement.style
		.getPropertyValue('--t-primary') === '#0b6e4f'`))
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

// long scrolls through a table of 10,000 rows, of which only a part is in the page at a time.
func long(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	var sheet strings.Builder
	sheet.WriteString("Mail,Name\n")
	for i := range 10_000 {
		fmt.Fprintf(&sheet, "person%d@example.com,Person %d\n", i, i)
	}
	put(t, s, "many.csv", sheet.String())
	source := owner.create(t, sources, object{"type": "contacts", "location": object{"url": "file:many.csv"},
		"mapping": []object{{"field": "email", "column": "Mail"}}}).at("id")
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/sources/"+source))
	reads(ctx, t, "2. Click its column")
	opensTab(ctx, t, "Rows")
	for n := 1; n <= 10; n++ {
		drive(ctx, t, chromedp.Poll[bool](fmt.Sprintf(
			`document.querySelector('main table')?.getAttribute('aria-rowcount') === '%d'`, n*1000+1)))
		if n < 10 {
			presses(ctx, t, "Show more")
		}
	}
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`(() => {
		let last = performance.now(), longest = 0, most = 0
		const frame = (now) => {
			longest = Math.max(longest, now - last)
			most = Math.max(most, document.querySelectorAll('main tbody tr').length)
			last = now
			scrollBy(0, 2000)
			if (scrollY + innerHeight < document.documentElement.scrollHeight - 1) requestAnimationFrame(frame)
			else window.scrolled = {longest, most}
		}
		requestAnimationFrame(frame)
	})()`))
	reads(ctx, t, "person9999@example.com")
	drive(ctx, t, chromedp.Poll[bool](`window.scrolled !== undefined`))
	t.Logf("10,000 rows: the longest frame took %.0f ms (budget: 50 ms on an idle machine)",
		drive(ctx, t, chromedp.Evaluate[float64](`window.scrolled.longest`)))
	if most := drive(ctx, t, chromedp.Evaluate[int](`window.scrolled.most`)); most > 1200 {
		t.Errorf("%d rows are in the page at once", most)
	}
	keep(ctx, t, "console-long")
}
