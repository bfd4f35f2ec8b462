package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/schema"
)

// ErrMalformedJSON is returned for a body that is not one JSON value, or whose form Atrium does not accept. The
// detail gives the position, and never quotes the body.
var ErrMalformedJSON = &fault.Error{Kind: fault.Malformed, Code: "malformed_json",
	Detail: "The body is not valid JSON."}

const (
	maxDepth  = 32     // of nested objects and arrays (api.md, section 1)
	maxValues = 20_000 // in one body: it limits the cost of the check, a few µs and about 1 KiB for each
	maxNumber = 64     // characters of a number; the exact ones of int64 and float64 have 25 at most
	maxFields = 100    // entries in a problem's errors (FieldError)
)

// CheckBody checks a body against the operation's schema. It fails with ErrMalformedJSON, or with fault.ErrInvalid that
// lists all errors at once (up to 100 fields). It repeats no submitted value, and at most 64 characters from a name in
// a pointer. Every integer that passes fits an int64, every other number a float64, and every date-time a Time.
//
// It returns the body to decode: where the schema has an integer, 60.0 and 6e1 are written as 60. json.Unmarshal of
// that into the generated type cannot fail.
//
// Operations without a body ignore any that is sent.
func (o *Operation) CheckBody(body []byte) (checked []byte, err error) {
	if !o.HasBody {
		return body, nil
	}
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		if o.BodyRequired {
			return nil, o.bodyMissing()
		}
		return body, nil
	}
	if !utf8.Valid(body) {
		return nil, withDetail(ErrMalformedJSON, "The body is not UTF-8, as JSON must be (RFC 8259, section 8.1).")
	}
	r := reader{decoder: jsontext.NewDecoder(bytes.NewBuffer(body))}
	v, err := r.whole()
	switch {
	case errors.Is(err, errTooMany):
		return nil, fault.ErrInvalid.WithFields(fault.Field{Code: "too_many_items",
			Detail: fmt.Sprintf("The body must hold at most %d values in all.", maxValues)})
	case err != nil:
		return nil, malformed(err, r.decoder.InputOffset())
	}
	found := r.fields
	if err := o.body.check(v); err != nil {
		invalid := new(jsonschema.ValidationError)
		if !errors.As(err, &invalid) {
			return nil, fmt.Errorf("validate body of %s: %w", o.ID, err)
		}
		found = append(found, schema.Wrong("", invalid)...)
	}
	found = schema.Sorted(found) // the reader and the schema may report the same number
	if err := fault.InvalidFields(found[:min(len(found), maxFields)]); err != nil {
		return nil, err
	}
	return r.integers.rewrite(body, o.body)
}

// bodyMissing returns the error of a request without the body that the operation requires. It names the members that
// an empty object would lack.
func (o *Operation) bodyMissing() error {
	detail := "The request has no body, and this operation requires a JSON body"
	if invalid := new(jsonschema.ValidationError); errors.As(o.body.check(map[string]any{}), &invalid) {
		var names []string
		for _, f := range schema.Sorted(schema.Wrong("", invalid)) {
			if f.Code == "required" {
				names = append(names, strings.TrimPrefix(f.Pointer, "/"))
			}
		}
		if len(names) > 0 {
			detail += " with " + strings.Join(names, ", ")
		}
	}
	return withDetail(ErrMalformedJSON, detail+".")
}

var (
	errDepth   = errors.New("nested too deep")
	errTooMany = errors.New("too many values")
	errTail    = errors.New("more than one value")
)

// malformed returns an error of the reader without the parts of the body that jsontext quotes.
func malformed(err error, offset int64) error {
	if syntax := new(jsontext.SyntacticError); errors.As(err, &syntax) {
		offset = syntax.ByteOffset
	}
	problem := "The body is not valid JSON"
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return withDetail(ErrMalformedJSON, "The body ends in the middle of its JSON value.")
	case errors.Is(err, jsontext.ErrDuplicateName):
		problem = "The body repeats a key of an object"
	case errors.Is(err, errDepth):
		problem = fmt.Sprintf("The body is nested more than %d levels deep", maxDepth)
	case errors.Is(err, errTail):
		problem = "The body goes on after its JSON value"
	}
	return withDetail(ErrMalformedJSON, fmt.Sprintf("%s, at byte %d.", problem, offset))
}
