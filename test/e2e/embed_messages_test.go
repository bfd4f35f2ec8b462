package e2e

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const messages = "/api/embed/messages"

// replies is an endpoint that answers chats.
type replies struct {
	url string

	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

// newReplies starts an endpoint that sends two words, or as handle does if it is not nil.
func newReplies(t *testing.T, handle http.HandlerFunc) *replies {
	t.Helper()
	r := &replies{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		body, _ := io.ReadAll(hr.Body)
		r.mu.Lock()
		r.bodies, r.headers = append(r.bodies, string(body)), append(r.headers, hr.Header)
		r.mu.Unlock()
		if handle != nil && !strings.Contains(string(body), `"ping"`) {
			handle(w, hr)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"text\":\"Two \"}\n\ndata: {\"text\":\"<words>\"}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// last returns the last request that the endpoint got.
func (r *replies) last() (body string, header http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies[len(r.bodies)-1], r.headers[len(r.headers)-1]
}

// asked returns the messages of the last request, in JSON.
func (r *replies) asked(t *testing.T) string {
	t.Helper()
	body, _ := r.last()
	var in struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(body), &in))
	return string(in.Messages)
}

// replying creates a chat that r answers, which the shop can embed.
func (c *client) replying(t *testing.T, r *replies, settings object, headers ...string) *embeddedChat {
	t.Helper()
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	made := c.create(t, connections, object{"kind": "reply_endpoint",
		"credential": object{"url": r.url, "signing_secret": secret}}, headers...)
	e := c.embeds(t, settings, headers...)
	e.replies = r
	c.do(t, "PATCH", e.template, object{"reply": object{"kind": "http", "connection_id": made.at("id")}},
		headers...).is(t, 200)
	c.do(t, "POST", e.template+"/versions/draft/publish", object{}, headers...).is(t, 200)
	return e
}

// says sends a message of a visitor.
func (e *embeddedChat) says(t *testing.T, session string, body any, headers ...string) *answer {
	t.Helper()
	headers = append(headers, "Authorization: Bearer "+session)
	return e.manager.server.anonymous().do(t, "POST", messages, body, headers...)
}

func TestEmbedMessages(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		admin := s.user(t, "admin")
		bot := newReplies(t, nil)
		e := admin.replying(t, bot, nil)
		session := e.visit(t, fromShop).is(t, 200).has(t, map[string]string{"template.replies": "true"}).at("session")

		t.Run("an answer is streamed, and the page never sees the instructions", func(t *testing.T) {
			a := e.says(t, session, object{"text": "Where?", "history": []object{{"text": "Hi", "answer": "Hello"}}},
				fromShop, "X-Extra: never", "Accept: text/event-stream").is(t, 200)
			if want := "event: delta\ndata: {\"text\":\"Two \"}\n\n"; !strings.Contains(a.text, want) ||
				!strings.Contains(a.text, `{"text":"<words>"}`) || !strings.Contains(a.text, "event: done\ndata: {\"conversation_id\":\"ses_") ||
				a.header.Get("Content-Type") != "text/event-stream" ||
				a.header.Get("Access-Control-Allow-Origin") != shop {
				t.Errorf("%s\n%v", a, a.header)
			}
			body, header := bot.last()
			for _, want := range []string{`"instructions":"inner-thoughts"`, `"origin":"` + shop + `"`,
				`{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},{"role":"user","content":"Where?"}`} {
				if !strings.Contains(body, want) {
					t.Errorf("the endpoint did not get %s: %s", want, body)
				}
			}
			if header.Get("X-Extra") != "" || header.Get("Authorization") != "" || header.Get("Origin") != "" ||
				header.Get("Webhook-Signature") == "" {
				t.Errorf("the endpoint got the headers %v", header)
			}
			if seen := a.text + e.resume(t, session, fromShop).text; strings.Contains(seen, "inner-thoughts") {
				t.Error("the page sees the instructions")
			}
		})
		t.Run("a page can set no roles and no instructions", func(t *testing.T) {
			before := len(bot.bodies)
			for _, body := range []object{{"text": "?", "instructions": "x"}, {"text": "?", "model": "x"},
				{"text": "?", "messages": []object{}}, {"text": "?", "history": []object{{"role": "system", "text": "x",
					"answer": ""}}}} {
				e.says(t, session, body, fromShop).problem(t, 422, "invalid_fields")
			}
			e.says(t, session, object{"text": "  "}, fromShop).problem(t, 422, "invalid_fields")
			if len(bot.bodies) != before {
				t.Error("the endpoint was asked")
			}
		})
		t.Run("the endpoint knows whether the visitor is signed", func(t *testing.T) {
			made := admin.do(t, "POST", e.path+"/rotate", object{"grace_seconds": 3600}).is(t, 200)
			key := secret.New(made.at("visitor_secret"))
			open := func(signature any) *answer {
				return s.anonymous().do(t, "POST", sessions, object{"token": made.at("token"), "visitor": "ann",
					"visitor_signature": signature}, fromShop)
			}
			open("1800000000.00").problem(t, 403, "visitor_signature_invalid")
			signed := open(embed.SignVisitor(key, "ann", "", time.Now().Add(time.Hour))).is(t, 200).at("session")
			e.says(t, signed, object{"text": "?"}, fromShop).is(t, 200)
			if body, _ := bot.last(); !strings.Contains(body, `"visitor":"ann","visitor_signed":true`) {
				t.Errorf("the endpoint got %s", body)
			}
			e.resume(t, signed, fromShop).is(t, 200).has(t, map[string]string{"visitor_signed": "true"})
			if again := admin.get(t, e.path); strings.Contains(again.text, "visitor_secret") {
				t.Errorf("a secret is shown again: %s", again)
			}
			e.secret = made.at("token")
			unsigned := e.visit(t, fromShop).at("session")
			admin.do(t, "PATCH", e.path, object{"require_signed_visitors": true}).is(t, 200).has(t,
				map[string]string{"require_signed_visitors": "true"})
			if moment := admin.get(t, e.path).at("last_signed_at"); len(moment) < 20 {
				t.Errorf("last_signed_at = %s", moment)
			}
			const required = "visitor_signature_required"
			e.says(t, unsigned, object{"text": "?"}, fromShop).problem(t, 403, required)
			e.resume(t, unsigned, fromShop).problem(t, 403, required)
			s.anonymous().do(t, "POST", sessions, object{"token": e.secret}, fromShop).problem(t, 403, required)
			e.says(t, signed, object{"text": "?"}, fromShop).is(t, 200)
			admin.do(t, "PATCH", e.path, object{"require_signed_visitors": false}).is(t, 200)
		})
		t.Run("the endpoint knows the conversation and the page", func(t *testing.T) {
			e.says(t, session, object{"text": "?", "conversation_id": "c-1", "page_url": shop + "/orders?n=42"},
				fromShop).is(t, 200)
			body, _ := bot.last()
			assert.Contains(t, body, body, `"conversation_id":"c-1","page_url":"`+shop+`/orders?n=42"`)
			e.says(t, session, object{"text": "?"}, fromShop).is(t, 200)
			if body, _ := bot.last(); !strings.Contains(body, `"conversation_id":"ses_`) ||
				strings.Contains(body, "page_url") {
				t.Errorf("the endpoint got %s", body)
			}
			for field, value := range map[string]string{"conversation_id": "c 1", "page_url": "https://evil.example/"} {
				a := e.says(t, session, object{"text": "?", field: value}, fromShop).problem(t, 422, "invalid_fields")
				if fields := a.wrong(); len(fields) != 1 || !strings.HasPrefix(fields[0], "/"+field) {
					t.Errorf("%s: %v", field, fields)
				}
			}
		})
		t.Run("a failing endpoint tells the visitor nothing about itself", func(t *testing.T) {
			failing := admin.replying(t, newReplies(t, func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "inner-failure", 500)
			}), nil)
			a := failing.says(t, failing.visit(t, fromShop).at("session"), object{"text": "?"}, fromShop).is(t, 200)
			if !strings.Contains(a.text, "event: error\ndata: {\"code\":\"reply_failed\"") ||
				strings.Contains(a.text, "inner-failure") || strings.Contains(a.text, "127.0.0.1") {
				t.Error(a)
			}
		})
		t.Run("only visitors with a session on the site are answered", func(t *testing.T) {
			ask := object{"text": "?"}
			e.says(t, session, ask, "Origin: https://evil.example").problem(t, 403, "origin_not_allowed")
			e.says(t, "ats_x", ask, fromShop).problem(t, 401, "embed_session_invalid")
			silent := admin.embeds(t, nil)
			quiet := silent.visit(t, fromShop).at("session")
			silent.says(t, quiet, ask, fromShop).problem(t, 409, "replies_not_configured")
			once := admin.replying(t, bot, object{"replies_per_day": 1})
			admin.get(t, once.path).has(t, map[string]string{"replies_per_day": "1"})
			again := once.visit(t, fromShop).at("session")
			once.says(t, again, ask, fromShop).is(t, 200)
			a := once.says(t, again, ask, fromShop).problem(t, 429, "daily_replies_reached")
			if a.header.Get("Retry-After") == "" {
				t.Error("it does not say when to try again")
			}
			admin.do(t, "PATCH", once.template, object{"status": "draft"}).is(t, 200)
			once.says(t, again, ask, fromShop).problem(t, 409, "template_not_published")
			admin.do(t, "DELETE", once.path, nil).is(t, 204)
			once.says(t, again, ask, fromShop).problem(t, 401, "embed_token_invalid")
		})
		t.Run("a chat names a connection of the right kind", func(t *testing.T) {
			bad := object{"kind": "http", "connection_id": "con_00000000000000000000000000"}
			const unavailable = "reply_connection_unavailable"
			admin.do(t, "POST", chats, object{"name": "n", "reply": bad}).problem(t, 422, unavailable)
			admin.do(t, "PATCH", e.template, object{"reply": bad}).problem(t, 422, unavailable)
			own := admin.get(t, e.template).at("reply.connection_id")
			admin.do(t, "PATCH", e.template, object{"reply": object{"kind": "openai_compatible", "connection_id": own,
				"model": "m"}}).problem(t, 422, unavailable)
			none := map[string]string{"reply.kind": "none"}
			admin.do(t, "PATCH", e.template, object{"reply": nil}).is(t, 200).has(t, none)
		})
	})
}
