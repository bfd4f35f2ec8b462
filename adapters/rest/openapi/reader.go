package openapi

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/schema"
)

// reader decodes JSON into Go values: int64 for integers, float64 for other numbers. It reports faults that
// a schema cannot express: numbers that fit neither type or are written too long, and NUL in a string, which
// PostgreSQL cannot store.
type reader struct {
	decoder  *jsontext.Decoder
	values   int
	fields   []fault.Field
	integers integers
}

// whole reads a body, which must be one value.
func (r *reader) whole() (any, error) {
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	switch _, err := r.decoder.ReadToken(); {
	case errors.Is(err, io.EOF):
		return v, nil
	default: // another token, or no token at all
		return nil, errTail
	}
}

// value reads the next JSON value.
func (r *reader) value() (any, error) {
	if r.values++; r.values > maxValues {
		return nil, errTooMany
	}
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return r.object()
	case jsontext.KindBeginArray:
		return r.array()
	case jsontext.KindString:
		s := token.String()
		r.checkText(s, r.decoder.StackPointer)
		return s, nil
	case jsontext.KindNumber:
		return r.number(token.String()), nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

// object reads the rest of an object.
func (r *reader) object() (any, error) {
	if r.decoder.StackDepth() > maxDepth {
		return nil, errDepth
	}
	members := map[string]any{}
	for r.decoder.PeekKind() != jsontext.KindEndObject {
		name, err := r.decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		r.checkText(key, func() jsontext.Pointer { return r.decoder.StackPointer().Parent() })
		if members[key], err = r.value(); err != nil {
			return nil, err
		}
	}
	_, err := r.decoder.ReadToken()
	return members, err
}

// array reads the rest of an array.
func (r *reader) array() (any, error) {
	if r.decoder.StackDepth() > maxDepth {
		return nil, errDepth
	}
	items := []any{}
	for r.decoder.PeekKind() != jsontext.KindEndArray {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	_, err := r.decoder.ReadToken()
	return items, err
}

// number returns a number as an int64 if it is an integer, however it is written, or else as a float64.
func (r *reader) number(literal string) any {
	if len(literal) > maxNumber {
		r.note(r.decoder.StackPointer(), "too_long",
			fmt.Sprintf("A number must be written with at most %d characters.", maxNumber))
	}
	if !strings.ContainsAny(literal, ".eE") {
		n, err := strconv.ParseInt(literal, 10, 64)
		if err != nil {
			r.note(r.decoder.StackPointer(), "out_of_range", "Must fit 64 bits.")
		}
		return n
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		r.note(r.decoder.StackPointer(), "out_of_range", "Must fit a 64-bit floating point number.")
		return int64(0) // not an infinity, which the schema's arithmetic does not support
	}
	if n, ok := integerOf(literal); ok {
		end := int(r.decoder.InputOffset())
		r.integers = append(r.integers, integer{pointer: r.decoder.StackPointer(), start: end - len(literal), end: end,
			value: n})
		return n
	}
	return f
}

func (r *reader) checkText(s string, pointerOf func() jsontext.Pointer) {
	if strings.IndexByte(s, 0) >= 0 {
		r.note(pointerOf(), "invalid_characters", "Must not hold a NUL character.")
	}
}

func (r *reader) note(pointer jsontext.Pointer, code, detail string) {
	if len(r.fields) < maxFields {
		r.fields = append(r.fields, fault.Field{Pointer: schema.Pointer(slices.Collect(pointer.Tokens())...),
			Code:   code,
			Detail: detail})
	}
}
