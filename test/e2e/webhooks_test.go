package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// received is a webhook that a receiver got.
type received struct {
	header http.Header
	body   []byte
}

// receiver is a program that gets webhooks.
type receiver struct {
	url string

	mu   sync.Mutex
	all  []received
	says func(n int, r received) int // the status for the nth one; nil: 204
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		body, _ := io.ReadAll(hr.Body)
		got := received{hr.Header, body}
		r.mu.Lock()
		r.all = append(r.all, got)
		n, says := len(r.all), r.says
		r.mu.Unlock()
		if says == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(says(n, got))
		_, _ = io.WriteString(w, "an answer")
	}))
	t.Cleanup(s.Close)
	r.url = s.URL + "/hook?secret=of-the-path"
	return r
}

// ids returns the ids of the webhooks of a type that arrived, in their order.
func (r *receiver) ids(kind string) (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, got := range r.all {
		if strings.Contains(string(got.body), `"type":"`+kind+`"`) {
			ids = append(ids, got.header.Get("Webhook-Id"))
		}
	}
	return ids
}

// await waits until n webhooks of a type have arrived.
func (r *receiver) await(t *testing.T, s *server, kind string, n int) []string {
	t.Helper()
	var ids []string
	awaits(t, fmt.Sprintf("webhook %d of %s", n, kind), s, func() bool { ids = r.ids(kind); return len(ids) >= n })
	return ids
}

// last returns the last webhook that arrived.
func (r *receiver) last() received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1]
}

func TestWebhooksOfAWorkspace(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		owner, member := s.user(t, "owner"), s.user(t, "member")
		recipient := newReceiver(t)
		body := hookOf(recipient.url, "prompt_template.*", "prompt_version.created")
		body["headers"] = object{"Authorization": "Bearer of-the-header"}
		response := owner.create(t, webhooks, body)
		hook, secret := response.at("id"), response.at("secret")
		path := webhooks + "/" + hook
		template := owner.template(t, "hooks/one")
		settle := func(t *testing.T) {
			t.Helper()
			awaits(t, "nothing is pending", s, func() bool {
				return len(owner.get(t, path+"/deliveries?state=pending").items(t)) == 0
			})
		}

		t.Run("an event arrives, signed as Standard Webhooks describes", func(t *testing.T) {
			recipient.await(t, s, "prompt_template.created", 1)
			got := recipient.last()
			assert.Equal(t, "the additional header", got.header.Get("Authorization"), "Bearer of-the-header")
			verifier, err := standardwebhooks.NewWebhook(secret)
			require.NoError(t, err)
			assert.NoError(t, verifier.Verify(got.body, got.header))
			if err := verifier.Verify(append(slices.Clone(got.body), ' '), got.header); err == nil {
				t.Error("an altered body is accepted")
			}
			old := got.header.Clone()
			old.Set("Webhook-Timestamp", "1700000000")
			if err := verifier.Verify(got.body, old); err == nil {
				t.Error("an old webhook is accepted")
			}
			other, err := standardwebhooks.NewWebhook("whsec_" + strings.Repeat("A", 43) + "=")
			require.NoError(t, err)
			if err := other.Verify(got.body, got.header); err == nil {
				t.Error("another secret is accepted")
			}
			a := &answer{text: string(got.body)}
			a.has(t, map[string]string{"type": "prompt_template.created",
				"data.subject.id": strings.TrimPrefix(template, templates+"/"), "data.subject.type": "prompt_template", "data.subject.revision": "1",
				"data.change.name": "hooks/one"})
			settle(t)
			owner.get(t, path).has(t, map[string]string{"status": "active", "header_names.0": "Authorization"})
			owner.get(t, path+"/deliveries?type=prompt_template.created").has(t, map[string]string{
				"data.0.state": "delivered", "data.0.attempts": "1", "data.0.last_attempt.status": "204"})
		})
		t.Run("events about the same subject arrive in their order, and again if they failed", func(t *testing.T) {
			var first sync.Once
			recipient.mu.Lock()
			recipient.says = func(_ int, _ received) (status int) {
				status = http.StatusNoContent
				first.Do(func() { status = http.StatusInternalServerError })
				return status
			}
			recipient.mu.Unlock()
			for _, text := range []string{"a", "b", "c"} {
				owner.version(t, template, text)
			}
			awaits(t, "three events", s, func() bool {
				return len(slices.Compact(recipient.ids("prompt_version.created"))) == 3
			})
			ids := recipient.ids("prompt_version.created")
			if len(ids) != 4 || ids[0] != ids[1] || !slices.IsSorted(ids) {
				t.Errorf("they arrived as %q", ids)
			}
		})
		t.Run("a replay sends the same ids", func(t *testing.T) {
			settle(t)
			previous := recipient.ids("prompt_version.created")
			a := owner.do(t, "POST", path+"/replay", object{"from": 1}).is(t, 202)
			if a.at("queued") == "0" || a.at("next") != "null" {
				t.Errorf("%s", a)
			}
			current := recipient.await(t, s, "prompt_version.created", len(previous)+3)
			if !slices.Equal(slices.Compact(current[len(previous):]), slices.Compact(previous)) {
				t.Errorf("%q instead of %q", current[len(previous):], previous)
			}
		})
		t.Run("a rotated secret signs beside the new one for a while", func(t *testing.T) {
			rotatedSecret := owner.do(t, "POST", path+"/rotate", object{"grace_seconds": 3600}).is(t, 200).at("secret")
			owner.do(t, "POST", path+"/test", object{"type": "member.added"}).is(t, 200).has(t, map[string]string{
				"delivered": "true", "status": "204"})
			for _, secret := range []string{secret, rotatedSecret} {
				verifier, err := standardwebhooks.NewWebhook(secret)
				require.NoError(t, err)
				if got := recipient.last(); verifier.Verify(got.body, got.header) != nil {
					t.Errorf("%q does not verify", got.header)
				}
			}
		})
		t.Run("a URL that answers 410 gets no more", func(t *testing.T) {
			recipient.mu.Lock()
			recipient.says = func(int, received) int { return http.StatusGone }
			recipient.mu.Unlock()
			owner.template(t, "hooks/two")
			awaits(t, "it is disabled", s, func() bool { return owner.get(t, path).at("status") == "disabled" })
			owner.get(t, path).has(t, map[string]string{"disabled_reason": "gone", "enabled": "false"})
			failedID := owner.get(t, path+"/deliveries?state=pending").at("data.0.id")
			owner.do(t, "POST", path+"/deliveries/"+failedID+"/retry", nil).problem(t, 409, "webhook_disabled")
			owner.do(t, "POST", path+"/replay", object{"from": 1}).problem(t, 409, "webhook_disabled")
			recipient.mu.Lock()
			recipient.says = nil
			recipient.mu.Unlock()
			owner.do(t, "PATCH", path, object{"enabled": true}).is(t, 200)
			recipient.await(t, s, "prompt_template.created", 2)
			owner.do(t, "POST", path+"/deliveries/"+failedID+"/retry", nil).is(t, 202)
		})
		t.Run("what is wrong is refused", func(t *testing.T) {
			for _, invalid := range []object{
				hookOf("ftp://example.com", "*"), hookOf("https://user:pass@example.com", "*"),
				hookOf("https://example.com/#x", "*"), hookOf("https://example.com", "nothing.happened"),
				{"url": "https://example.com", "events": []string{"*"}, "headers": object{"Webhook-Id": "x"}},
			} {
				owner.do(t, "POST", webhooks, invalid).problem(t, 422, "invalid_fields")
			}
			owner.do(t, "POST", path+"/test", object{"type": "nothing.happened"}).problem(t, 422, "invalid_fields")
			member.do(t, "GET", webhooks, nil).problem(t, 403, "forbidden")
			missing := webhooks + "/whk_00000000000000000000000000"
			for _, call := range [][2]string{{"GET", ""}, {"PATCH", ""}, {"DELETE", ""}, {"POST", "/rotate"},
				{"POST", "/test"}, {"POST", "/replay"}, {"GET", "/deliveries"},
				{"POST", "/deliveries/whd_00000000000000000000000000/retry"}} {
				var body any
				switch call[1] {
				case "/test":
					body = object{"type": "member.added"}
				case "/replay":
					body = object{"from": 1}
				case "/rotate", "":
					body = object{}
				}
				if call[0] == "GET" || call[0] == "DELETE" {
					body = nil
				}
				owner.do(t, call[0], missing+call[1], body).problem(t, 404, "webhook_not_found")
			}
			owner.do(t, "POST", path+"/deliveries/whd_00000000000000000000000000/retry", nil).problem(t, 404,
				"webhook_delivery_not_found")
			for range 19 {
				owner.create(t, webhooks, hookOf("https://hooks.example.com", "passkey.renamed"))
			}
			owner.do(t, "POST", webhooks, hookOf("https://hooks.example.com", "*")).problem(t, 409, "quota_exceeded")
			owner.do(t, "DELETE", path, nil, `If-Match: "99"`).problem(t, 412, "revision_mismatch")
			owner.do(t, "PATCH", path, object{"enabled": false}, `If-Match: "99"`).problem(t, 412, "revision_mismatch")
			owner.do(t, "DELETE", path, nil).is(t, 204)
		})
		t.Run("a private network that is not allowed is not reached", func(t *testing.T) {
			all := owner.get(t, webhooks).each(t, "id")
			owner.do(t, "DELETE", webhooks+"/"+all[0], nil).is(t, 204)
			guardedID := owner.create(t, webhooks, hookOf("http://10.1.2.3:8080/", "*")).at("id")
			owner.do(t, "POST", webhooks+"/"+guardedID+"/test", object{"type": "member.added"}).is(t, 200).has(t,
				map[string]string{"delivered": "false", "failure": "network_not_allowed", "status": "null"})
		})
		for _, hidden := range []string{"of-the-header", "of-the-path", strings.TrimPrefix(secret, "whsec_")} {
			if strings.Contains(s.stderr.String(), hidden) {
				t.Errorf("the log has %s", hidden)
			}
			for _, e := range owner.events(t, "&type=webhook.created") {
				if strings.Contains(fmt.Sprint(e), hidden) {
					t.Errorf("an event has %s", hidden)
				}
			}
		}
	})
}

// TestANewWebhookGetsOnlyWhatHappensLater creates webhooks at once after events, which get their places in the feed
// within a second.
func TestANewWebhookGetsOnlyWhatHappensLater(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		ann, hooks := s.user(t, "owner"), newReceiver(t)
		group := func(name string) { ann.create(t, "/api/groups", object{"name": name}) }
		for i := range 3 {
			group(fmt.Sprintf("before %d", i))
		}
		hook := "/api/webhooks/" + ann.create(t, "/api/webhooks", object{"url": hooks.url,
			"events": []string{"group.*"}}).at("id")
		group("after")
		s.await(t, func() bool { return len(hooks.ids("group.created")) > 0 })
		ann.do(t, "PATCH", hook, object{"enabled": false}).is(t, 200)
		group("while it is disabled")
		ann.do(t, "PATCH", hook, object{"enabled": true}).is(t, 200)
		group("later")
		s.await(t, func() bool { return len(hooks.ids("group.created")) > 1 })
		s.await(t, func() bool { return strings.Contains(hooks.bodies(), `"later"`) })
		if text := hooks.bodies(); strings.Contains(text, "before") || strings.Contains(text, "while") {
			t.Errorf("it got %s", text)
		}
	})
}

// bodies returns what arrived.
func (r *receiver) bodies() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, got := range r.all {
		text.Write(got.body)
	}
	return text.String()
}
