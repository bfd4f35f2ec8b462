package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/ports"
)

// Query reads, and stores nothing.
type Query func(*Call) (Reply, error)

// Command changes something. Under an Idempotency-Key it runs in one transaction with the record of its response, and
// again if that transaction loses a race.
type Command func(*Call) (Reply, error)

// Outbound reaches another system (x-outbound), outside of any transaction, and returns the command that stores the
// result. Under an Idempotency-Key it runs once, between the key's reservation and the command.
type Outbound func(*Call) (Command, error)

// DryRunnable is an outbound operation that only tests if the request has dry_run. It then ignores Idempotency-Key.
type DryRunnable struct {
	Outbound
	DryRun Query
}

// Anonymous is an operation that needs no credential: of people who sign in, and of visitors of other sites.
type Anonymous struct {
	Run       func(*Call) (Reply, error)
	Malformed func(*Call, error) error // is told of requests that are not as openapi.yaml declares them; may be nil
	Lenient   bool                     // requests are not checked
}

// Signed is an operation that another system calls. It signs the body, which Run verifies before anything interprets
// it.
type Signed func(*Call) (Reply, error)

// Redirecting is an operation that people open in a browser, without a credential. The browser is sent to the location
// that Run returns, or to the location of Refused, which gets a problem's code. A client that wants no HTML gets the
// problem. Run checks what it reads of the request: others may add parameters to it.
type Redirecting struct {
	Run     func(*Call) (location string, err error)
	Refused func(r *Call, code string) (location string)
}

// Page is a page for people. It checks what it reads of the request, and shows what it refuses.
type Page func(*Call) (ports.Answer, error)

// Protocol is what the contract of another standard describes, below a path, and a library serves.
type Protocol struct {
	Authenticate func(*Call) error // sets the caller, whose user the limits count
	Serve        func(http.ResponseWriter, *Call)
	Refuse       func(http.ResponseWriter, *Call, error)
}

// Unpacking is a command whose body can have another media type, which Unpack returns as JSON.
type Unpacking struct {
	Command
	Unpack func(media string, body []byte) ([]byte, error)
}

// Uploading is an outbound operation whose body can be bytes, which Call.RawBody returns.
type Uploading struct{ Outbound }

func (q Query) stages(a *API, op *openapi.Operation) stages   { return a.ordinary(op, q.perform) }
func (c Command) stages(a *API, op *openapi.Operation) stages { return a.ordinary(op, c.perform) }

func (o Outbound) stages(a *API, op *openapi.Operation) stages    { return a.ordinary(op, o.perform) }
func (d DryRunnable) stages(a *API, op *openapi.Operation) stages { return a.ordinary(op, d.perform) }

func (u Unpacking) stages(a *API, op *openapi.Operation) stages {
	s := a.ordinary(op, u.perform)
	s.begin = func(r *Call) { r.unpack = u.Unpack }
	return s
}

func (u Uploading) stages(a *API, op *openapi.Operation) stages {
	s := a.ordinary(op, u.perform)
	s.begin = func(r *Call) { r.takesBytes = true }
	return s
}

func (o Anonymous) stages(*API, *openapi.Operation) stages {
	if o.Lenient {
		return stages{act: Query(o.Run).perform}
	}
	return stages{parse: parseFor(o.Malformed), act: Query(o.Run).perform}
}

func (o Signed) stages(*API, *openapi.Operation) stages {
	return stages{parse: (*Call).readBody, act: Query(o).perform}
}

func (d Redirecting) stages(*API, *openapi.Operation) stages { return stages{act: d.perform} }

func (p Page) stages(*API, *openapi.Operation) stages {
	return stages{act: func(r *Call) (answer ports.Answer, isReplay bool, err error) {
		answer, err = p(r)
		return answer, false, err
	}}
}

func (p Protocol) stages(a *API, _ *openapi.Operation) stages {
	return stages{
		authenticate: p.Authenticate,
		gates:        a.Gates,
		act: func(r *Call) (answer ports.Answer, isReplay bool, err error) {
			p.Serve(r.writer, r)
			return ports.Answer{}, false, nil
		},
		respond: func(*Call, ports.Answer, bool) {}, // the library has responded
		refuse:  func(r *Call, err error) { p.Refuse(r.writer, r, err) },
	}
}

func (q Query) perform(r *Call) (answer ports.Answer, isReplay bool, err error) {
	out, err := q(r)
	if err != nil {
		return ports.Answer{}, false, err
	}
	answer, err = out.encode()
	return answer, false, err
}

// perform runs the command, once for each Idempotency-Key.
func (c Command) perform(r *Call) (answer ports.Answer, isReplay bool, err error) {
	key, ok := r.IdempotencyKey()
	if !ok {
		return Query(c).perform(r)
	}
	var out Reply
	store := func(r *Call) (_ ports.Answer, err error) {
		if out, err = c(r); err != nil {
			out = Reply{}
			return ports.Answer{}, err
		}
		return out.encode()
	}
	answer, isReplay, err = r.runOnce(key, nil, store)
	if _, isDeferred := out.Body.(Deferred); isDeferred && !isReplay && err == nil {
		answer, err = out.encode() // its deferred values are known now
	}
	return answer, isReplay, err
}

// perform makes the call outside of any transaction, then runs the command that stores its effect.
func (o Outbound) perform(r *Call) (answer ports.Answer, isReplay bool, err error) {
	var store Command
	reach := func(context.Context) (err error) {
		store, err = o(r)
		return err
	}
	key, ok := r.IdempotencyKey()
	if !ok {
		if err := reach(r.Context()); err != nil {
			return ports.Answer{}, false, err
		}
		return store.perform(r)
	}
	return r.runOnce(key, reach, func(r *Call) (ports.Answer, error) {
		answer, _, err := Query(store).perform(r)
		return answer, err
	})
}

func (u Unpacking) perform(r *Call) (answer ports.Answer, isReplay bool, err error) {
	if r.packed != "" {
		if err := r.unpackBody(); err != nil {
			return ports.Answer{}, false, err
		}
	}
	return u.Command.perform(r)
}

// perform redirects a browser, also after an error. Other clients get the problem.
func (d Redirecting) perform(r *Call) (answer ports.Answer, isReplay bool, err error) {
	location, err := d.Run(r)
	if err != nil {
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			return ports.Answer{}, false, err
		}
		f := PublicError(err)
		r.API.SetProblemHeaders(r.ReplyHeader, r.Request, f, err)
		Observed(r.Request).Code = f.Code
		location = d.Refused(r, f.Code)
	}
	return ports.Answer{Status: http.StatusSeeOther, Header: map[string]string{
		"Location": location, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	}}, false, nil
}

func (d DryRunnable) perform(r *Call) (answer ports.Answer, isReplay bool, err error) {
	if r.Query.Get("dry_run") == "true" {
		return d.DryRun.perform(r)
	}
	return d.Outbound.perform(r)
}

// RawBody returns the body if it has another media type than JSON. ok is false for JSON.
func (r *Call) RawBody() (body []byte, ok bool) { return r.Payload, r.packed != "" }

// Respond returns the command for an outbound operation whose effect is already stored: only its response is left.
func Respond(out Reply) Command {
	return func(*Call) (Reply, error) { return out, nil }
}
