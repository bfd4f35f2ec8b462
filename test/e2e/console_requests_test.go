package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// approved approves what an editor asks for, and schedules an activation. It runs as a part of TestWorkInTheConsole.
func approved(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	editor := s.user(t, "member")
	template := owner.create(t, templates, object{"name": "console/guarded", "protected": true, "approvals": 1,
		"version": object{"text": "Hello", "activate": true}}).at("id")
	path := templates + "/" + template
	owner.create(t, path+"/shares", object{"user_id": editor.id, "role": "editor"})
	editor.create(t, path+"/versions", object{"text": "Hello there"})
	editor.do(t, "POST", path+"/versions/v2/activate", object{"reason": "Warmer"}).is(t, 202)

	goes(ctx, t, "prompts/"+template)
	opensTab(ctx, t, "Requests (1)")
	reads(ctx, t, "Waits for 1 more of 1 approvals.")
	presses(ctx, t, "Show changes")
	reads(ctx, t, "+Hello there")
	keep(ctx, t, "console-requests")
	types(ctx, t, `[name=comment]`, "Better.")
	presses(ctx, t, "Approve")
	reads(ctx, t, "active: v2")
	owner.get(t, path+"/activation-requests").has(t, map[string]string{"data.0.state": "activated",
		"data.0.decisions.0.comment": "Better."})

	owner.do(t, "PATCH", path, object{"required_checks": []string{"eval"}}).is(t, 200)
	owner.create(t, path+"/versions", object{"text": "Hello again"})
	owner.do(t, "POST", path+"/versions/v3/checks/eval", object{"conclusion": "failure", "summary": "3 of 100 fail."})
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	reads(ctx, t, "Preview of v3")
	presses(ctx, t, "Activate…")
	reads(ctx, t, "3 of 100 fail.")
	types(ctx, t, `[name=at]`, time.Now().AddDate(0, 0, 30).Format(time.DateOnly)+"T09:00")
	keep(ctx, t, "console-activate-later")
	presses(ctx, t, "Activate")
	reads(ctx, t, "The activation of v3 waits for checks and time.")
	opensTab(ctx, t, "Requests (1)")
	presses(ctx, t, "Cancel the request")
	reads(ctx, t, "It was withdrawn.")
}
