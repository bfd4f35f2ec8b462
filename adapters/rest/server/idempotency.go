package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/ports"
)

// runOnce runs a request under its Idempotency-Key: first reach, unless it is nil, outside of any transaction, then
// store in one transaction with the record of the response. If the key has a response already, it returns that
// (replayed).
func (r *Call) runOnce(
	key ports.IdempotencyKey, reach func(context.Context) error, store func(*Call) (ports.Answer, error),
) (answer ports.Answer, isReplay bool, err error) {
	answer, isReplay, err = r.API.Idempotency.Once(r.Context(), key, reach,
		func(stores ports.Stores) (ports.Answer, error) { return store(r.withStores(stores)) },
		func(err error) (ports.Answer, bool) { return r.API.outcome(r.Request, err) })
	switch {
	case isReplay && answer.Shows != "":
		answer, err = r.readAgain(answer)
	case isReplay:
		answer = withRequestID(answer, Observed(r.Request).ID)
	}
	return answer, isReplay, err
}

// scope returns the scope within which an Idempotency-Key is unique: caller, credential, workspace, method and path.
// The response to one credential may contain more than another credential of the same user may see. If an operation
// needs no workspace, the caller's current one is not part of the scope, since the call itself may change it: accepting
// an invitation does. An API key's workspace never changes, so it is always part of the scope.
func (r *Call) scope(key string) []byte {
	ws := string(r.By.Workspace)
	if r.workspaceOptional && r.By.Key == "" {
		ws = ""
	}
	parts := []string{string(r.By.User), string(r.By.Key), r.By.Ceiling.String(), ws, r.Method, r.URL.Path, key}
	return []byte(strings.Join(parts, "\x00"))
}

// IdempotencyKey returns the request's Idempotency-Key as it is stored, and false if the request has none or its
// operation ignores it.
func (r *Call) IdempotencyKey() (_ ports.IdempotencyKey, ok bool) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" || !r.Operation.TakesHeader("Idempotency-Key") {
		return ports.IdempotencyKey{}, false
	}
	scope, content := r.scope(key), append([]byte(r.URL.RawQuery+"\x00"), r.Payload...)
	return ports.IdempotencyKey{
		Org:     r.By.Org,
		At:      r.By.At,
		Secret:  r.Operation.Secret,
		Scope:   r.API.Digester.Digest("idempotency scope", scope),
		Request: r.API.Digester.Digest("idempotency request", content),
		Plain:   ports.PlainDigests{Scope: sha256.Sum256(scope), Request: sha256.Sum256(content)},
	}, true
}

// maxKeptRefusal is the size of the largest refusal that is stored under an Idempotency-Key, in bytes. One that lists
// 500 fields has 80 KB: a caller who sends another key each time would fill the disk.
const maxKeptRefusal = 4 << 10

// outcome is the response for an error that is final: repeating the request changes nothing. One that asks the caller
// to wait is not: it reports that the request was not carried out yet. A long one is not stored, so a repeated request
// is carried out again: the first one had no effect.
func (a *API) outcome(r *http.Request, err error) (ports.Answer, bool) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.RetryAfter > 0 {
		return ports.Answer{}, false
	}
	switch f.Kind {
	case fault.NotFound, fault.Conflict, fault.Invalid, fault.PaymentRequired:
		answer := a.problemAnswer(r, f, err)
		return answer, len(answer.Body) <= maxKeptRefusal
	default:
		return ports.Answer{}, false
	}
}

// errNoLongerReadable is returned for a repeated request whose body must be read again and which the caller
// can no longer read.
var errNoLongerReadable = ports.ErrAnswerErased.Because(
	"This request was carried out. The resource was deleted since, or you can no longer read it.",
)

// readAgain returns kept with the body and the ETag that a GET of kept.Shows now has for the caller; the status and the
// other headers are the first response's. It returns ports.ErrAnswerErased if the caller can no longer read it.
func (r *Call) readAgain(stored ports.Answer) (ports.Answer, error) {
	hr := r.Clone(r.Context())
	hr.Method, hr.URL, hr.Body = http.MethodGet, &url.URL{Path: stored.Shows}, http.NoBody
	var match mux.RouteMatch
	if !r.API.router.Match(hr, &match) || match.MatchErr != nil {
		return ports.Answer{}, errNoLongerReadable // a path that another version of Atrium had
	}
	path, err := match.Route.GetPathTemplate()
	if err != nil {
		return ports.Answer{}, err
	}
	get, ok := r.API.reads[path]
	if !ok {
		return ports.Answer{}, errNoLongerReadable
	}
	repeat := *r
	hr = WithObservation(hr, new(*Observed(r.Request)))
	repeat.Request, repeat.Operation = mux.SetURLVars(hr, match.Vars), get.op
	repeat.Payload, repeat.Query, repeat.Match = nil, nil, nil
	current, _, err := get.read(&repeat)
	if err != nil {
		if f, ok := errors.AsType[*fault.Error](err); ok && (f.Kind == fault.NotFound || f.Kind == fault.Forbidden) {
			err = errNoLongerReadable
		}
		return ports.Answer{}, err
	}
	header := map[string]string{}
	for name, value := range stored.Header {
		header[name] = value
	}
	for _, name := range []string{"Content-Type", "Etag"} {
		header[name] = current.Header[name]
	}
	stored.Header, stored.Body = header, current.Body
	return stored, nil
}
