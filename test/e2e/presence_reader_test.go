package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
)

// reader follows a stream in the background and keeps the state that follows from it.
type reader struct {
	by    *client
	query string

	mu      sync.Mutex
	shown   map[string]known // by user
	users   map[string]string
	last    string // id of the last event
	seq     int64
	resets  int
	wrong   []string
	current *events
	ended   chan struct{} // closed when the current stream has
}

// known is what a stream says about a user, without the times whose changes it does not send.
type known struct{ status, text, emoji, source, until, devices string }

func newReader(by *client, query string) *reader {
	return &reader{by: by, query: query, shown: map[string]known{}, users: map[string]string{}}
}

// open follows the stream at a node, from where the reader was.
func (r *reader) open(t *testing.T, position *server) {
	t.Helper()
	r.mu.Lock()
	var resume []string
	if r.last != "" {
		resume = []string{"Last-Event-ID: " + r.last}
	}
	r.mu.Unlock()
	e, endedSignal := r.by.at(position).stream(t, r.query, resume...), make(chan struct{})
	r.mu.Lock()
	r.current, r.ended = e, endedSignal
	r.mu.Unlock()
	go func() {
		defer close(endedSignal)
		var kind, id string
		for line := range e.lines {
			switch name, value, _ := strings.Cut(line, ": "); name {
			case "event":
				kind = value
			case "id":
				id = value
			case "data":
				r.take(kind, id, value)
			}
		}
	}()
}

// cut ends the current stream at any point.
func (r *reader) cut() {
	r.mu.Lock()
	e, endedSignal := r.current, r.ended
	r.mu.Unlock()
	e.close()
	<-endedSignal
}

func (r *reader) take(kind, id, data string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kind == "reset" {
		r.resets++
		r.seq = 0
		clear(r.shown)
		return
	}
	var batch struct {
		Data []struct {
			ID      string `json:"id"`
			User    string `json:"user_id"`
			Status  string `json:"status"`
			Text    string `json:"text"`
			Emoji   string `json:"emoji"`
			Source  string `json:"source"`
			Until   string `json:"manual_until"`
			Devices []struct {
				ID    string `json:"id"`
				Kind  string `json:"kind"`
				State string `json:"state"`
			} `json:"devices"`
		} `json:"data"`
		Gone []string `json:"gone"`
		Seq  int64    `json:"seq"`
	}
	if err := json.Unmarshal([]byte(data), &batch); err != nil {
		r.wrong = append(r.wrong, fmt.Sprintf("%v: %s", err, data))
		return
	}
	if batch.Seq < r.seq {
		r.wrong = append(r.wrong, fmt.Sprintf("seq %d after %d", batch.Seq, r.seq))
	}
	r.last, r.seq = id, batch.Seq
	for _, p := range batch.Data {
		r.users[p.ID] = p.User
		r.shown[p.User] = known{p.Status, p.Text, p.Emoji, p.Source, p.Until, fmt.Sprint(p.Devices)}
	}
	for _, goneText := range batch.Gone {
		delete(r.shown, r.users[goneText])
	}
}

// state returns what the stream has said about every user so far.
func (r *reader) state() map[string]known {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.shown)
}

// sound fails t for events that no stream may send.
func (r *reader) sound(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, problem := range r.wrong {
		t.Error(problem)
	}
	if r.resets > 0 {
		t.Errorf("it was reset %d times", r.resets)
	}
}
