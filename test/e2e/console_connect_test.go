package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// connects tries the credential of a connection, and shows its steps. It runs as a part of TestWorkInTheConsole.
func connects(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	previous := len(owner.get(t, connections).items(t))
	goes(ctx, t, "connections/new/sqlite")
	reads(ctx, t, "The check, step by step")
	types(ctx, t, `[name="credential.file"]`, "missing.db")
	presses(ctx, t, "Test connection")
	reads(ctx, t, "database_not_found")
	types(ctx, t, `[name="credential.file"]`, "demo.db")
	presses(ctx, t, "Test connection")
	reads(ctx, t, "It works. Nothing is stored yet.")
	reads(ctx, t, "privileges")
	keep(ctx, t, "console-connect")
	for kind, hint := range map[string]string{
		"databricks":    "Only if there is no client ID.",
		"microsoft_365": "Give it the application permission Files.Read.All",
	} {
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/connections/new/"+kind))
		reads(ctx, t, hint)
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](
			`[...document.querySelectorAll('button')].find((b) => b.innerText === 'Connect').scrollIntoView()`))
		keep(ctx, t, "console-connect-"+kind)
	}
	for service, advice := range map[string]string{"postgres?service=supabase": "Use the host of the session pooler",
		"mysql?service=planetscale": "Create a password with the role Read only"} {
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/connections/new/"+service))
		reads(ctx, t, "With a client certificate")
		above := drive(ctx, t, chromedp.Evaluate[string](
			`document.querySelector('[name="connection_name"]').closest('form').parentElement.parentElement.innerText`))
		if !strings.HasPrefix(above, advice) {
			t.Errorf("%s: the form begins with %q", service, above)
		}
		for _, width := range []int64{390, 1280} {
			drive(ctx, t, chromedp.EmulateViewport(width, 1000))
			keep(ctx, t, fmt.Sprintf("console-connect-%s-%d", service[:5], width))
		}
	}
	drive(ctx, t, chromedp.ResetViewport())
	assert.Equal(t, "connections", len(owner.get(t, connections).items(t)), previous)
}
