package server

import (
	"encoding/base64"
	"maps"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/domain/page"
)

const defaultLimit = 20

// Page returns the list page that the request asks for. A cursor is a sealed position, bound to workspace, operation
// and filter.
func (r *Call) Page() (page.Query, error) {
	q := page.Query{Limit: defaultLimit}
	if limit := r.Query.Get("limit"); limit != "" {
		q.Limit, _ = strconv.Atoi(limit) // the contract check has ensured that it is an integer
	}
	cursor := r.Query.Get("cursor")
	if cursor == "" {
		return q, nil
	}
	ciphertext, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return q, openapi.ErrInvalidCursor
	}
	position, err := r.API.Sealer.Open(ciphertext, r.list())
	if err != nil {
		return q, openapi.ErrInvalidCursor
	}
	q.After = string(position)
	return q, nil
}

// Next returns the cursor of the page that begins after position, and null after the last page.
func (r *Call) Next(position string) (next nullable.Nullable[string], err error) {
	if position == "" {
		return nullable.NewNullNullable[string](), nil
	}
	ciphertext, err := r.API.Sealer.Seal([]byte(position), r.list())
	if err != nil {
		return next, err
	}
	return nullable.NewNullableWithValue(base64.RawURLEncoding.EncodeToString(ciphertext)), nil
}

// pageBody is the body for a list that has nothing but its items.
type pageBody[Item any] struct {
	Data       []Item                    `json:"data"`
	NextCursor nullable.Nullable[string] `json:"next_cursor"`
}

// List responds with the list page that the request asks for. load returns it, and to maps an item.
func List[T, Item any](
	r *Call, convert func(*T) Item, load func(page.Query) (page.Of[T], error),
) (Reply, error) {
	items, next, err := PageOf(r, convert, load)
	return OK(pageBody[Item]{items, next}), err
}

// PageOf returns the items of a page and the cursor of the next page, for lists that have more than these.
func PageOf[T, Item any](
	r *Call, item func(*T) Item, load func(page.Query) (page.Of[T], error),
) (items []Item, next nullable.Nullable[string], err error) {
	q, err := r.Page()
	if err != nil {
		return nil, next, err
	}
	found, err := load(q)
	if err != nil {
		return nil, next, err
	}
	next, err = r.Next(found.Next)
	return convert.Slice(found.Items, item), next, err
}

// list identifies the list that a cursor belongs to: the request without its position and page size.
func (r *Call) list() []byte {
	filter := maps.Clone(r.Query)
	filter.Del("cursor")
	filter.Del("limit")
	return []byte(
		strings.Join([]string{"cursor", string(r.By.Org), string(r.By.Workspace), r.URL.Path, filter.Encode()}, "\x00"),
	)
}

// MapFor returns a mapping that depends on the caller of r as one that convert.Slice and List use.
func MapFor[From, To any](r *Call, convert func(*Call, *From) To) func(*From) To {
	return func(from *From) To { return convert(r, from) }
}
