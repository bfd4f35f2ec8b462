package atrium

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
)

// errNoNextPage is the error at the end of rows that are not all: no unique field says where a next page would begin.
var errNoNextPage = errors.New("atrium: there are more items, and no next page: stream them")

// list returns the items of all pages. A page is read when the loop needs it.
func list[T any](ctx context.Context, client *Client, c *call, options []Option) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		one := *c
		one.query = url.Values{}
		for name, values := range c.query {
			one.query[name] = values
		}
		for {
			page, err := send[struct {
				Data []T     `json:"data"`
				Next *string `json:"next_cursor"`
				More bool    `json:"has_more"`
			}](ctx, client, &one, options)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
			if page.Next == nil {
				if page.More {
					var zero T
					yield(zero, errNoNextPage)
				}
				return
			}
			one.query.Set("cursor", *page.Next)
		}
	}
}

// StreamEvent is one server-sent event.
type StreamEvent[T any] struct {
	Name string // the kind of the event
	ID   string
	Data T // the zero value for events without data
}

func decodeEvent[T any](name, id, data string) (StreamEvent[T], error) {
	event := StreamEvent[T]{Name: name, ID: id}
	if data == "" {
		return event, nil
	}
	return event, json.Unmarshal([]byte(data), &event.Data)
}

// hasMember reports whether the text is an object with a member.
func hasMember(text []byte, name string) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return false
	}
	_, ok := members[name]
	return ok
}
