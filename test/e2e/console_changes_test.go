package e2e

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/proof"
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

// renewed ends a session while somebody types, who signs in elsewhere and goes on.
func renewed(t *testing.T, s *server, chromium context.Context) {
	t.Helper()
	person := s.user(t, "member")
	path := strings.Replace(s.url, "127.0.0.1", "localhost", 1) + "/console/" // its own storage
	ctx, _ := tab(t, chromium, path+"sign-in#token="+s.link(t, person.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")
	presses(ctx, t, "New prompt")
	types(ctx, t, `[name=text]`, "What I have typed")
	s.sql(t, `UPDATE sessions SET ended_at = 1 WHERE user_id = '`+person.id+`'`)
	types(ctx, t, `[name=name]`, "made/after-the-session")
	awaits(t, "the session has ended", s, func() bool { // the server remembers sessions for a second
		return drive(ctx, t, chromedp.Evaluate[int](`fetch('/api/me', {headers: {
			'Atrium-Console': localStorage.getItem('atrium_proof')}}).then((r) => r.status)`,
			chromedp.EvalAwaitPromise)) == 401
	})
	// The sheet opens with the next refused call: the one of the button, or the stream of events begun again.
	drive(ctx, t, poll[bool](`(() => {
		if (document.body.innerText.includes('Your session has ended')) return true;
		[...document.querySelectorAll('button')].find((b) => b.innerText.trim() === 'Create' && !b.disabled)?.click()
		return false
	})()`))
	keep(ctx, t, "console-ended")
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`{ // from here on, calls are answered when they are released
		const real = window.fetch
		window.held = []
		window.fetch = async (...given) => {
			const response = await real(...given)
			await new Promise((release) => window.held.push(release))
			return response
		}
		window.release = async () => {
			window.fetch = real
			for (const release of window.held) release()
			await new Promise((done) => setTimeout(done, 100))
		}
		dispatchEvent(new Event('visibilitychange'))
	}`))
	drive(ctx, t, poll[bool](`window.held.length > 0`))
	second, _ := tab(t, chromium, path+"sign-in#token="+s.link(t, person.email))
	reads(second, t, "Sign in to")
	clicks(second, t, "#use-link")
	drive(ctx, t, poll[bool](`!document.body.innerText.includes('Your session has ended')`))
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`window.release()`, chromedp.EvalAwaitPromise))
	if drive(ctx, t, chromedp.Evaluate[bool](`document.body.innerText.includes('Your session has ended')`)) {
		t.Error("a late answer to the session before ended the one after")
	}
	if text := drive(ctx, t, chromedp.Evaluate[string](`document.querySelector('[name=text]').value`)); text != "What I have typed" {
		t.Errorf("the form has %q", text)
	}
	presses(ctx, t, "Create")
	reads(ctx, t, "Preview of v1")
}

// scrollThrough scrolls a page from its top to its end, 2,000 pixels in each frame, and keeps how long the longest
// took.
const scrollThrough = `(() => {
	scrollTo(0, 0)
	window.scrolled = undefined
	let last = performance.now(), most = 0, rest = 10 // frames at the top
	const times = []
	const frame = (now) => {
		most = Math.max(most, document.querySelectorAll('main tbody tr').length)
		if (rest-- < 0) {
			times.push(now - last)
			scrollBy(0, 2000)
		}
		last = now
		if (scrollY + innerHeight < document.documentElement.scrollHeight - 1) requestAnimationFrame(frame)
		else window.scrolled = {longest: Math.max(...times), most}
	}
	requestAnimationFrame(frame)
})()`

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
		drive(ctx, t, poll[bool](fmt.Sprintf(
			`document.querySelector('main table')?.getAttribute('aria-rowcount') === '%d'`, n*1000+1)))
		if n < 10 {
			presses(ctx, t, "Show more")
		}
	}
	toFront(ctx, t)
	passes, longest := proof.Sample(1, 3), math.Inf(1)
	for range passes { // another program can take the processor during one of them
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](scrollThrough))
		reads(ctx, t, "person9999@example.com")
		drive(ctx, t, poll[bool](`window.scrolled !== undefined`))
		longest = min(longest, drive(ctx, t, chromedp.Evaluate[float64](`window.scrolled.longest`)))
	}
	t.Logf("10,000 rows: the longest frame took %.0f ms, at best of %d times (budget: 50 ms)", longest, passes)
	proof.Within(t, "the longest frame", time.Duration(longest*float64(time.Millisecond)), 50*time.Millisecond)
	if limit := drive(ctx, t, chromedp.Evaluate[int](`window.scrolled.most`)); limit > 1200 {
		t.Errorf("%d rows are in the page at once", limit)
	}
	keep(ctx, t, "console-long")
}
