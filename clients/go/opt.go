package atrium

import "encoding/json"

// Opt is a member of a request that can be omitted, null or a value. The zero Opt is omitted: a PATCH leaves the member
// as it is.
type Opt[T any] struct {
	given, null bool
	value       T
}

// Set returns an Opt with a value.
func Set[T any](value T) Opt[T] { return Opt[T]{given: true, value: value} }

// Null returns an Opt that is null: a PATCH clears the member.
func Null[T any]() Opt[T] { return Opt[T]{given: true, null: true} }

// Get returns the value, and whether there is one.
func (o Opt[T]) Get() (value T, ok bool) { return o.value, o.given && !o.null }

// IsNull reports whether o is null, not omitted.
func (o Opt[T]) IsNull() bool { return o.given && o.null }

// IsZero reports whether o is omitted.
func (o Opt[T]) IsZero() bool { return !o.given }

// MarshalJSON writes the value or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.given || o.null {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a value or null.
func (o *Opt[T]) UnmarshalJSON(text []byte) error {
	*o = Opt[T]{given: true, null: string(text) == "null"}
	if o.null {
		return nil
	}
	return json.Unmarshal(text, &o.value)
}
