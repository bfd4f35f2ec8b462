package demo

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// seedChats creates a public chat and a private draft. The instructions of the first are a prompt of samplePrompts, if
// it still exists. If there is a site, the first chat is on its page, and visitors get answers.
func seedChats(ctx context.Context, app *node.Core, by identity.Actor, site *Site) error {
	service, texts := app.Services.Chats, app.Services.Prompts
	if existing, err := service.List(ctx, by, chat.Filter{}, page.Query{Limit: 1}); err != nil ||
		len(existing.Items) > 0 {
		return err
	}
	results, err := texts.Resolve(ctx, by,
		[]prompts.Wanted{{Name: samplePrompts[0].draft.Name, Ref: prompt.Ref{Label: "production"}}})
	if err != nil {
		return err
	}
	for i, d := range sampleChats {
		if found := results[0]; i == 0 && found.Err == nil {
			d.Instructions, d.Prompt = "", chat.Prompt{Template: found.Template.ID, Ref: "production"}
		}
		if i == 0 && site.answers() {
			d.Reply = site.reply
		}
		by.At = by.At.Add(time.Millisecond)
		t, err := service.Create(ctx, by, d)
		// the registry is not the default one
		if errors.Is(err, chat.ErrUnknownItem) || errors.Is(err, chat.ErrInvalidConfig) {
			d.Agents, d.Tools, d.Capabilities = nil, nil, nil
			t, err = service.Create(ctx, by, d)
		}
		if err != nil {
			return err
		}
		if _, _, _, err := service.AttachWorkflow(ctx, by, t.ID, "hand-over"); err != nil &&
			!errors.Is(err, chat.ErrUnknownWorkflow) {
			return err
		}
		if i == 0 && site.answers() {
			if err := site.show(ctx, app.Services.Embeds, by, t.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

var sampleChats = []chat.Draft{
	{
		Content: chat.Content{
			Name: "Customer support", Description: "Answers customers on the website from the help centre's articles.",
			Instructions: "You answer support tickets. Be brief and friendly. If you do not know, say that a " +
				"colleague will reply.",
			Agents: []chat.Selected{
				{ID: "assistant", Config: json.RawMessage(`{"tone":"friendly","max_turns":30}`)}},
			Tools: []chat.Selected{{ID: "knowledge-search", Config: json.RawMessage(`{"max_results":5}`)},
				{ID: "create-ticket", Config: json.RawMessage(`{"queue":"web"}`)}},
			Capabilities: []string{"citations"},
			Model:        &prompt.ModelConfig{Provider: "openai", ModelName: "gpt-5-mini", Temperature: float(0.2)},
			Greeting:     "Hello! How can we help?",
			Starters:     []string{"Where is my order?", "How do I change my address?", "I want my money back"},
		},
		Status: chat.StatusPublished, Visibility: access.Workspace,
	},
	{
		Content: chat.Content{
			Name: "Research desk", Description: "A private draft: reads up on a question and cites what it read.",
			Instructions: "Answer only from sources, and cite each. Say what you could not find out.",
			Agents:       []chat.Selected{{ID: "researcher"}},
			Tools:        []chat.Selected{{ID: "knowledge-search"}, {ID: "web-search"}},
			Capabilities: []string{"citations"},
			Starters:     []string{"What do our customers say about delivery times?"},
		},
	},
}
