package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// webhooks sends every event to a receiver that answers with the headers that it got. It returns the webhook, and what
// the receiver got except for the header that holds a secret on purpose.
func (c *canaries) webhooks(t *testing.T, ann *client) (path string, receive func() string) {
	t.Helper()
	const header = "c4n4ry-0f-a-header"
	var mu sync.Mutex
	var all strings.Builder
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "got %s %s", r.Header.Get("Authorization"), header)
		r.Header.Del("Authorization")
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintln(&all, r.Header, string(body))
	}))
	t.Cleanup(receiver.Close)
	body := hookOf(receiver.URL, "*")
	body["headers"] = object{"Authorization": "Bearer " + header}
	c.secrets[header] = "a header of a webhook"
	response := c.signs(ann.create(t, webhooks, body, onRed, "Idempotency-Key: webhook"))
	path = webhooks + "/" + response.at("id")
	c.signs(ann.do(t, "POST", path+"/rotate", object{"grace_seconds": 600}, onRed).is(t, 200))
	c.shows(ann.do(t, "POST", path+"/test", object{"type": "member.added"}, onRed).is(t, 200))
	return path, func() string { mu.Lock(); defer mu.Unlock(); return all.String() }
}

// signs records a response that shows a signing key on purpose.
func (c *canaries) signs(a *answer) *answer {
	key := strings.TrimPrefix(a.at("secret"), "whsec_")
	c.secrets[key] = "the signing key of " + a.call
	c.told.WriteString(strings.ReplaceAll(fmt.Sprint(a.text, a.header), key, ""))
	return a
}

// deliveries waits until the webhook has sent what happened, and reads the log of its deliveries.
func (c *canaries) deliveries(t *testing.T, ann *client, path string) {
	t.Helper()
	awaits(t, "events are delivered", ann.server, func() bool {
		return len(ann.get(t, path+"/deliveries?state=delivered", onRed).items(t)) >= 20 &&
			len(ann.get(t, path+"/deliveries?state=pending", onRed).items(t)) == 0
	})
	c.shows(ann.get(t, path+"/deliveries?limit=100", onRed))
	message := ann.get(t, path+"/deliveries?state=delivered", onRed) // a later event may have been queued meanwhile
	if answer := message.at("data.0.last_attempt.answer"); answer != "got [redacted] [redacted]" {
		t.Errorf("the answer of a receiver is kept as %q", answer)
	}
	c.shows(ann.get(t, webhooks, onRed))
}
