package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTheConsoleContinuesAfterTheLimitOfRequests opens a screen that needs more requests than the server
// allows at once.
func TestTheConsoleContinuesAfterTheLimitOfRequests(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("server.rate_limit.per_minute", "240"), set("server.rate_limit.burst", "2"))
	owner := s.user(t, "owner")
	id := owner.create(t, templates, object{"name": "limited/prompt", "visibility": "workspace",
		"version": object{"text": "Hello", "activate": true}}).at("id")
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, owner.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	said := `document.querySelector('main')?.innerText.includes('Too many requests within a short time.')`
	holds(ctx, t, said)
	keep(ctx, t, "console-limited")
	reads(ctx, t, "limited/prompt")
	goes(ctx, t, "prompts/"+id+"?tab=history")
	for _, part := range []string{"What was active", "active: v1"} {
		holds(ctx, t, fmt.Sprintf(`document.querySelector('main').innerHTML.includes(%q)`, part))
	}
	holds(ctx, t, `!`+said)
	loaded(ctx, t)
	if found := drive(ctx, t, chromedp.Evaluate[string](
		`[...document.querySelectorAll('main [role=alert]')].map((e) => e.innerText).join(' ; ')`)); found != "" {
		t.Errorf("the page still says %q", found)
	}
}

// alerts are what the dialog says of the call that was refused.
func alerts(ctx context.Context, t *testing.T) string {
	t.Helper()
	return drive(ctx, t, chromedp.Evaluate[string](
		`[...document.querySelectorAll('[role=dialog] [role=alert]')].map((e) => e.innerText).join(' ; ')`))
}

// saidOnce expects that a text is in the dialog exactly once.
func saidOnce(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	page := drive(ctx, t, chromedp.Evaluate[string](`document.querySelector('[role=dialog]').innerText`))
	if n := strings.Count(page, text); n != 1 {
		t.Errorf("%q is said %d times in %q", text, n, page)
	}
}

// refusedForms sends forms with errors. It runs as a part of TestTheConsole.
func refusedForms(ctx context.Context, t *testing.T, owner *client) {
	t.Helper()
	t.Run("an error of a field is said once, beside it", func(t *testing.T) {
		invalid := object{"url": "ftp://example.com", "events": []string{"no_such.event"}}
		refusal := owner.do(t, "POST", "/api/webhooks", invalid)
		goes(ctx, t, "settings/webhooks")
		presses(ctx, t, "New webhook")
		for _, v := range []looks{{"light", 1280, 800}, {"dark", 360, 740}} {
			seen(ctx, t, v)
			types(ctx, t, `[name=url]`, "ftp://example.com")
			types(ctx, t, `[name=events]`, "no_such.event")
			presses(ctx, t, "Create")
			holds(ctx, t, `document.querySelectorAll('[role=dialog] [aria-invalid=true]').length === 2`)
			for i := range 2 {
				saidOnce(ctx, t, refusal.at(fmt.Sprintf("errors.%d.detail", i)))
			}
			if got := alerts(ctx, t); !strings.HasPrefix(got, "Some fields need a correction.") ||
				strings.Contains(got, "/url") || strings.Contains(got, "/events") {
				t.Errorf("the summary is %q", got)
			}
			audited(ctx, t, v, withinOverlay)
			keep(ctx, t, "console-refused-"+v.String())
		}
		clicks(ctx, t, `[role=dialog] [aria-label="Close"]`)
	})
	t.Run("what no field shows is in the summary, in words", func(t *testing.T) {
		path := saved(t, owner, "console/refused", "Hello")
		refusal := owner.do(t, "POST", path+"/versions", object{"text": "{{#if"}).is(t, 422)
		pointer, detail := refusal.at("errors.0.pointer"), refusal.at("errors.0.detail")
		goes(ctx, t, "prompts/"+path[strings.LastIndex(path, "/")+1:])
		reads(ctx, t, "Preview of v1")
		inserts(ctx, t, ".cm-content", "{{#if")
		presses(ctx, t, "Save as a new version")
		const summary = `(document.querySelector('main form [role=alert]')?.innerText ?? '')`
		holds(ctx, t, summary+` !== ''`) // the preview shows the error, too
		said := strings.TrimPrefix(pointer, "/") + ": " + detail
		page := drive(ctx, t, chromedp.Evaluate[string](summary))
		if pointer == "" || strings.Contains(page, pointer) || !strings.Contains(page, said) {
			t.Errorf("the summary is %q, want %q", page, said)
		}
	})
}
