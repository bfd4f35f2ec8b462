package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/ports"
)

// Kind is how requests of an operation run: Query, CachedQuery, ReaderQuery, Command, Unpacking, Outbound, DryRunnable,
// Probing or Streaming.
type Kind interface {
	handler(a *API, op *openapi.Operation) http.Handler
}

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

// Unpacking is a command whose body can have another media type, which Unpack returns as JSON.
type Unpacking struct {
	Command
	Unpack func(media string, body []byte) ([]byte, error)
}

// Streaming is an operation whose response is sent in parts (x-stream), and ends with the access of its reader.
type Streaming struct {
	Media   func(*http.Request) string                // of the stream that a request wants; empty: Plain responds
	Plain   Kind                                      // nil if each response is a stream
	Reserve func(*Stream) (release func(), err error) // counts the stream while it is open
	Open    func(*Stream) StreamBody
}

func (q Query) handler(a *API, op *openapi.Operation) http.Handler    { return a.handle(op, q.perform) }
func (c Command) handler(a *API, op *openapi.Operation) http.Handler  { return a.handle(op, c.perform) }
func (o Outbound) handler(a *API, op *openapi.Operation) http.Handler { return a.handle(op, o.perform) }
func (d DryRunnable) handler(a *API, op *openapi.Operation) http.Handler {
	return a.handle(op, d.perform)
}
func (u Unpacking) handler(a *API, op *openapi.Operation) http.Handler {
	return a.handleAs(op, handling{run: u.perform, unpack: u.Unpack})
}
func (s Streaming) handler(a *API, op *openapi.Operation) http.Handler {
	var plain http.Handler
	if s.Plain != nil {
		plain = s.Plain.handler(a, op)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if media := s.Media(r); media != "" {
			a.stream(s, op, media, w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

// Always is the media of a streaming operation whose responses all have one media type.
func Always(media string) func(*http.Request) string {
	return func(*http.Request) string { return media }
}

// perform runs one request and returns its response, and whether it is that of an earlier request with the same
// Idempotency-Key.
type perform func(*Call) (answer ports.Answer, replayed bool, err error)

func (q Query) perform(r *Call) (answer ports.Answer, replayed bool, err error) {
	out, err := q(r)
	if err != nil {
		return ports.Answer{}, false, err
	}
	answer, err = out.encode()
	return answer, false, err
}

func (c Command) perform(r *Call) (answer ports.Answer, replayed bool, err error) {
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
	answer, replayed, err = r.runOnce(key, nil, store)
	if _, isDeferred := out.Body.(Deferred); isDeferred && !replayed && err == nil {
		answer, err = out.encode() // its deferred values are known now
	}
	return answer, replayed, err
}

func (o Outbound) perform(r *Call) (answer ports.Answer, replayed bool, err error) {
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

func (d DryRunnable) perform(r *Call) (answer ports.Answer, replayed bool, err error) {
	if r.Query.Get("dry_run") == "true" {
		return d.DryRun.perform(r)
	}
	return d.Outbound.perform(r)
}

// Respond returns the command of an outbound operation whose effect is already stored: only its response is left.
func Respond(out Reply) Command {
	return func(*Call) (Reply, error) { return out, nil }
}

// checkKind returns an error if an operation of the contract cannot be of kind k.
func checkKind(op *openapi.Operation, k Kind) error {
	isOutbound, isStream := false, false
	switch k.(type) {
	case Query, CachedQuery, ReaderQuery:
		if op.TakesHeader("Idempotency-Key") {
			return fmt.Errorf("rest: %s is a query, but has an Idempotency-Key in openapi.yaml", op.ID)
		}
	case Outbound, DryRunnable:
		isOutbound = true
	case Probing:
		isOutbound, isStream = true, true
	case Streaming:
		isStream = true
	}
	if isStream != op.Stream {
		return fmt.Errorf("rest: %s is a stream in one of its route and openapi.yaml, and not in the other", op.ID)
	}
	if area := op.Access.Area; isStream && area != "workspace" && area != "self" && area != "operator" {
		return fmt.Errorf("rest: %s is a stream, but only a role in the workspace is checked while it is open", op.ID)
	}
	if isOutbound != op.Outbound {
		return fmt.Errorf("rest: %s is outbound in one of its route and openapi.yaml, and not in the other", op.ID)
	}
	return nil
}
