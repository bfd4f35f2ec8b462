package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// opensChat shows a chat in the console to a person who has signed in.
func opensChat(t *testing.T, s *server, person *client, chat string) context.Context {
	t.Helper()
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, person.email))
	clicks(ctx, t, "#use-link")
	holds(ctx, t, `!location.pathname.includes('sign-in')`)
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/chats/"+strings.TrimPrefix(chat, chats+"/")))
	return ctx
}

func TestTheConsoleSetsWhatVisitorsReadAndWhoReadsThem(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, toShops)
	owner, member := s.user(t, "owner"), s.user(t, "member")
	e := owner.replying(t, newReplies(t, nil), nil)
	owner.create(t, e.template+"/members", object{"user_id": member.id, "role": "manager"})
	hook := owner.create(t, webhooks, hookOf("https://hooks.example.com/turns", "prompt_template.activated")).at("id")
	becomes := func(path string, want map[string]string) {
		t.Helper()
		proof.Await(t, "it is saved", func() *answer { return owner.get(t, path) }, func(a *answer) bool {
			for member, value := range want {
				if a.at(member) != value {
					return false
				}
			}
			return true
		})
	}
	ctx := opensChat(t, s, owner, e.template)
	// The page sees each change late: the next one must not conflict with it.
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`const real = window.fetch
		window.fetch = async (input, init) => {
			const isRead = String(input).includes('/api/chat-templates/') && (init?.method ?? 'GET') === 'GET'
			if (isRead) await new Promise((done) => setTimeout(done, 700))
			return real(input, init)
		}`))

	opensTab(ctx, t, "Languages")
	presses(ctx, t, "Add a language")
	types(ctx, t, `[name="0.language"]`, "de")
	types(ctx, t, `[name="0.greeting"]`, "Guten Tag!")
	types(ctx, t, `[name="0.conversation_starters"]`, "Wo ist es?\nWann kommt es?")
	keep(ctx, t, "console-chat-languages")
	presses(ctx, t, "Save")
	becomes(e.template, map[string]string{"translations.0.language": "de", "translations.0.greeting": "Guten Tag!",
		"translations.0.conversation_starters.1": "Wann kommt es?", "translations.1": ""})
	reads(ctx, t, "Remove de")
	presses(ctx, t, "Add a language")
	types(ctx, t, `[name="1.language"]`, "no language")
	presses(ctx, t, "Save")
	holds(ctx, t, `document.querySelector('[name="1.language"]').ariaInvalid === 'true'`)
	presses(ctx, t, "Remove this language")
	presses(ctx, t, "Remove de")
	presses(ctx, t, "Save")
	becomes(e.template, map[string]string{"translations": "[]"})

	opensTab(ctx, t, "Replies")
	reads(ctx, t, "Atrium stores none of it.")
	chooses(ctx, t, `[name=webhook_id]`, hook)
	keep(ctx, t, "console-chat-transcripts")
	presses(ctx, t, "Save transcripts")
	becomes(e.template, map[string]string{"transcripts.webhook_id": hook})
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/chats/"+strings.TrimPrefix(e.template, chats+"/")))
	opensTab(ctx, t, "Replies")
	reads(ctx, t, "Connection that replies")
	types(ctx, t, `[name=visitor_variables]`, "plan, seats")
	presses(ctx, t, "Save")
	becomes(e.template, map[string]string{"reply.visitor_variables.0": "plan", "reply.visitor_variables.1": "seats",
		"transcripts.webhook_id": hook})

	opensTab(ctx, t, "Embed")
	presses(ctx, t, "Require signatures")
	reads(ctx, t, "Visitors that your server does not sign lose the chat at once.")
	confirms(ctx, t)
	becomes(e.path, map[string]string{"require_signed_visitors": "true"})
	reads(ctx, t, "signed visitors only")
	keep(ctx, t, "console-chat-signed")
	presses(ctx, t, "Allow all visitors")
	confirms(ctx, t)
	becomes(e.path, map[string]string{"require_signed_visitors": "false"})

	// A manager who is no admin sees where turns go, and can only end it.
	ctx = opensChat(t, s, member, e.template)
	opensTab(ctx, t, "Replies")
	reads(ctx, t, "The webhook "+hook+" gets them.")
	reads(ctx, t, "who are admins of the workspace can choose a webhook")
	presses(ctx, t, "End transcripts")
	becomes(e.template, map[string]string{"transcripts": "null"})
	reads(ctx, t, "No webhook gets them.")
}
