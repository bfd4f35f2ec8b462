// Package convert maps values between the domain and openapi.yaml that several areas have.
package convert

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
)

// PatchString is a merge patch member (RFC 7396) for a text that null clears: nil if it is absent, empty if it is null.
func PatchString[T ~string](n nullable.Nullable[string]) *T {
	if !n.IsSpecified() {
		return nil
	}
	var v T
	if !n.IsNull() {
		v = T(n.MustGet())
	}
	return &v
}

// OrZero returns a merge patch member, with null as its type's zero value. It returns nil if the member is absent.
func OrZero[T any](n nullable.Nullable[T]) *T {
	if !n.IsSpecified() {
		return nil
	}
	var v T
	if !n.IsNull() {
		v = n.MustGet()
	}
	return &v
}

// Seconds returns a duration in seconds; nil if not set.
func Seconds(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Second
	return &d
}

// Slice maps a slice. An empty result is an empty array, never null.
func Slice[From, To any](from []From, f func(*From) To) []To {
	to := make([]To, len(from))
	for i := range from {
		to[i] = f(&from[i])
	}
	return slices.Clip(to)
}

// OrNullTime returns a time, and null for the zero time.
func OrNullTime(t time.Time) nullable.Nullable[openapi.Time] { return openapi.OrNull(openapi.Time(t)) }

// OrNullPtr returns what v points to, and null if it points to nothing.
func OrNullPtr[T any](v *T) nullable.Nullable[T] {
	if v == nil {
		return nullable.NewNullNullable[T]()
	}
	return nullable.NewNullableWithValue(*v)
}

func patchField[T any](field *T, n nullable.Nullable[T]) {
	if v := OrZero(n); v != nil {
		*field = *v
	}
}

func patchPtr[T any](old *T, n nullable.Nullable[T]) *T {
	switch {
	case !n.IsSpecified():
		return old
	case n.IsNull():
		return nil
	default:
		v := n.MustGet()
		return &v
	}
}

// OrDefault returns s, or otherwise if s is empty.
func OrDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// RawOrNull returns JSON, and null if raw is empty.
func RawOrNull(raw json.RawMessage) nullable.Nullable[json.RawMessage] {
	if raw == nil {
		return nullable.NewNullNullable[json.RawMessage]()
	}
	return nullable.NewNullableWithValue(raw)
}

// NonNil is a slice that encodes as an array even if it is nil.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// NonNilMap is a map that encodes as an object even if it is nil.
func NonNilMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// OrEmpty returns raw, or empty if raw is nil.
func OrEmpty(raw json.RawMessage, empty string) json.RawMessage {
	if raw == nil {
		return json.RawMessage(empty)
	}
	return raw
}

// OrUnknown returns an estimate, or null if it is unknown.
func OrUnknown[T int | int64](n T) nullable.Nullable[T] {
	if n < 0 {
		return nullable.NewNullNullable[T]()
	}
	return nullable.NewNullableWithValue(n)
}
