package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// prepared are the overlays that the demo data alone does not lead to.
func prepared(ctx context.Context, t *testing.T, s *server, owner *client, chromium context.Context) []overlay {
	t.Helper()
	const (
		email = "owner@localhost"
		ended = `document.body.innerText.includes('session has ended')`
	)
	s.sql(t, `UPDATE users SET operator = true, operator_by_hand = true WHERE email = '`+email+`'`)
	s.sql(t, `INSERT INTO passkeys (id, org_id, user_id, host, credential_id, public_key, sign_count, synced, name,
		revision, created_at, updated_at, last_used_at) SELECT 'psk_of_the_dialogs', org_id, id, '127.0.0.1', 'a', 'b',
		0, false, 'Security key', 1, created_at, created_at, created_at FROM users WHERE email = '`+email+`'`)
	template := owner.create(t, templates, object{"name": "dialogs/stale", "visibility": "workspace"}).at("id")
	version := func(text string) {
		owner.create(t, templates+"/"+template+"/versions", object{"text": text})
	}
	version("Hello {{customer}}")
	return []overlay{
		{name: "remove-a-passkey", path: "settings/passkeys", steps: []string{"Remove"}, shows: "Security key"},
		{name: "disable-a-person", path: "people", steps: []string{"Disable"}, shows: "until you enable them again."},
		{name: "erase-a-person", path: "people", steps: []string{"Erase"}, shows: "Erase permanently"},
		{name: "stale-draft", path: "prompts/" + template, steps: []string{"Show the difference"}, shows: "Your draft",
			before: func(t *testing.T) {
				const versions = `document.querySelectorAll('main select[data-steps] option').length`
				reads(ctx, t, "Preview of")
				drive(ctx, t, poll[bool](`(() => {
					if (document.body.innerText.includes('Not saved yet.')) return true
					document.querySelector('.cm-content').focus()
					document.execCommand('insertText', false, 'Mine: ')
					return false
				})()`))
				drive(ctx, t, chromedp.Evaluate[chromedp.Void](`window.before = `+versions+`, undefined`))
				version("Good day {{customer}}")
				drive(ctx, t, poll[bool](versions+` > window.before`))
				presses(ctx, t, "Save as a new version")
				reads(ctx, t, "Changed by")
			}},
		{name: "session-ended", path: "chats", shows: "Sign in again in a new window.",
			before: func(t *testing.T) {
				s.sql(t, `UPDATE sessions SET ended_at = 1`)
				awaits(t, "the session has ended", s, func() bool { // the server remembers sessions for a second
					drive(ctx, t, chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event('visibilitychange'))`))
					return drive(ctx, t, chromedp.Evaluate[bool](ended))
				})
			},
			after: func(t *testing.T) {
				second, _ := tab(t, chromium, s.url+"/console/sign-in#token="+s.link(t, email))
				reads(second, t, "Sign in to")
				clicks(second, t, "#use-link")
				drive(ctx, t, poll[bool](`!`+ended))
			}},
	}
}
