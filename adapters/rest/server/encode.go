package server

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Encode adds the JSON of v and a line break. Version 2 of encoding/json allocates no memory for most values; version 1
// does for each time and for each member that can be null.
func Encode(buffer *bytes.Buffer, v any) error {
	options := asVersion1
	if holdsNumbers(reflect.TypeOf(v)) {
		options = withNumbers
	}
	if err := jsonv2.MarshalWrite(buffer, v, options); err != nil {
		return err
	}
	return buffer.WriteByte('\n')
}

// Verbatim returns the JSON of v, which holds no json.Number, in which JSON within v stays byte for byte. Encode writes
// U+2028 and U+2029 as escapes, because some readers of lines take them for line breaks.
func Verbatim(v any) (JSON, error) {
	text, err := jsonv2.Marshal(v, asVersion1, jsontext.EscapeForJS(false))
	return append(text, '\n'), err
}

// The options of encode.
var (
	// asVersion1 encodes as version 1, but leaves <, > and & as they are, of which prompts are full.
	asVersion1 = jsonv2.JoinOptions(
		jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsonv1.CallMethodsWithLegacySemantics(false),
	)

	// withNumbers is for values that can hold a json.Number, which version 2 does not know. It takes longer.
	withNumbers = jsonv2.JoinOptions(asVersion1, jsonv2.WithMarshalers(jsonv2.MarshalToFunc(
		func(encoder *jsontext.Encoder, n json.Number) error { return encoder.WriteValue(jsontext.Value(n)) },
	)))
)

// holdsNumbers reports whether a type's values can hold a json.Number.
func holdsNumbers(t reflect.Type) bool {
	answer, ok := typesWithNumbers.Load(t)
	if !ok {
		answer = canHoldNumbers(t, map[reflect.Type]bool{})
		typesWithNumbers.Store(t, answer)
	}
	return answer.(bool) //nolint:errcheck // the map holds nothing else
}

var typesWithNumbers sync.Map // reflect.Type → bool

// canHoldNumbers is holdsNumbers for a type of which other parts have been examined.
func canHoldNumbers(t reflect.Type, visited map[reflect.Type]bool) bool {
	switch {
	case t == nil || t.Kind() == reflect.Interface || t == reflect.TypeFor[json.Number]():
		return true
	case visited[t]:
		return false
	}
	visited[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return canHoldNumbers(t.Elem(), visited)
	case reflect.Map:
		return canHoldNumbers(t.Key(), visited) || canHoldNumbers(t.Elem(), visited)
	case reflect.Struct:
		for i := range t.NumField() {
			if canHoldNumbers(t.Field(i).Type, visited) {
				return true
			}
		}
	}
	return false
}
