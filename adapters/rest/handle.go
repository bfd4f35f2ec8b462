package rest

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// What can be wrong with a request before any use case sees it.
var (
	errNoSuchPath       = &fault.Error{Kind: fault.NotFound, Code: "not_found", Detail: "There is nothing at this path."}
	errMethodNotAllowed = &fault.Error{Kind: fault.MethodNotAllowed, Code: "method_not_allowed", Detail: "This path takes other methods; see the Allow header."}
	errNotAcceptable    = &fault.Error{Kind: fault.NotAcceptable, Code: "not_acceptable", Detail: "The Accept header leaves out what this operation answers."}
	errMediaType        = &fault.Error{Kind: fault.UnsupportedMedia, Code: "unsupported_media_type", Detail: "The Content-Type of the body is not one that this operation takes."}
	errBodyTooLarge     = &fault.Error{Kind: fault.TooLarge, Code: "body_too_large", Detail: "The body is larger than this operation takes."}
	errBodyUnreadable   = &fault.Error{Kind: fault.Malformed, Code: "malformed_request", Detail: "The body could not be read to its end."}
)

// request is one call of an operation, by a caller who is known.
type request struct {
	*http.Request
	Services
	api   *API
	op    *openapi.Operation
	by    identity.Actor
	who   *account.Person // as the credential proved it, a second old at most
	match revision.Match  // from If-Match
	query url.Values
	body  []byte

	answer http.Header // of what is answered, whatever that is
}

// handle is where every request learns who calls, is held to the contract, and is carried out.
func (a *API) handle(op *openapi.Operation, act action) http.Handler {
	// Whoever has no workspace to name may call what is about the caller, or names it in the path.
	anywhere := op.Access.Area == "self" || !op.TakesHeader("Workspace-Id")
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		seen := observation(hr)
		seen.route = op.Path
		ctx, cancel := context.WithTimeout(hr.Context(), a.config.RequestTimeout)
		defer cancel()
		hr = hr.WithContext(ctx)

		r := &request{Request: hr, Services: a.services, api: a, op: op, answer: w.Header()}
		var err error
		if r.by, r.who, err = a.authenticate(w, hr, seen, anywhere); err == nil {
			err = r.read(w)
		}
		var answer ports.Answer
		replayed := false
		if err == nil {
			answer, replayed, err = r.perform(act)
		}
		if err != nil {
			a.problem(w, hr, err)
			return
		}
		if replayed {
			w.Header().Set("Idempotency-Replayed", "true")
		}
		write(w, hr, answer)
	})
}

// read holds the shape of the request to the contract.
func (r *request) read(w http.ResponseWriter) error {
	if !accepts(r.Header.Get("Accept")) {
		return errNotAcceptable
	}
	if err := r.op.CheckHeader(r.Header); err != nil {
		return err
	}
	if err := r.op.CheckQuery(r.URL.RawQuery); err != nil {
		return err
	}
	if r.URL.RawQuery != "" {
		r.query = r.URL.Query()
	}
	r.match = ifMatch(r.Header.Values("If-Match"))
	if !r.op.HasBody {
		return nil
	}
	var err error
	if r.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, r.op.MaxBody)); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return errBodyTooLarge
		}
		return errBodyUnreadable
	}
	if len(r.body) == 0 && !r.op.BodyRequired {
		return nil
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(r.op.MediaTypes, media) {
		return errMediaType
	}
	return r.op.CheckBody(r.body)
}

// perform carries out the action: at once, or under the request's Idempotency-Key.
func (r *request) perform(act action) (answer ports.Answer, replayed bool, err error) {
	var after func(context.Context)
	carryOut := func() (ports.Answer, error) {
		out, err := act(r)
		if err != nil {
			return ports.Answer{}, err
		}
		after = out.after
		return out.encode()
	}
	if key := r.Header.Get("Idempotency-Key"); key == "" || !r.op.TakesHeader("Idempotency-Key") {
		answer, err = carryOut()
	} else {
		body := sha256.Sum256(append([]byte(r.URL.RawQuery+"\x00"), r.body...))
		scope := sha256.Sum256([]byte(strings.Join([]string{string(r.by.User), string(r.by.Workspace), r.Method, r.URL.Path, key}, "\x00")))
		answer, replayed, err = r.api.Idempotency.Once(r.Context(), ports.IdempotencyKey{Org: r.by.Org, Scope: scope, Request: body, At: r.by.At},
			func(stores ports.Stores) (ports.Answer, error) {
				r.Services = r.api.Bind(stores)
				return carryOut()
			},
			func(err error) (ports.Answer, bool) { return r.api.outcome(r.Request, err) })
	}
	if err == nil && !replayed && after != nil {
		after(r.Context())
	}
	return answer, replayed, err
}

// outcome is the answer to an error that ends a request for good: repeating it changes nothing.
func (a *API) outcome(r *http.Request, err error) (ports.Answer, bool) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return ports.Answer{}, false
	}
	switch f.Kind {
	case fault.NotFound, fault.Conflict, fault.Invalid, fault.PaymentRequired:
		return a.problemAnswer(r, f), true
	default:
		return ports.Answer{}, false
	}
}

// printable reports whether s is some visible ASCII.
func printable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

// accepts reports whether an Accept header lets JSON through (RFC 9110, section 12.5.1); ranges
// with q=0 are read as if they stood for what they name.
func accepts(header string) bool {
	if header == "" || header == "*/*" || header == "application/json" {
		return true
	}
	for part := range strings.SplitSeq(header, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || params["q"] == "0" {
			continue
		}
		switch media {
		case "*/*", "application/*", "application/json", problemType:
			return true
		}
	}
	return false
}

// pathID is the identifier in a path; a malformed one, or of another kind, is the empty one, which
// no thing has.
func pathID[T ~string](r *request, variable, prefix string) T {
	s := mux.Vars(r.Request)[variable]
	if !id.Valid(prefix, s) {
		return ""
	}
	return T(s)
}
