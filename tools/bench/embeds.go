package main

import (
	"context"
	"fmt"
)

// A token opens at most 600 sessions per minute over all callers, and a workspace 3,000. These are enough for a whole
// run.
const (
	embedSites = 60 // workspaces
	embedsEach = 5
)

// exchange makes a chat in each of the owners' workspaces, which sites may embed, and returns what opens sessions for
// them: each request with the next embed token.
func exchange(ctx context.Context, p *program, owners []person) (target, error) {
	t := p.repeats()
	for _, owner := range owners {
		var chat struct {
			ID string `json:"id"`
		}
		if err := p.post(ctx, "/api/chat-templates", owner.Token,
			`{"name":"Support","status":"published","greeting":"Hello! How can I help?","conversation_starters":["Where is my order?","Talk to a person"]}`, &chat); err != nil {
			return t, err
		}
		for range embedsEach {
			var embed struct {
				Token string `json:"token"`
			}
			if err := p.post(ctx, "/api/chat-templates/"+chat.ID+"/embed-tokens", owner.Token,
				`{"name":"Site","allowed_origins":["https://www.example.com","https://*.shop.example"],"rate_limit":{"per_minute":600}}`, &embed); err != nil {
				return t, err
			}
			body := fmt.Sprintf(`{"token":%q,"visitor":"customer-42"}`, embed.Token)
			t.requests = append(t.requests,
				p.request("POST", "/api/embed/sessions", "", body, "Origin: https://www.example.com"))
		}
	}
	return t, nil
}
