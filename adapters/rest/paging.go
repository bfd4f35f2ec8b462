package rest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oapi-codegen/nullable"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/page"
)

const defaultLimit = 20

// page returns the part of a list that the request asks for. A cursor is a sealed position, bound to
// workspace, operation and filter.
func (r *request) page() (page.Query, error) {
	q := page.Query{Limit: defaultLimit}
	if limit := r.query.Get("limit"); limit != "" {
		q.Limit, _ = strconv.Atoi(limit) // the contract check has ensured that it is an integer
	}
	cursor := r.query.Get("cursor")
	if cursor == "" {
		return q, nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return q, openapi.ErrInvalidCursor
	}
	position, err := r.api.Sealer.Open(sealed, r.list())
	if err != nil {
		return q, openapi.ErrInvalidCursor
	}
	q.After = string(position)
	return q, nil
}

// next returns the cursor of the page that begins after position, and null after the last page.
func (r *request) next(position string) (nullable.Nullable[string], error) {
	if position == "" {
		return nullable.NewNullNullable[string](), nil
	}
	sealed, err := r.api.Sealer.Seal([]byte(position), r.list())
	if err != nil {
		return nil, err
	}
	return nullable.NewNullableWithValue(base64.RawURLEncoding.EncodeToString(sealed)), nil
}

// list identifies the list that a cursor belongs to: the request without its position and page size.
func (r *request) list() []byte {
	filter := maps.Clone(r.query)
	filter.Del("cursor")
	filter.Del("limit")
	return []byte(strings.Join([]string{"cursor", string(r.by.Org), string(r.by.Workspace), r.URL.Path, filter.Encode()}, "\x00"))
}

// each maps a slice. An empty result is an empty array, never null.
func each[From, To any](from []From, f func(*From) To) []To {
	to := make([]To, len(from))
	for i := range from {
		to[i] = f(&from[i])
	}
	return slices.Clip(to)
}
