package rest

import (
	"context"
	"fmt"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/ports"
)

// kind is how requests of an operation run: query, remembered, prefetching, command, unpacking, outbound,
// dryRunnable, probing or streaming.
type kind interface {
	handler(a *API, op *openapi.Operation) http.Handler
}

// query reads, and stores nothing.
type query func(*request) (reply, error)

// command changes something. Under an Idempotency-Key it runs in one transaction with the record of its response, and
// again if that transaction loses a race.
type command func(*request) (reply, error)

// outbound reaches another system (x-outbound), outside of any transaction, and returns the command that stores the
// result. Under an Idempotency-Key it runs once, between the key's reservation and the command.
type outbound func(*request) (command, error)

// dryRunnable is an outbound operation that only tests if the request has dry_run. It then ignores Idempotency-Key.
type dryRunnable struct {
	outbound
	dryRun query
}

// unpacking is a command whose body can have another media type, which unpack returns as JSON.
type unpacking struct {
	command
	unpack func(media string, body []byte) ([]byte, error)
}

// streaming is an operation whose response is sent in parts (x-stream), and ends with the access of its reader.
type streaming struct {
	media   func(*http.Request) string // the media type of the stream that a request wants; empty: plain responds
	plain   kind                       // nil if each response is a stream
	reserve func(*openStream) (release func(), err error)
	open    func(*openStream) streamBody
}

func (q query) handler(a *API, op *openapi.Operation) http.Handler    { return a.handle(op, q.perform) }
func (c command) handler(a *API, op *openapi.Operation) http.Handler  { return a.handle(op, c.perform) }
func (o outbound) handler(a *API, op *openapi.Operation) http.Handler { return a.handle(op, o.perform) }
func (d dryRunnable) handler(a *API, op *openapi.Operation) http.Handler {
	return a.handle(op, d.perform)
}
func (u unpacking) handler(a *API, op *openapi.Operation) http.Handler {
	return a.handleAs(op, handling{run: u.perform, unpack: u.unpack})
}
func (s streaming) handler(a *API, op *openapi.Operation) http.Handler {
	var plain http.Handler
	if s.plain != nil {
		plain = s.plain.handler(a, op)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if media := s.media(r); media != "" {
			a.stream(s, op, media, w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

// always is the media of a streaming operation whose responses all have one media type.
func always(media string) func(*http.Request) string {
	return func(*http.Request) string { return media }
}

// perform runs one request and returns its response, and whether it is that of an earlier request with the same
// Idempotency-Key.
type perform func(*request) (answer ports.Answer, replayed bool, err error)

func (q query) perform(r *request) (answer ports.Answer, replayed bool, err error) {
	out, err := q(r)
	if err != nil {
		return ports.Answer{}, false, err
	}
	answer, err = out.encode()
	return answer, false, err
}

func (c command) perform(r *request) (answer ports.Answer, replayed bool, err error) {
	key, ok := r.idempotencyKey()
	if !ok {
		return query(c).perform(r)
	}
	var out reply
	store := func(r *request) (_ ports.Answer, err error) {
		if out, err = c(r); err != nil {
			out = reply{}
			return ports.Answer{}, err
		}
		return out.encode()
	}
	answer, replayed, err = r.runOnce(key, nil, store)
	if _, isDeferred := out.body.(deferred); isDeferred && !replayed && err == nil {
		answer, err = out.encode() // its deferred values are known now
	}
	return answer, replayed, err
}

func (o outbound) perform(r *request) (answer ports.Answer, replayed bool, err error) {
	var store command
	reach := func(context.Context) (err error) {
		store, err = o(r)
		return err
	}
	key, ok := r.idempotencyKey()
	if !ok {
		if err := reach(r.Context()); err != nil {
			return ports.Answer{}, false, err
		}
		return store.perform(r)
	}
	return r.runOnce(key, reach, func(r *request) (ports.Answer, error) {
		answer, _, err := query(store).perform(r)
		return answer, err
	})
}

func (d dryRunnable) perform(r *request) (answer ports.Answer, replayed bool, err error) {
	if r.query.Get("dry_run") == "true" {
		return d.dryRun.perform(r)
	}
	return d.outbound.perform(r)
}

// respond returns the command of an outbound operation whose effect is already stored: only its response is left.
func respond(out reply) command {
	return func(*request) (reply, error) { return out, nil }
}

// checkKind returns an error if an operation of the contract cannot be of kind k.
func checkKind(op *openapi.Operation, k kind) error {
	isOutbound, isStream := false, false
	switch k.(type) {
	case query, cachedQuery, readerQuery, prefetching:
		if op.TakesHeader("Idempotency-Key") {
			return fmt.Errorf("rest: %s is a query, but has an Idempotency-Key in openapi.yaml", op.ID)
		}
	case outbound, dryRunnable:
		isOutbound = true
	case probing:
		isOutbound, isStream = true, true
	case streaming:
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
