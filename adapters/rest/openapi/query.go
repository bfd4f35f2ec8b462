package openapi

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/schema"
)

// Request errors except about its body. Compare with errors.Is: the details differ.
var (
	ErrMalformedRequest = &fault.Error{Kind: fault.Malformed, Code: "malformed_request",
		Detail: "The request cannot be read."}
	ErrUnknownParameter = &fault.Error{Kind: fault.Malformed, Code: "unknown_parameter",
		Detail: "There is no such query parameter."}
	ErrInvalidParameter = &fault.Error{Kind: fault.Malformed, Code: "invalid_parameter",
		Detail: "A parameter has a value that is not allowed."}
	ErrInvalidLimit = &fault.Error{Kind: fault.Malformed, Code: "invalid_limit",
		Detail: "The limit must be a whole number from 1 to 100."}
	ErrInvalidCursor = &fault.Error{Kind: fault.Malformed, Code: "invalid_cursor",
		Detail: "The cursor is not valid for this list and its filters."}
)

// CheckQuery checks a URL's query, still encoded, against the operation's parameters. It fails with
// ErrMalformedRequest, ErrUnknownParameter, ErrInvalidParameter, ErrInvalidLimit or ErrInvalidCursor; the detail names
// the parameter and never its value. An empty query costs nothing.
func (o *Operation) CheckQuery(rawQuery string) error {
	if rawQuery == "" {
		return nil
	}
	parameters, err := url.ParseQuery(rawQuery)
	if err != nil {
		return withDetail(ErrMalformedRequest, "The query has an escape or a separator that is not valid.")
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		p, ok := o.query[name]
		if base, _, found := strings.Cut(name, "["); found && strings.HasSuffix(name, "]") {
			p, ok = o.query[base]
			ok = ok && p.Style == deepObject
			p.Name = name
		} else {
			ok = ok && p.Style != deepObject
		}
		switch values := parameters[name]; {
		case !ok:
			return withDetail(ErrUnknownParameter, "There is no query parameter "+quoteName(name)+" here.")
		case len(values) > 1:
			return withDetail(ErrInvalidParameter, "The query parameter "+quoteName(name)+" is given more than once.")
		default:
			if err := p.check(values[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckHeader checks the request headers that the operation declares. It fails with
// ErrInvalidParameter; the detail names the header and never its value.
func (o *Operation) CheckHeader(h http.Header) error {
	for i := range o.headers {
		p := &o.headers[i]
		values := h[p.Name]
		if len(values) > 1 && p.Schema.Type != "array" {
			return withDetail(ErrInvalidParameter, "The header "+p.Name+" is given more than once.")
		}
		for _, value := range values {
			if err := p.check(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// deepObject is the style for parameters with members, such as filter[email]=….
const deepObject = "deepObject"

// check returns an error unless s is a valid value for the parameter.
func (p *parameter) check(s string) error {
	var v any = s
	valid := utf8.ValidString(s) && !strings.Contains(s, "\x00")
	if valid && p.Schema.Type == "integer" {
		n, err := strconv.ParseInt(s, 10, 64)
		v, valid = n, err == nil
	}
	if p.Schema.Type == "boolean" && (s == "true" || s == "false") {
		v = s == "true"
	}
	if p.Schema.Type == "array" {
		v = []any{s} // of a header that may be sent several times
	}
	rule := ""
	switch {
	case !valid && p.Schema.Type == "integer":
		rule = ": it must be a whole number"
	case !valid:
		rule = ": it must be UTF-8 without NUL"
	default:
		err := p.value.check(v)
		if err == nil {
			return nil
		}
		rule = broken(err)
	}
	switch p.Code {
	case ErrInvalidLimit.Code:
		return ErrInvalidLimit
	case ErrInvalidCursor.Code:
		return ErrInvalidCursor
	}
	if p.In == "header" {
		return withDetail(ErrInvalidParameter, "The header "+p.Name+" has a value that it does not take"+rule+".")
	}
	return withDetail(ErrInvalidParameter, "The query parameter "+quoteName(p.Name)+
		" has a value that it does not take"+
		rule+".")
}

// broken describes the schema rules that a value breaks.
func broken(err error) string {
	invalid := new(jsonschema.ValidationError)
	if !errors.As(err, &invalid) {
		return ""
	}
	rule := ""
	for _, f := range schema.Wrong("", invalid) {
		text := strings.TrimSuffix(f.Detail, ".")
		rule += ": it " + strings.ToLower(text[:1]) + text[1:]
	}
	return rule
}

// quoteName makes a name that a client chose safe to show.
func quoteName(name string) string { return strconv.QuoteToASCII(schema.Capped(name)) }

// withDetail returns e with another detail.
func withDetail(e *fault.Error, detail string) *fault.Error {
	c := *e
	c.Detail = detail
	return &c
}

var errFormat = errors.New("not of this format")

// checkTime is the format date-time.
func checkTime(v any) error {
	s, ok := v.(string)
	if !ok {
		return nil // the schema checks the type
	}
	_, err := parseTime(s)
	return err
}

// checkInt64 is the format int64. The reader returns a number as a float64 only if it does not fit.
func checkInt64(v any) error {
	if _, tooLarge := v.(float64); tooLarge {
		return errFormat
	}
	return nil
}
