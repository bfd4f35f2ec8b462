package replier_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/replier"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAnOutcomeTellsHowTheReceiverAnswered(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	for name, tt := range map[string]struct {
		handle http.HandlerFunc
		want   webhook.Outcome
	}{
		"a success": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, webhook.Outcome{Status: 204}},
		"a failure with an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "no\x00pe\xff"+strings.Repeat("x", 2000))
		}, webhook.Outcome{Status: 500, Answer: "no\uFFFDpe\uFFFD" + strings.Repeat("x", 506)}},
		"a redirect is not followed": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Error("it is followed")
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(307)
		}, webhook.Outcome{Status: 307}},
		"an echo of a header": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 500)+r.Header.Get("Authorization")+" s3cret!")
		}, webhook.Outcome{Status: 200, Answer: strings.Repeat("x", 500) + "[redacted] [redacted]"[:12]}},
		"a wait in seconds": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(429)
		}, webhook.Outcome{Status: 429, RetryAfter: 2 * time.Minute}},
		"a wait until a time": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", now.Add(time.Minute).Format(http.TimeFormat))
			w.WriteHeader(503)
		}, webhook.Outcome{Status: 503, RetryAfter: time.Minute}},
		"a connection that is cut": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = c.Close()
			}
		}, webhook.Outcome{Failure: "host_unreachable"}},
	} {
		t.Run(name, func(t *testing.T) {
			receiver := httptest.NewServer(tt.handle)
			defer receiver.Close()
			target := ports.WebhookTarget{URL: receiver.URL, Keys: [][]byte{[]byte("k")},
				Headers: map[string]string{"Authorization": "Bearer s3cret!"},
				Egress:  identity.Egress{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
			got := replier.NewWebhooks(guard).Send(t.Context(), target, &webhook.Delivery{}, now)
			if got.Took <= 0 {
				t.Error("it took no time")
			}
			if got.Took = 0; got != tt.want {
				t.Errorf("%+v instead of %+v", got, tt.want)
			}
		})
	}
}

func TestAWebhookHasTheEventAndASignatureOfEachKey(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	var body []byte
	var header http.Header
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		header = r.Header
	}))
	defer receiver.Close()
	target := ports.WebhookTarget{URL: receiver.URL, Keys: [][]byte{[]byte("new"), []byte("old")},
		Headers: map[string]string{"X-Room": "7"},
		Egress:  identity.Egress{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	d := &webhook.Delivery{Event: event.Event{ID: "evt_1", Workspace: "wsp_a", Type: "member.added", Subject: "wsp_a",
		At: now, Seq: 7, Revision: 3, Data: map[string]any{"role": "viewer"}}}
	if out := replier.NewWebhooks(guard).Send(t.Context(), target, d, now); !out.Delivered() {
		t.Fatalf("%+v", out)
	}
	var got, want any
	require.NoError(t, json.Unmarshal(body, &got))
	_ = json.Unmarshal([]byte(`{"type":"member.added","timestamp":"2026-03-14T15:09:26.000Z","data":{"id":"evt_1","seq":7,
		"workspace_id":"wsp_a","subject":{"id":"wsp_a","revision":3,"type":"workspace"},
		"actor":null,"change":{"role":"viewer"}}}`), &want)
	if a, b := text(t, got), text(t, want); a != b {
		t.Errorf("%s instead of %s", a, b)
	}
	if header.Get("X-Room") != "7" || header.Get("Webhook-Id") != "evt_1" ||
		header.Get("Webhook-Timestamp") != "1773500966" ||
		strings.Count(header.Get("Webhook-Signature"), "v1,") != 2 {
		t.Errorf("the headers are %v", header)
	}
}

func TestATurnIsSentLikeAnEvent(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	var body []byte
	var header http.Header
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		header = r.Header
	}))
	defer receiver.Close()
	target := ports.WebhookTarget{URL: receiver.URL, Keys: [][]byte{[]byte("key")},
		Headers: map[string]string{"X-Room": "7"},
		Egress:  identity.Egress{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	turn := &ports.Turn{ID: "msg_1", Workspace: "wsp_a", Template: "ctpl_1", Token: "etok_1",
		Origin: "https://shop.example", Visitor: "42", Signed: true, Session: "ses_1", Conversation: "c1",
		Page: "https://shop.example/cart", Prompt: &chat.PromptVersion{Template: "ptpl_1", Version: "pver_1", Number: 7,
			Rollout: "live", Weight: 40}, Question: "Where?", Answer: "There.", At: now}
	full := `{"type":"chat.turn","timestamp":"2026-03-14T15:09:26.000Z","data":{"id":"msg_1",
		"workspace_id":"wsp_a","chat_template_id":"ctpl_1","embed_token_id":"etok_1","origin":"https://shop.example",
		"visitor":"42","visitor_signed":true,"session_id":"ses_1","conversation_id":"c1",
		"page_url":"https://shop.example/cart","prompt":{"prompt_template_id":"ptpl_1","version_id":"pver_1",
		"version_number":7,"rollout":{"label":"live","weight":40}},"text":"Where?","answer":"There.","refused":false}}`
	bare := `{"type":"chat.turn","timestamp":"2026-03-14T15:09:26.000Z","data":{"id":"msg_2","workspace_id":"wsp_a",
		"chat_template_id":"ctpl_1","embed_token_id":"etok_1","origin":null,"visitor":null,"visitor_signed":false,
		"session_id":null,"conversation_id":"c1","page_url":null,"prompt":null,"text":"?","answer":"No.","refused":true}}`
	for want, turn := range map[string]*ports.Turn{full: turn, bare: {ID: "msg_2", Workspace: "wsp_a",
		Template: "ctpl_1", Token: "etok_1", Conversation: "c1", Question: "?", Answer: "No.", Refused: true,
		At: now}} {
		if out := replier.NewWebhooks(guard).SendTurn(t.Context(), target, turn, now); !out.Delivered() ||
			out.Took <= 0 {
			t.Fatalf("%+v", out)
		}
		var a, b any
		require.NoError(t, json.Unmarshal(body, &a))
		require.NoError(t, json.Unmarshal([]byte(want), &b))
		if got, want := text(t, a), text(t, b); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
		if header.Get("X-Room") != "7" || header.Get("Webhook-Id") != turn.ID ||
			strings.Count(header.Get("Webhook-Signature"), "v1,") != 1 {
			t.Errorf("the headers are %v", header)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
