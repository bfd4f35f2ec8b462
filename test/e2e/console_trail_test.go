package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// linkedTrail looks at what events are about. It runs as a part of TestTheConsole.
func linkedTrail(ctx context.Context, t *testing.T, owner *client) {
	t.Helper()
	newText := func(path string, body object) string { return owner.create(t, path, body).at("id") }
	prompt := newText(templates, object{"name": "trail/prompt", "visibility": "workspace"})
	chat := newText("/api/chat-templates", object{"name": "Trail chat"})
	group := newText("/api/groups", object{"name": "Trail group"})
	goneText := newText(templates, object{"name": "trail/gone"})
	owner.do(t, "DELETE", templates+"/"+goneText, nil).is(t, 204)
	source := owner.get(t, sources).at("data.0.id")
	renamedName := owner.get(t, sources).at("data.0.name")
	owner.do(t, "PATCH", sources+"/"+source, object{"name": renamedName + " 2"}).is(t, 200)
	t.Run("the trail leads to what an event is about, by its name", func(t *testing.T) {
		goes(ctx, t, "settings/audit")
		for path, name := range map[string]string{"prompts/" + prompt: "trail/prompt", "chats/" + chat: "Trail chat",
			"settings/groups?open=" + group: "Trail group", "sources/" + source: renamedName + " 2"} {
			holds(ctx, t, fmt.Sprintf(`[...document.querySelectorAll('main tbody a')].some((a) =>
				a.href.endsWith(%q) && a.innerText === %q)`, "/console/w/default/"+path, name))
		}
		for _, v := range []looks{{"light", 1280, 800}, {"dark", 360, 740}} {
			seen(ctx, t, v)
			usable(ctx, t, v)
			keep(ctx, t, "console-trail-"+v.String())
		}
		clicks(ctx, t, fmt.Sprintf(`main tbody a[href$=%q]`, "open="+group))
		holds(ctx, t, `document.querySelector('[role=dialog]')?.innerText.startsWith('Trail group')`)
	})
	t.Run("the id of what was deleted is no link", func(t *testing.T) {
		goes(ctx, t, "settings/audit")
		holds(ctx, t, fmt.Sprintf(
			`[...document.querySelectorAll('main tbody code')].some((e) => e.innerText === %q)`, goneText))
		links := drive(ctx, t, chromedp.Evaluate[string](
			`[...document.querySelectorAll('main tbody a')].map((a) => a.href).join(' ')`))
		if strings.Contains(links, goneText) {
			t.Error("the trail leads to a prompt that was deleted")
		}
	})
}
