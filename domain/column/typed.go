package column

import (
	"encoding/json"
	"unicode/utf8"
)

// ValueKind is a Value's JSON type.
type ValueKind uint8

// The kinds.
const (
	Null         ValueKind = iota
	Plain                  // a string. Dates and times are strings as RFC 3339 writes them
	Numeral                // a number, which JSON writes as its digits
	Truth                  // the string is true or false
	JSONDocument           // any JSON
)

// Value is a Field value. Two values are equal if they are the same: 1.0 is not 1. The zero value is Null. It is no
// interface, so that the values of a long stream of rows need no memory of their own.
type Value struct {
	Kind ValueKind
	Text string // as the kind determines; empty for Null
}

// TextValue returns a string as a value.
func TextValue(text string) Value { return Value{Plain, text} }

// IsNull reports whether v is Null.
func (v Value) IsNull() bool { return v.Kind == Null }

// AppendJSON appends v as encoding/json writes it. Texts without escapes, which are most of a long stream, are copied.
func (v Value) AppendJSON(buffer []byte) []byte {
	switch v.Kind {
	case Null:
		return append(buffer, "null"...)
	case Numeral, Truth:
		return append(buffer, v.Text...)
	case Plain:
		if isUnescaped(v.Text) {
			buffer = append(buffer, '"')
			buffer = append(buffer, v.Text...)
			return append(buffer, '"')
		}
	}
	var text []byte
	if v.Kind == JSONDocument {
		text, _ = json.Marshal(json.RawMessage(v.Text)) //nolint:errchkjson // it was valid
	} else {
		text, _ = json.Marshal(v.Text) //nolint:errchkjson // a text
	}
	return append(buffer, text...)
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// unescaped are the bytes that a JSON string has unchanged.
var unescaped = func() (table [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return table
}()

// isUnescaped reports whether a string is the same in JSON, as json.Marshal writes it.
func isUnescaped(text string) bool {
	for i := range len(text) {
		if !unescaped[text[i]] {
			return false
		}
	}
	return true
}
