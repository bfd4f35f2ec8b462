package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// tasks are what people come to the console for, with what has to be there before. None depends on another.
func tasks(t *testing.T, s *server, owner *client) []task {
	t.Helper()
	return append(promptTasks(t, s, owner), append(otherTasks(t, s, owner), peopleTasks(t, s, owner)...)...)
}

// saved creates a prompt with versions.
func saved(t *testing.T, owner *client, name string, texts ...string) (path string) {
	t.Helper()
	path = templates + "/" + owner.create(t, templates, object{"name": name, "visibility": "workspace"}).at("id")
	for _, text := range texts {
		owner.create(t, path+"/versions", object{"text": text})
	}
	return path
}

func promptTasks(t *testing.T, s *server, owner *client) []task {
	t.Helper()
	refund := saved(t, owner, "task/refund", "Refunds take a week.", "Refunds take a day.", "Refunds take an hour.")
	reply := saved(t, owner, "task/reply", "Be brief.", "Be kind.")
	for _, v := range []string{"v1", "v2"} {
		owner.do(t, "POST", reply+"/versions/"+v+"/activate", object{}).is(t, 200)
	}
	editedText := saved(t, owner, "task/edited", "Hello")
	label := saved(t, owner, "task/labelled", "Hello", "Hi")
	sharedText := saved(t, owner, "task/shared", "Hello")
	goneText := saved(t, owner, "task/gone", "Hello")
	owner.do(t, "DELETE", goneText, nil).is(t, 204)
	friend := s.user(t, "member")
	return []task{
		{"write a prompt with a variable", func(h *hand) {
			h.press("New prompt")
			h.write(`[name=name]`, "task/greeting")
			h.write(`[name=text]`, "Hello {{customer}}")
			h.press("Create")
			h.sees("Preview of v1")
		}, func(t *testing.T) {
			owner.get(t, templates+"?q=task/greeting").has(t, map[string]string{"data.0.version_count": "1"})
		}},
		{"make v3 live, and say why", func(h *hand) {
			h.press("task/refund", "Activate…")
			h.write(`[name=reason]`, "It is true now")
			h.press("Activate")
			h.sees("active: v3")
		}, func(t *testing.T) {
			owner.get(t, refund+"/activations").has(t, map[string]string{"data.0.to_version_number": "3",
				"data.0.reason": "It is true now"})
		}},
		{"go back to the version that was active before", func(h *hand) {
			h.press("task/reply", "History", "Activate v1 again…", "Activate")
			h.sees("active: v1")
		}, func(t *testing.T) { owner.get(t, reply+"/versions/active").has(t, map[string]string{"number": "1"}) }},
		{"change a prompt's text, and say what changed", func(h *hand) {
			h.press("task/edited")
			h.sees("Preview of v1")
			h.write(`.cm-content`, "Good day. ")
			h.sees("Not saved yet.")
			h.write(`[name=message]`, "More polite")
			h.press("Save as a new version")
			h.sees("Preview of v2")
		}, func(t *testing.T) {
			owner.get(t, editedText+"/versions/v2").has(t, map[string]string{"commit_message": "More polite"})
		}},
		{"see what a later version changes", func(h *hand) {
			h.press("task/reply", "Compare")
			h.sees("Be kind.")
		}, func(*testing.T) {}},
		{"call the latest version staging", func(h *hand) {
			h.press("task/labelled", "More actions", "Labels…")
			h.write(`[name=label]`, "staging")
			h.press("Give the label")
			h.sees("has the label staging")
		}, func(t *testing.T) {
			owner.get(t, label+"/versions/staging").has(t, map[string]string{"number": "2"})
		}},
		{"let a colleague edit a prompt", func(h *hand) {
			h.press("task/shared", "Shares")
			h.choose(`[name=user]`, friend.id)
			h.choose(`[name=role]`, "editor")
			h.press("Share")
			drive(h.ctx, h.t, poll[bool](`document.querySelector('main tbody')?.innerText.includes('editor')`))
		}, func(t *testing.T) {
			owner.get(t, sharedText+"/shares").has(t, map[string]string{"data.0.user_id": friend.id,
				"data.0.role": "editor"})
		}},
		{"get a deleted prompt back", func(h *hand) {
			h.choose(`[aria-label=Show]`, "deleted")
			h.pressIn("task/gone", "Restore")
			drive(h.ctx, h.t, poll[bool](`!document.querySelector('main').innerText.includes('task/gone')`))
		}, func(t *testing.T) { owner.get(t, goneText).has(t, map[string]string{"name": "task/gone"}) }},
		{"find a prompt of which one word is known", func(h *hand) {
			h.press("Search and commands")
			h.write(`[role=dialog] input`, "labelled")
			h.click(`[...document.querySelectorAll('[role=option]')].find((o) => o.innerText.includes('task/labelled'))`)
			h.sees("Preview of v2")
		}, func(*testing.T) {}},
		{"copy the call that lists the prompts", func(h *hand) {
			h.press("API calls of this page")
			h.sees("/api/prompt-templates")
			h.press("Copy")
		}, func(*testing.T) {}},
	}
}

func otherTasks(t *testing.T, s *server, owner *client) []task {
	t.Helper()
	chat := owner.create(t, "/api/chat-templates", object{"name": "Task chat", "instructions": "Help."})
	publication := owner.create(t, "/api/chat-templates", object{"name": "Other chat", "instructions": "Help."})
	put(t, s, "people.csv", "First,Last,Mail\nAda,Lovelace,ada@example.com\n")
	sheet := sources + "/" + owner.create(t, sources, object{"name": "Task sheet", "type": "contacts",
		"location": object{"url": "file:people.csv", "header_row": 1}, "mapping": []object{{"field": "email", "column": "Mail"},
			{"field": "first_name", "column": "Last"}}}).at("id")
	origin := "https://shop.example"
	return []task{
		{"map the sheet so that first names are right", func(h *hand) {
			h.press("Data sources", "Task sheet")
			h.sees("2. Click its column")
			h.click(`document.querySelector('[data-field="first_name"]')`)
			h.click(`document.querySelector('[data-column="First"]')`)
			h.press("Save")
			h.sees("Saved.")
		}, func(t *testing.T) {
			assert.Contains(t, "the mapping", fmt.Sprint(owner.get(t, sheet).at("mapping")), `"First"`)
		}},
		{"look at the rows that applications read", func(h *hand) {
			h.press("Data sources", "Task sheet", "Rows")
			h.sees("ada@example.com")
		}, func(*testing.T) {}},
		{"put the chat on the website", func(h *hand) {
			h.press("Chats", "Task chat", "Publish")
			h.sees("Sites that embed the chat show it from now on.")
			h.press("Publish", "Embed")
			h.write(`[name=origins]`, origin)
			h.press("Create")
			h.sees("Put this into your site")
		}, func(t *testing.T) {
			owner.get(t, "/api/chat-templates/"+chat.at("id")+"/embed-tokens").has(t, map[string]string{
				"data.0.allowed_origins.0": origin})
		}},
		{"change a chat's greeting", func(h *hand) {
			h.press("Chats", "Other chat")
			h.write(`[name=greeting]`, "Hello!")
			h.press("Save")
			h.sees("Saved.")
		}, func(t *testing.T) {
			owner.get(t, "/api/chat-templates/"+publication.at("id")).has(t, map[string]string{"greeting": "Hello!"})
		}},
		{"check that a connection works", func(h *hand) {
			h.press("Connections", "Verify")
			h.sees("verified just now")
		}, func(*testing.T) {}},
		{"say that I am away", func(h *hand) {
			h.press("Presence")
			h.choose(`[name=status]`, "away")
			h.press("Update")
			drive(h.ctx, h.t, poll[bool](`[...document.querySelectorAll('[data-presence]')].some((p) =>
				p.innerText.includes('away') && p.innerText.includes('you'))`))
		}, func(t *testing.T) {
			owner.get(t, "/api/presence/me").has(t, map[string]string{"status": "away"})
		}},
		{"add a card", func(h *hand) {
			h.press("Billing", "Add a payment method")
			h.click(`document.querySelector('[data-card="4242"]')`)
			drive(h.ctx, h.t, poll[bool](`!document.querySelector('[role=dialog]') &&
				document.querySelector('main').innerText.includes('•••• 4242')`))
		}, func(t *testing.T) {
			owner.get(t, payments+"/methods").has(t, map[string]string{"data.0.last4": "4242"})
		}},
	}
}

func peopleTasks(t *testing.T, s *server, owner *client) []task {
	t.Helper()
	leaving, rising := s.user(t, "member"), s.user(t, "member")
	leakedResponse := owner.create(t, "/api/api-keys", object{"name": "Leaked key", "role_ceiling": "viewer"})
	boss := s.user(t, "admin")
	boss.card(t, cardNumber)
	boss.do(t, "POST", payments+"/subscriptions", object{"plan_id": "team"}).is(t, 201)
	boss.do(t, "PATCH", mine, object{"quantity": 2}).is(t, 200)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(204)
	}))
	t.Cleanup(receiver.Close)
	members := "/api/workspaces/" + owner.get(t, "/api/me").at("workspace.id") + "/members"
	role := func(t *testing.T, parent *client) string {
		t.Helper()
		all := owner.get(t, members+"?limit=100")
		for i, id := range all.each(t, "user_id") {
			if id == parent.id {
				return all.at(fmt.Sprintf("data.%d.role", i))
			}
		}
		return "none"
	}
	return []task{
		{"give CI a read-only key for 30 days", func(h *hand) {
			h.press("Settings", "API keys", "New API key")
			h.write(`[name=name]`, "CI")
			h.press("Create")
			h.sees("The key is shown only now.")
		}, func(t *testing.T) {
			response := owner.get(t, "/api/api-keys").has(t, map[string]string{"data.0.name": "CI",
				"data.0.role_ceiling": "viewer"})
			ends, err := time.Parse(time.RFC3339, response.at("data.0.expires_at"))
			if rest := time.Until(ends); err != nil || rest > 30*24*time.Hour || rest < 29*24*time.Hour {
				t.Errorf("the key ends at %s: %v", ends, err)
			}
		}},
		{"revoke a key that leaked", func(h *hand) {
			h.press("Settings", "API keys")
			h.pressIn("Leaked key", "Revoke")
			h.press("Revoke")
			drive(h.ctx, h.t, poll[bool](`document.querySelector('tbody') &&
				!document.querySelector('main').innerText.includes('Leaked key')`))
		}, func(t *testing.T) {
			owner.get(t, "/api/api-keys/"+leakedResponse.at("id")).has(t, map[string]string{"status": "revoked"})
		}},
		{"invite a colleague, and get the link", func(h *hand) {
			h.press("Settings", "Invite people")
			h.write(`[name=email]`, "colleague@example.com")
			h.press("Invite")
			h.sees("Send this link")
			h.press("Copy")
		}, func(*testing.T) {}},
		{"make a member an admin", func(h *hand) {
			h.press("Settings")
			h.choose(fmt.Sprintf(`select[aria-label*=%q]`, strings.Split(rising.email, "@")[0]), "admin")
			h.sees("Saved.")
		}, func(t *testing.T) {
			assert.Equal(t, "the role", role(t, rising), "admin")
		}},
		{"remove a member", func(h *hand) {
			h.press("Settings")
			h.pressIn(leaving.email, "Remove")
			h.press("Remove")
			drive(h.ctx, h.t, poll[bool](fmt.Sprintf(
				`document.querySelector('tbody') && !document.querySelector('main').innerText.includes(%q)`, leaving.email)))
		}, func(t *testing.T) {
			assert.Equal(t, "the role", role(t, leaving), "none")
		}},
		{"find who changed the price plan", func(h *hand) {
			h.press("Settings", "Audit trail")
			h.write(`[name=type]`, "subscription.change_requested")
			h.sees(boss.email)
		}, func(*testing.T) {}},
		{"send the activations of prompts to a URL", func(h *hand) {
			h.press("Settings", "Webhooks", "New webhook")
			h.write(`[name=url]`, receiver.URL)
			h.write(`[name=events]`, "prompt_template.activated")
			h.press("Create")
			h.sees("whsec_")
		}, func(t *testing.T) {
			owner.get(t, "/api/webhooks").has(t, map[string]string{"data.0.events.0": "prompt_template.activated"})
		}},
	}
}
