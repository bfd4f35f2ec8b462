package openapi

import (
	"math/big"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// integer is an integer that a body writes with a fraction or an exponent, such as 60.0 or 6e1. JSON Schema takes it
// for an integer (Validation, section 6.1.1), and so do Python and Lua, but Go decodes none into an int.
type integer struct {
	pointer    jsontext.Pointer
	start, end int // of its literal in the body
	value      int64
}

// integers are a body's, in their order.
type integers []integer

// integerOf returns the value of a number that a float64 can hold, if it is an integer that an int64 can hold.
func integerOf(literal string) (n int64, ok bool) {
	exact, ok := new(big.Rat).SetString(literal)
	if !ok || !exact.IsInt() || !exact.Num().IsInt64() {
		return 0, false
	}
	return exact.Num().Int64(), true
}

// rewrite returns the body with the digits of each integer where the schema wants one. Other numbers are free-form
// JSON, which stays as it was written.
func (list integers) rewrite(body []byte, schema lazySchema) ([]byte, error) {
	if len(list) == 0 {
		return body, nil
	}
	root, err := schema()
	if err != nil {
		return nil, err
	}
	out, end := make([]byte, 0, len(body)), 0
	for _, n := range list {
		if wantsInteger(root, slices.Collect(n.pointer.Tokens())) {
			out = strconv.AppendInt(append(out, body[end:n.start]...), n.value, 10)
			end = n.end
		}
	}
	return append(out, body[end:]...), nil
}

// wantsInteger reports whether a schema has an integer at the end of a path.
func wantsInteger(s *jsonschema.Schema, path []string) bool {
	if s == nil {
		return false
	}
	if len(path) == 0 && s.Types != nil && slices.Contains(s.Types.ToStrings(), "integer") {
		return true
	}
	for _, part := range slices.Concat([]*jsonschema.Schema{s.Ref, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf) {
		if wantsInteger(part, path) {
			return true
		}
	}
	if len(path) == 0 {
		return false
	}
	if member, ok := s.Properties[path[0]]; ok {
		return wantsInteger(member, path[1:])
	}
	if member, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		return wantsInteger(member, path[1:])
	}
	return wantsInteger(s.Items2020, path[1:])
}
