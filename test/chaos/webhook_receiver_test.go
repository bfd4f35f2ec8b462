package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
)

// attempt is a webhook that a receiver got.
type attempt struct {
	id, subject string
	seq         int64
	confirmed   bool
	at          time.Time
}

// receiver gets webhooks, and fails for some of them.
type receiver struct {
	url string

	mu        sync.Mutex
	all       []attempt
	confirmed map[string]time.Time // when each id was, first
}

// newReceiver returns a receiver that fails for a part of the requests: by a status, by ending the connection, or after
// it has read half of the body.
func newReceiver(t *testing.T, fails float64) *receiver {
	t.Helper()
	r := &receiver{confirmed: map[string]time.Time{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r.receive(t, w, hr, rand.Float64() < fails)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.url = server.URL
	return r
}

func (r *receiver) receive(t *testing.T, w http.ResponseWriter, hr *http.Request, fails bool) {
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return // the sender was killed
	}
	var message struct {
		Data struct {
			ID      string
			Seq     int64
			Subject struct{ ID string }
		}
	}
	if err := json.Unmarshal(body, &message); err != nil || message.Data.ID != hr.Header.Get("Webhook-Id") {
		t.Errorf("%s arrives as %s: %v", body, hr.Header.Get("Webhook-Id"), err)
	}
	now := time.Now()
	r.mu.Lock()
	r.all = append(r.all, attempt{message.Data.ID, message.Data.Subject.ID, message.Data.Seq, !fails, now})
	if _, isRepeat := r.confirmed[message.Data.ID]; !isRepeat && !fails {
		r.confirmed[message.Data.ID] = now
	}
	r.mu.Unlock()
	if !fails {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	switch rand.IntN(3) {
	case 0:
		w.WriteHeader(http.StatusInternalServerError)
	case 1:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		panic(http.ErrAbortHandler) // ends the connection
	}
}

// known returns how many events have arrived.
func (r *receiver) known() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.confirmed)
}

// check expects that all events arrived, by id, and that none was attempted after a later one about its subject. It
// returns the number of attempts, and of those that were confirmed before.
func (r *receiver) check(t *testing.T, events map[string]int64) (attempts, second int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, seq := range events {
		if r.confirmed[id].IsZero() {
			t.Errorf("%s, the event %d, has not arrived", id, seq)
		}
	}
	last, done := map[string]int64{}, map[string]bool{}
	for _, a := range r.all {
		if want, exists := events[a.id]; !exists || want != a.seq {
			t.Errorf("%s arrives as event %d, and is %d, %v", a.id, a.seq, want, exists)
		}
		if a.seq < last[a.subject] {
			t.Errorf("event %d about %s arrives after %d", a.seq, a.subject, last[a.subject])
		}
		last[a.subject] = a.seq
		if done[a.id] {
			second++
		}
		done[a.id] = done[a.id] || a.confirmed
	}
	return len(r.all), second
}

// noAnswer returns the URL of a receiver that accepts connections and never answers.
func noAnswer(t *testing.T) string {
	t.Helper()
	port := fixture.Listener(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}
