// Package fault names the ways a request can fail that Atrium foresees. Any other error is an
// outage or a bug: it is logged in full, and its text never reaches a client.
package fault

import (
	"errors"
	"time"
)

// Kind says how a caller should react. The HTTP adapter maps each kind to one status.
type Kind int

// The zero Kind belongs to no foreseen failure, so that a forgotten Kind reads as an internal error.
const (
	Malformed       Kind = iota + 1 // the request cannot be read
	Unauthenticated                 // no credential that Atrium accepts
	PaymentRequired                 // a working means of payment is missing
	Forbidden                       // known, but not allowed
	NotFound                        // not there, or not visible to the caller
	MethodNotAllowed
	NotAcceptable
	Conflict           // at odds with the present state
	PreconditionFailed // If-Match names another revision
	TooLarge
	UnsupportedMedia
	Misdirected // no org answers on this host
	Invalid     // readable, but some fields are wrong
	RateLimited
	Upstream // a system that Atrium depends on answered wrongly
	Unavailable
	UpstreamTimeout
)

// Error is a foreseen failure.
type Error struct {
	Kind   Kind
	Code   string  // stable and snake_case: clients switch on it
	Detail string  // one sentence for a human; never a submitted value
	Fields []Field // what is wrong with the body, all of it at once; only for Invalid
	UsedBy []Use   // what stands in the way, as far as the caller may know of it; only for Conflict

	// RetryAfter is how long to wait before it makes sense to ask again; 0 if nobody knows.
	RetryAfter time.Duration
}

// Field is one thing that is wrong with a request's body.
type Field struct {
	Pointer string // JSON Pointer (RFC 6901) into the body
	Code    string
	Detail  string
}

// Use is a thing that uses another.
type Use struct{ ID, Name string }

func (e *Error) Error() string { return e.Detail }

// Is makes errors.Is compare by Code, so that an error with particulars still is its sentinel.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// With returns a copy of e that names the wrong fields.
func (e *Error) With(fields ...Field) *Error {
	c := *e
	c.Fields = fields
	return &c
}

// UsedByThese returns a copy of e that names what stands in the way.
func (e *Error) UsedByThese(uses []Use) *Error {
	c := *e
	c.UsedBy = uses
	return &c
}

// After returns a copy of e that says how long to wait.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Join returns all that several checks of one body say, so that nobody has to send it once for each:
// nil, the only error, or ErrInvalid with the fields of all, of which there are 500 at most. An error
// that is not about fields stands alone.
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
	return InvalidFields(fields[:min(len(fields), 500)])
}

// Because returns a copy of e with particulars in place of its detail.
func (e *Error) Because(detail string) *Error {
	c := *e
	c.Detail = detail
	return &c
}

// ErrInvalid is the answer to a body whose fields break a rule; With names them.
var ErrInvalid = &Error{Kind: Invalid, Code: "invalid_fields", Detail: "Some fields are not valid."}

// InvalidFields returns ErrInvalid with fields, or nil if there are none.
func InvalidFields(fields []Field) error {
	if len(fields) == 0 {
		return nil
	}
	return ErrInvalid.With(fields...)
}
