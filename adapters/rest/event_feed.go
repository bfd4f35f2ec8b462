package rest

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/page"
)

func eventOperations() []operation {
	return []operation{
		getOf("/api/events", cachedQuery(listEvents)),
		getOf("/api/events/verification", query(verifyEvents)),
		getOf("/api/event-types", query(listEventTypes)),
		getOf(eventsPath, streamEvents),
	}
}

var errOnlyAscending = openapi.ErrInvalidParameter.Because("after and types are only for order=asc.")

func listEvents(r *request) (reply, error) {
	if r.query.Get("order") == "asc" {
		r.uncacheable = true // readers of the feed wait for the next event
		return feedReply(r)
	}
	if r.query.Has("after") || r.query.Has("types") {
		return reply{}, errOnlyAscending
	}
	f := eventFilter(r.query)
	items, next, err := pageOf(r, toEvent, func(q page.Query) (event.Page, error) {
		return r.Accounts.Events(r.Context(), r.by, f, q)
	})
	return ok(openapi.EventList{
		Data:       items,
		NextCursor: next,
		FirstSeq:   nullable.NewNullNullable[int64](),
		LastSeq:    nullable.NewNullNullable[int64](),
	}), err
}

func verifyEvents(r *request) (reply, error) {
	var after int64
	if text := r.query.Get("after"); text != "" {
		after, _ = strconv.ParseInt(text, 10, 64) // the contract has let only integers through
	}
	part, err := r.Accounts.VerifyEvents(r.Context(), r.by, after)
	if err != nil {
		return reply{}, err
	}
	out := openapi.EventVerification{
		Verified: part.Verified,
		Redacted: part.Redacted,
		Waiting:  part.Waiting,
		Unsigned: part.Unsigned,
		Broken:   part.Broken,
		Breaks: convert.Slice(part.Breaks, func(b *event.Break) openapi.EventBreak {
			return openapi.EventBreak{EventID: openapi.OrNull(b.Event), Seq: b.Seq, Reason: b.Reason}
		}),
		LastSeq:   part.Seq,
		LastHash:  openapi.OrNull(part.Hash),
		NextAfter: nullable.NewNullNullable[int64](),
	}
	if part.Next > 0 {
		out.NextAfter.Set(part.Next)
	}
	return ok(out), nil
}

func listEventTypes(r *request) (reply, error) {
	return ok(openapi.EventTypeList{Data: r.api.contract.EventTypes()}), nil
}

// feedReply responds with a part of the feed. The position in a cursor is what after is in a request without one.
func feedReply(r *request) (reply, error) {
	at, err := r.page()
	if err != nil {
		return reply{}, err
	}
	q := event.FeedQuery{Filter: eventFilter(r.query), Limit: at.Limit}
	if types := r.query.Get("types"); types != "" {
		q.Types = strings.Split(types, ",")
	}
	after := r.query.Get("after")
	if at.After != "" {
		after = at.After
	}
	if after != "" {
		q.After, _ = strconv.ParseInt(after, 10, 64) // the contract has let only integers through
	}
	part, err := r.Accounts.EventFeed(r.Context(), r.by, q)
	if err != nil {
		return reply{}, err
	}
	position := ""
	if part.More {
		position = strconv.FormatInt(part.Last, 10)
	}
	next, err := r.next(position)
	return ok(openapi.EventList{
		Data:       convert.Slice(part.Items, toEvent),
		NextCursor: next,
		FirstSeq:   nullable.NewNullableWithValue(part.First),
		LastSeq:    nullable.NewNullableWithValue(part.Last),
	}), err
}

func eventsArea() area { return area{name: "events", operations: eventOperations()} }
