// Package fault defines the expected ways in which a request can fail. Any other error is an outage or
// a bug: it is logged in full, and its text never reaches a client.
package fault

import (
	"errors"
	"time"
)

// Kind is how a caller should react. The HTTP adapter maps each kind to one status.
type Kind int

// The kinds. No expected failure has the zero Kind, so that a forgotten Kind becomes an internal error.
const (
	Malformed       Kind = iota + 1 // the request cannot be read
	Unauthenticated                 // no credential that Atrium accepts
	PaymentRequired                 // a working means of payment is missing
	Forbidden                       // known, but not allowed
	NotFound                        // does not exist, or is not visible to the caller
	MethodNotAllowed
	NotAcceptable
	Conflict           // conflicts with the current state
	PreconditionFailed // If-Match names another revision
	TooLarge
	UnsupportedMedia
	Misdirected // no org is served on this host
	Invalid     // readable, but some fields are wrong
	RateLimited
	Upstream // a system that Atrium depends on returned an invalid response
	Unavailable
	UpstreamTimeout
)

// Error is an expected failure.
type Error struct {
	Kind   Kind
	Code   string  // stable and snake_case: clients switch on it
	Detail string  // one sentence for a person; never a submitted value
	Fields []Field // all errors in the body; only for Invalid
	UsedBy []Use   // objects that prevent the change, as far as the caller may see them; only for Conflict
	Uses   int     // how many objects prevent the change, seen or not; 0: not counted
	Owners []Use   // the owners of these objects, as far as the caller may see members
	Breaks []Break // incompatibilities of the change for others; only for Conflict

	// RetryAfter is the time to wait before a retry makes sense; 0 if unknown.
	RetryAfter time.Duration
}

// Field is one error in a request's body.
type Field struct {
	Pointer string // JSON Pointer (RFC 6901) into the body
	Code    string
	Detail  string
}

// Break is one way in which a change can break applications that rely on the changed object.
type Break struct {
	Member string // the member of the resource
	Name   string // what changed in it, up to 200 characters; empty: all of it
	Code   string // stable and snake_case
	Detail string // one sentence for a person
}

// Use is an object that uses another.
type Use struct{ ID, Name string }

func (e *Error) Error() string { return e.Detail }

// Is makes errors.Is compare by Code, so that an error with details still matches its sentinel.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// WithFields returns a copy of e that names the wrong fields.
func (e *Error) WithFields(fields ...Field) *Error {
	c := *e
	c.Fields = fields
	return &c
}

// UsedByThese returns a copy of e that names the objects that prevent the change, as far as the caller may see them,
// counts all of them, and names their owners.
func (e *Error) UsedByThese(seen []Use, all int, owners []Use) *Error {
	c := *e
	c.UsedBy, c.Uses, c.Owners = seen, all, owners
	return &c
}

// Breaking returns a copy of e that lists what the change would break.
func (e *Error) Breaking(breaks []Break) *Error {
	c := *e
	c.Breaks = breaks
	return &c
}

// WithRetryAfter returns a copy of e that states how long to wait.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Join combines the results of several checks of one body, so that a client sees all errors at once. It
// returns nil, the only error, or ErrInvalid with the fields of all, at most 500. An error that is not
// about fields is returned without the others.
func Join(checks ...error) error {
	var found []*Error
	var fields []Field
	for _, err := range checks {
		if err == nil {
			continue
		}
		f, ok := errors.AsType[*Error](err)
		if !ok || f.Kind != Invalid || len(f.Fields) == 0 {
			return err
		}
		found, fields = append(found, f), append(fields, f.Fields...)
	}
	if len(found) == 1 {
		return found[0]
	}
	return InvalidFields(fields[:min(len(fields), maxFields)])
}

// PrefixPointers returns err with pointer before the pointers of its fields, for a check of a part of the body. It
// returns an error that is not about fields unchanged.
func PrefixPointers(pointer string, err error) error {
	f, ok := errors.AsType[*Error](err)
	if !ok || len(f.Fields) == 0 {
		return err
	}
	fields := make([]Field, len(f.Fields))
	for i, field := range f.Fields {
		field.Pointer = pointer + field.Pointer
		fields[i] = field
	}
	return f.WithFields(fields...)
}

// Because returns a copy of e with another detail.
func (e *Error) Because(detail string) *Error {
	c := *e
	c.Detail = detail
	return &c
}

// ErrInvalid is returned for a body whose fields break a rule. WithFields names the fields.
var ErrInvalid = &Error{Kind: Invalid, Code: "invalid_fields", Detail: "Some fields are not valid."}

// InvalidFields returns ErrInvalid with fields, or nil if fields is empty.
func InvalidFields(fields []Field) error {
	if len(fields) == 0 {
		return nil
	}
	return ErrInvalid.WithFields(fields...)
}
