package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// foldersShared shares a folder of prompts with a group. It runs as a part of TestTheConsole.
func foldersShared(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	template := owner.create(t, templates, object{"name": "letters/mail/greeting"}).at("id")
	group := owner.create(t, groups, object{"name": "Letter writers"}).at("id")
	goes(ctx, t, "prompts")
	presses(ctx, t, "Share a folder")
	types(ctx, t, `[name=folder]`, "letters/")
	presses(ctx, t, "Continue")
	reads(ctx, t, "Access to letters")
	chooses(ctx, t, `select[name=user]:has([value="`+group+`"])`, group)
	chooses(ctx, t, `select[name=role]`, "editor")
	presses(ctx, t, "Share")
	drive(ctx, t, chromedp.WaitVisible(`select[aria-label="Role of Letter writers in letters"]`))
	keep(ctx, t, "console-folder-shares")
	owner.get(t, folderShares+"?folder=letters").has(t, map[string]string{"data.0.name": "Letter writers",
		"data.0.role": "editor", "data.1": ""})
	chooses(ctx, t, `select[aria-label="Role of Letter writers in letters"]`, "manager")
	awaits(t, "the role is changed", s, func() bool { // to leave the page could end the call
		return owner.get(t, folderShares+"?folder=letters").at("data.0.role") == "manager"
	})
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	opensTab(ctx, t, "Shares")
	reads(ctx, t, "By its folder")
	reads(ctx, t, "manager")
	keep(ctx, t, "console-inherited-shares")
	owner.do(t, "DELETE", groups+"/"+group, nil).is(t, 204)
}

// includesShown opens a version with includes: which versions they are, and the whole text. It runs as a part of
// TestTheConsole.
func includesShown(ctx context.Context, t *testing.T, owner *client) {
	t.Helper()
	version := func(text string) object { return object{"text": text, "activate": true} }
	owner.create(t, templates, object{"name": "parts/tone", "version": version("Be kind to {{customer}}.")})
	owner.create(t, templates, object{"name": "parts/rules", "version": version("{{> parts/tone}} Keep it short.")})
	template := owner.create(t, templates, object{"name": "letters/reply",
		"version": version("Answer the letter.\n{{> parts/rules}}\n{{> parts/tone}}")}).at("id")
	goes(ctx, t, "prompts/"+template)
	reads(ctx, t, "Included prompts")
	reads(ctx, t, "active: v1")
	on(ctx, t, `document.querySelector('[aria-label="Included prompts"] summary')`, "click")
	reads(ctx, t, "Be kind to {{customer}}. Keep it short.")
	drive(ctx, t, chromedp.Evaluate[any](`document.querySelector('[aria-label="Included prompts"]').scrollIntoView()`))
	keep(ctx, t, "console-includes")
}
