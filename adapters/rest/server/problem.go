package server

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Problem writes err as application/problem+json (RFC 9457). An unexpected error is logged in full, and the
// client gets only a 500.
func (a *API) Problem(w http.ResponseWriter, r *http.Request, err error) {
	f := PublicError(err)
	a.SetProblemHeaders(w.Header(), r, f, err)
	Write(w, r, a.problemAnswer(r, f, err))
}

// SetProblemHeaders sets the headers that belong to a failure, and logs unexpected errors.
func (a *API) SetProblemHeaders(h http.Header, r *http.Request, f *fault.Error, err error) {
	switch f.Kind {
	case fault.Unauthenticated:
		h.Set("WWW-Authenticate", `Bearer realm="atrium"`)
	case fault.Unavailable, fault.UpstreamTimeout:
		h.Set("Retry-After", "1")
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	if f == errInternal || f.Kind >= fault.Upstream {
		log := a.Log.ErrorContext
		if errors.Is(err, context.Canceled) {
			log = a.Log.DebugContext // the client went away
		}
		log(
			r.Context(), "request failed", "request_id", Observed(r).ID, "method", r.Method, "route",
			Observed(r).Route, "error", err,
		)
	}
}

// problemAnswer returns the response for f, the public part of err, with the details of err.
func (a *API) problemAnswer(r *http.Request, f *fault.Error, err error) ports.Answer {
	Observed(r).Code = f.Code
	status := Statuses[f.Kind]
	title := http.StatusText(status)
	if declaration, ok := a.Contract.Problem(f.Code); ok {
		title = declaration.Title
	}
	p := openapi.Problem{
		Type:      "/problems/" + f.Code,
		Title:     title,
		Status:    status,
		Detail:    f.Detail,
		Code:      f.Code,
		RequestID: Observed(r).ID,
	}
	if errors.Is(f, identity.ErrUnknownHost) {
		p.Detail = "No organisation is configured for the host " + printableHost(a.Host(r)) + "."
	}
	if e, ok := errors.AsType[*connection.ProbeError](err); ok {
		p.Failure, p.Checks = convert.ToFailure(&e.Failure, Observed(r).Org.Egress), convert.Slice(e.Checks,
			convert.ToCheck)
	}
	if e, ok := errors.AsType[*connection.UnreadableError](err); ok {
		p.Sqlstate = e.State
	}
	if e, ok := errors.AsType[*payment.DeclinedError](err); ok {
		p.DeclineCode = e.DeclineCode
	}
	if e, ok := errors.AsType[*quota.LimitError](err); ok {
		p.PlanLimit = convert.ToPlanLimit(e)
	}
	for _, field := range f.Fields {
		p.Errors = append(p.Errors, openapi.FieldError{Pointer: field.Pointer, Code: field.Code, Detail: field.Detail})
	}
	for _, use := range f.UsedBy {
		p.UsedBy = append(p.UsedBy, openapi.ProblemUse(use))
	}
	p.UsedByCount = f.Uses
	for _, b := range f.Breaks {
		p.Breaks = append(p.Breaks, openapi.ProblemBreak{Member: b.Member, Name: b.Name, Code: b.Code,
			Detail: b.Detail})
	}
	for _, owner := range f.Owners {
		p.UsedByOwners = append(p.UsedByOwners, openapi.ProblemUse(owner))
	}
	body, err := json.Marshal(p)
	if err != nil { // a Problem always encodes
		panic(err)
	}
	return ports.Answer{
		Status: status,
		Header: map[string]string{"Content-Type": problemType, "Cache-Control": "no-store"},
		Body:   append(body, '\n'),
	}
}

// withRequestID returns a stored problem with the id of the current request. Other responses are returned byte for
// byte.
func withRequestID(a ports.Answer, id string) ports.Answer {
	var p openapi.Problem
	if a.Header["Content-Type"] != problemType || json.Unmarshal(a.Body, &p) != nil {
		return a
	}
	p.RequestID = id
	body, err := json.Marshal(p)
	if err != nil {
		return a
	}
	a.Body = append(body, '\n') //nolint:gocritic // it is another body
	return a
}
