package rest

import (
	"strconv"

	"github.com/atrium-hq/atrium/domain/id"
)

// pathID returns the identifier in a path. A malformed one, or one of another kind, becomes the empty id, which nothing
// has.
func pathID[T ~string](r *request, variable, prefix string) T {
	s := pathVar(r.Request, variable)
	if !id.Valid(prefix, s) {
		return ""
	}
	return T(s)
}

// queryID returns the identifier in a query parameter. A malformed one, or one of another kind, identifies nothing.
func queryID[T ~string](r *request, name, prefix string) T {
	if s := r.query.Get(name); id.Valid(prefix, s) {
		return T(s)
	}
	return T(prefix)
}

// number returns an integer in a query parameter, which the contract check has ensured.
func (r *request) number(name string, otherwise int) int {
	if n, err := strconv.Atoi(r.query.Get(name)); err == nil {
		return n
	}
	return otherwise
}
