package rest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/oapi-codegen/nullable"
)

// decode reads the body into the type that openapi.yaml declares for it. The body has already been
// checked against the contract, so an error here is a bug of ours.
func decode[T any](r *request) (T, error) {
	var in T
	if len(r.body) == 0 {
		return in, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.UseNumber() // members that the contract does not declare keep every digit
	if err := d.Decode(&in); err != nil {
		return in, fmt.Errorf("rest: a body passed the contract but not its type: %w", err)
	}
	return in, nil
}

// cleared is a member of a merge patch (RFC 7396) for a text that null clears: nil if it is
// absent, empty if it is null.
func cleared[T ~string](n nullable.Nullable[string]) *T {
	if !n.IsSpecified() {
		return nil
	}
	var v T
	if !n.IsNull() {
		v = T(n.MustGet())
	}
	return &v
}

// orZero returns a member of a merge patch, with null as its type's zero value. It returns nil if the member
// is absent.
func orZero[T any](n nullable.Nullable[T]) *T {
	if !n.IsSpecified() {
		return nil
	}
	var v T
	if !n.IsNull() {
		v = n.MustGet()
	}
	return &v
}
