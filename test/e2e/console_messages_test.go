package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// partsKept edits a text of a message that has more than a text. It runs as a part of TestWorkInTheConsole.
func partsKept(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	template := owner.create(t, templates, object{"name": "console/parts", "type": "chat"}).at("id")
	path := templates + "/" + template
	first := owner.create(t, path+"/versions", `{"messages":[{"role":"user","name":"ann","content":[`+
		`{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"https://example.com/cat.png"}}]},`+
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function"}]}]}`)
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	reads(ctx, t, "Preview of v1")
	for _, part := range []string{"https://example.com/cat.png", `"name": "ann"`, "call_1"} {
		reads(ctx, t, part)
	}
	inserts(ctx, t, ".cm-content", "Look! ")
	keep(ctx, t, "console-parts")
	presses(ctx, t, "Save as a new version")
	reads(ctx, t, "Preview of v2")
	second := owner.get(t, path+"/versions/latest").has(t, map[string]string{"number": "2",
		"messages.0.content.0.text": "Look! What is this?", "messages.0.name": "ann",
		"messages.0.content.1": first.at("messages.0.content.1")})
	if got, want := second.at("messages.1"), first.at("messages.1"); got != want {
		t.Errorf("the message is %s, and was %s", got, want)
	}
}
