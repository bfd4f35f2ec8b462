// Package nullable has the members of bodies that can be null: they tell absent, null and a value apart (RFC 7396).
package nullable

import (
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Nullable is a value, null, or neither: the zero Nullable is a member that is not specified. It has the methods of
// github.com/oapi-codegen/nullable, for which oapi-codegen generates code. That one is a map, and allocates memory
// twice for each member in each list item.
type Nullable[T any] struct {
	value T
	state state
}

type state uint8

const (
	unspecified state = iota // the zero value
	null
	specified
)

// The errors of Get.
var (
	errNull        = errors.New("value is null")
	errUnspecified = errors.New("value is not specified")
)

// NewNullableWithValue returns v.
func NewNullableWithValue[T any](v T) Nullable[T] { return Nullable[T]{v, specified} }

// NewNullNullable returns null.
func NewNullNullable[T any]() Nullable[T] { return Nullable[T]{state: null} }

// Get returns the value, or an error if it is not set.
func (n Nullable[T]) Get() (T, error) {
	switch n.state {
	case specified:
		return n.value, nil
	case null:
		return n.value, errNull
	default:
		return n.value, errUnspecified
	}
}

// MustGet returns the value, and panics if it is not set.
func (n Nullable[T]) MustGet() T {
	v, err := n.Get()
	if err != nil {
		panic(err)
	}
	return v
}

// Set sets a value.
func (n *Nullable[T]) Set(v T) { *n = NewNullableWithValue(v) }

// IsNull reports whether n is null.
func (n Nullable[T]) IsNull() bool { return n.state == null }

// IsSpecified reports whether n is null or has a value.
func (n Nullable[T]) IsSpecified() bool { return n.state != unspecified }

// IsZero reports whether n is not specified, so that omitzero leaves it out.
func (n Nullable[T]) IsZero() bool { return n.state == unspecified }

// MarshalJSON implements json.Marshaler. A member that is not specified and not left out has the zero value of its
// type.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if n.state == null {
		return []byte("null"), nil
	}
	return json.Marshal(n.value)
}

// MarshalJSONTo implements json.MarshalerTo of version 2, without allocations of its own.
func (n *Nullable[T]) MarshalJSONTo(encoder *jsontext.Encoder) error {
	if n.state == null {
		return encoder.WriteToken(jsontext.Null)
	}
	return jsonv2.MarshalEncode(encoder, &n.value)
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = NewNullNullable[T]()
		return nil
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	n.Set(v)
	return nil
}
