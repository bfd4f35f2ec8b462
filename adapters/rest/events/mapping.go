package events

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

func toEvent(e *event.Event) openapi.Event {
	return openapi.Event{
		ID:        e.ID,
		Type:      e.Type,
		Actor:     openapi.OrNull(string(e.Actor)),
		APIKeyID:  openapi.OrNull(string(e.Key)),
		SessionID: openapi.OrNull(string(e.Session)),
		Subject:   e.Subject,
		Data:      eventData(e.Encoded),
		RequestID: e.Request.ID,
		Address:   openapi.OrNull(e.Request.Address),
		CreatedAt: openapi.Time(e.At),
		Seq:       openapi.OrNull(e.Seq),
		Revision:  openapi.OrNull(e.Revision),
	}
}

// eventData returns an event's data as server.Encode would write it, with sorted members. The contract promises an
// object, also for an event without data.
func eventData(raw json.RawMessage) json.RawMessage {
	data, err := jsontext.AppendFormat(nil, raw, jsontext.ReorderRawObjects(true), jsontext.EscapeForJS(true),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	switch {
	case len(raw) == 0 || string(data) == "null":
		return json.RawMessage("{}")
	case err != nil:
		return raw // which encode refuses
	default:
		return json.RawMessage(data)
	}
}

// eventFilter reads a list's filter.
func eventFilter(q url.Values) event.Filter {
	f := event.Filter{
		Type:    q.Get("type"),
		Actor:   identity.UserID(q.Get("actor")),
		Subject: q.Get("subject"),
		Request: q.Get("request_id"),
	}
	if start := q.Get("created_after"); start != "" {
		f.CreatedAfter, _ = time.Parse(time.RFC3339, start) // the contract accepts only times
	}
	if end := q.Get("created_before"); end != "" {
		f.CreatedBefore, _ = time.Parse(time.RFC3339, end)
	}
	return f
}
