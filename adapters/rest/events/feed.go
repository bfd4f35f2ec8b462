package events

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/page"
)

var errOnlyAscending = openapi.ErrInvalidParameter.Because("after and types are only for order=asc.")

// listEvents returns pages of the newest events, or with order=asc the feed, which its readers follow.
func listEvents(r *server.Call) (server.Reply, error) {
	if r.Query.Get("order") == "asc" {
		r.Uncacheable = true // readers of the feed wait for the next event
		return feedReply(r)
	}
	if r.Query.Has("after") || r.Query.Has("types") {
		return server.Reply{}, errOnlyAscending
	}
	f := eventFilter(r.Query)
	items, next, err := server.PageOf(r, toEvent, func(q page.Query) (event.Page, error) {
		return r.Accounts.Events(r.Context(), r.By, f, q)
	})
	return server.OK(openapi.EventList{
		Data:       items,
		NextCursor: next,
		FirstSeq:   nullable.NewNullNullable[int64](),
		LastSeq:    nullable.NewNullNullable[int64](),
	}), err
}

// verifyEvents checks a part of the trail. The caller repeats it with next_after until that is null.
func verifyEvents(r *server.Call) (server.Reply, error) {
	var start event.Position
	if text := r.Query.Get("after"); text != "" {
		start = event.ParsePosition(text)
	}
	part, err := r.Accounts.VerifyEvents(r.Context(), r.By, start)
	if err != nil {
		return server.Reply{}, err
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
		NextAfter: nullable.NewNullNullable[string](),
	}
	if !part.Next.IsZero() {
		out.NextAfter.Set(part.Next.String())
	}
	return server.OK(out), nil
}

func listEventTypes(r *server.Call) (server.Reply, error) {
	return server.OK(openapi.EventTypeList{Data: r.API.Contract.EventTypes()}), nil
}

// feedReply responds with a part of the feed. The position in a cursor is what after is in a request without one.
func feedReply(r *server.Call) (server.Reply, error) {
	query, err := r.Page()
	if err != nil {
		return server.Reply{}, err
	}
	q := event.FeedQuery{Filter: eventFilter(r.Query), Limit: query.Limit}
	if types := r.Query.Get("types"); types != "" {
		q.Types = strings.Split(types, ",")
	}
	cursor := r.Query.Get("after")
	if query.After != "" {
		cursor = query.After
	}
	if cursor != "" {
		q.After, _ = strconv.ParseInt(cursor, 10, 64) // the contract has let only integers through
	}
	part, err := r.Accounts.EventFeed(r.Context(), r.By, q)
	if err != nil {
		return server.Reply{}, err
	}
	position := ""
	if part.More {
		position = strconv.FormatInt(part.Last, 10)
	}
	next, err := r.Next(position)
	return server.OK(openapi.EventList{
		Data:       convert.Slice(part.Items, toEvent),
		NextCursor: next,
		FirstSeq:   nullable.NewNullableWithValue(part.First),
		LastSeq:    nullable.NewNullableWithValue(part.Last),
	}), err
}
