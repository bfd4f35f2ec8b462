package event_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestRedact(t *testing.T) {
	r := event.NewRedactor("ann", []string{"Ann Lee", "ann@example.com", "Will", " ", ""})
	for name, tt := range map[string]struct {
		e    event.Event
		data string
		want string // empty: unchanged
	}{
		"an address anywhere":        {event.Event{}, `{"a":["to ann@example.com"]}`, `{"a":["to [erased]"]}`},
		"in any case":                {event.Event{}, `{"a":{"b":"ANN LEE's laptop"}}`, `{"a":{"b":"[erased]'s laptop"}}`},
		"twice":                      {event.Event{}, `{"a":"Ann Lee, Ann Lee"}`, `{"a":"[erased], [erased]"}`},
		"not a part of another word": {event.Event{}, `{"a":"Joann Lee, joann@example.com, Ann Leeds"}`, ""},
		"a word of others":           {event.Event{Actor: "bob"}, `{"a":"Will it run?"}`, ""},
		"a name of one word, of what they did": {event.Event{Actor: "ann"}, `{"a":"Will's","n":9007199254740993}`,
			`{"a":"[erased]'s","n":9007199254740993}`},
		"of what was done to them": {event.Event{Subject: "ann"}, `{"a":"Will"}`, `{"a":"[erased]"}`},
		"of what mentions them":    {event.Event{}, `{"a":"Will","user_id":"ann"}`, `{"a":"[erased]","user_id":"ann"}`},
		"nothing at all":           {event.Event{}, `null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := tt.e
			got, isChanged, err := r.Redact(&e, []byte(tt.data))
			want := tt.want
			if want == "" {
				want = tt.data
			}
			if err != nil || isChanged != (tt.want != "") || string(got) != want {
				t.Errorf("got %s, changed: %v, %v", got, isChanged, err)
			}
		})
	}
	t.Run("the network addresses of their requests go, and the names in ids of requests", func(t *testing.T) {
		e := event.Event{Actor: "ann", Request: identity.Request{ID: "for Ann Lee", Address: "192.0.2.1"}}
		_, isChanged, err := r.Redact(&e, []byte(`{}`))
		if err != nil || !isChanged || e.Request.Address != "" || e.Request.ID != "for [erased]" {
			t.Errorf("got %+v, %v", e, err)
		}
		e = event.Event{Actor: "bob", Subject: "ann", Request: identity.Request{Address: "192.0.2.1"}}
		if _, isChanged, _ := r.Redact(&e, []byte(`{}`)); isChanged || e.Request.Address == "" {
			t.Errorf("the request of another person: %+v", e)
		}
	})
}

func TestRedactedEventsVerify(t *testing.T) {
	redact := func(l *event.Link, data string) {
		l.Encoded = []byte(data)
		l.Redaction = event.SignRedaction(digest, &l.Event, l.Encoded, l.Signature)
	}
	t.Run("in the chain and before", func(t *testing.T) {
		all := newTrail()
		redact(all.linked[1], `{"a":"[erased]"}`)
		redact(all.unlinked[1], `{}`)
		if r := all.verify(); r.Broken != 0 || r.Redacted != 2 || r.Verified != 4 || r.Waiting != 1 {
			t.Errorf("got %+v", r)
		}
	})
	for name, spoil := range map[string]func(*event.Link){
		"changed afterwards":                func(l *event.Link) { l.Encoded = []byte(`{"a":3}`) },
		"with a redaction that no key made": func(l *event.Link) { l.Redaction = []byte("mine") },
		"with another first signature":      func(l *event.Link) { l.Signature = []byte("mine") },
	} {
		t.Run("but not one that was "+name, func(t *testing.T) {
			all := newTrail()
			redact(all.linked[1], `{"a":"[erased]"}`)
			spoil(all.linked[1])
			if r := all.verify(); r.Broken == 0 {
				t.Errorf("got %+v", r)
			}
		})
	}
}
