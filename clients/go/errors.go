package atrium

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Code is the stable name of an error. It is an error itself, so that errors.Is finds it.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// CodeUnexpectedResponse is the code of a response that is not from Atrium: a proxy's page, for example.
const CodeUnexpectedResponse Code = "unexpected_response"

// ErrNotModified is the error of a call with IfNoneMatch if the resource has not changed.
var ErrNotModified = errors.New("atrium: not modified")

// Error is an error that the API returned: a problem of RFC 9457.
//
//	if errors.Is(err, atrium.CodeNameTaken) { … }
//	if failed, ok := errors.AsType[*atrium.Error](err); ok { log(failed.RequestID) }
type Error struct {
	Problem
	RetryAfter time.Duration // when the call can be repeated; 0 if the server did not say
	Call       string        // the name of the call: promptTemplates.create
}

// Error returns the call, the code, the detail, the first three fields that are not valid, and the id of the request. It
// contains no secret.
func (e *Error) Error() string {
	text := fmt.Sprintf("atrium: %s: %s: %s", e.Call, e.Code, e.Detail)
	for _, field := range e.Errors[:min(len(e.Errors), 3)] {
		text += " " + field.Pointer + ": " + field.Detail
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Is reports whether target is the code of e.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && string(code) == e.Code
}

// ConnectionError is a call that received no response, or none in time. It may have taken effect.
type ConnectionError struct {
	Call string // the name of the call
	Err  error
}

// Error returns the call and the reason.
func (e *ConnectionError) Error() string { return "atrium: " + e.Call + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ConnectionError) Unwrap() error { return e.Err }

// problemOf reads an error that the server returned.
func problemOf(name string, res *http.Response, body []byte) *Error {
	e := &Error{Call: name}
	if json.Unmarshal(body, &e.Problem) != nil || e.Code == "" {
		e.Problem = Problem{Type: "about:blank", Title: "Unexpected response", Status: res.StatusCode,
			Code:      string(CodeUnexpectedResponse),
			Detail:    fmt.Sprintf("The response with status %d is not from Atrium.", res.StatusCode),
			RequestID: res.Header.Get("Request-Id")}
	}
	e.RetryAfter = retryAfter(res.Header.Get("Retry-After"))
	return e
}

// retryAfter reads seconds or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second
	}
	if moment, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(moment))
	}
	return 0
}
