package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Errors of a request before a use case runs.
var (
	ErrNoSuchPath = &fault.Error{
		Kind:   fault.NotFound,
		Code:   "not_found",
		Detail: "There is no resource at this path.",
	}
	errMethodNotAllowed = &fault.Error{
		Kind:   fault.MethodNotAllowed,
		Code:   "method_not_allowed",
		Detail: "This path does not support the method.",
	}
	errNotAcceptable = &fault.Error{
		Kind:   fault.NotAcceptable,
		Code:   "not_acceptable",
		Detail: "The Accept header must allow application/json, and application/problem+json for errors.",
	}
	errMediaType = &fault.Error{
		Kind:   fault.UnsupportedMedia,
		Code:   "unsupported_media_type",
		Detail: "This operation does not support the Content-Type of the body.",
	}
	ErrBodyTooLarge = &fault.Error{
		Kind:   fault.TooLarge,
		Code:   "body_too_large",
		Detail: "The body is larger than this operation allows.",
	}
	ErrBodyUnreadable = &fault.Error{
		Kind:   fault.Malformed,
		Code:   "malformed_request",
		Detail: "The body could not be read to its end.",
	}
)

// withStores returns r with the use cases on given stores, such as those of a transaction.
func (r *Call) withStores(stores ports.Stores) *Call {
	bound := *r
	bound.Services = r.API.Bind(stores)
	return &bound
}

// isWorkspaceOptional reports whether a request need not name a workspace in its header: for operations about the
// caller, and for those that name it in the path.
func isWorkspaceOptional(op *openapi.Operation) bool {
	return op.Access.Area == "self" || !op.TakesHeader("Workspace-Id")
}

// newCall returns the call of an operation that a request makes, whose caller is not known yet.
func (a *API) newCall(w http.ResponseWriter, r *http.Request, op *openapi.Operation, produces string) *Call {
	return &Call{
		Request:           r,
		Services:          a.Services,
		API:               a,
		Operation:         op,
		workspaceOptional: isWorkspaceOptional(op),
		ReplyHeader:       w.Header(),
		Produces:          produces,
	}
}

// handling is how an operation runs as one request.
type handling struct {
	run      perform
	produces string                                          // the media type of the response, if it is not JSON
	unpack   func(media string, body []byte) ([]byte, error) // returns a body of another media type as JSON; may be nil

	open      bool                     // it needs no credential, and waits for no gate
	lenient   bool                     // run checks the request against the contract, or a part of it
	malformed func(*Call, error) error // is told of requests that are not as the contract declares them; may be nil
	relays    bool                     // run can set Relay
}

// handle returns the handler of an operation that runs as one request. It authenticates the caller, checks the request
// against the contract, and runs it.
func (a *API) handle(op *openapi.Operation, run perform) http.Handler {
	return a.handleAs(op, handling{run: run})
}

func (a *API) handleAs(op *openapi.Operation, h handling) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		callCtx := hr.Context()
		ctx, cancel := context.WithTimeout(callCtx, a.Config.RequestTimeout)
		defer cancel()
		hr = hr.WithContext(ctx)
		Observed(hr).Route = op.Path

		r := a.newCall(w, hr, op, h.produces)
		r.unpack = h.unpack
		var answer ports.Answer
		isReplay := false
		err := r.admit(w, h)
		switch {
		case err != nil:
		case h.open:
			answer, _, err = h.run(r)
		default:
			answer, isReplay, err = r.runWithinLimits(h.run)
		}
		switch {
		case err != nil:
			r.recordRefusal(err)
			a.Problem(w, hr, err)
			return
		case r.Relay != nil:
			r.Relay(callCtx, w)
			return
		case isReplay:
			w.Header().Set("Idempotency-Replayed", "true")
		}
		Write(w, hr, answer)
	})
}

// admit authenticates the caller, and checks the request against the contract.
func (r *Call) admit(w http.ResponseWriter, h handling) (err error) {
	if !h.open {
		obs := Observed(r.Request)
		r.By, r.owner, err = r.API.authenticate(w, r.Request, obs, r.Operation, r.workspaceOptional)
		if err != nil {
			return err
		}
		if id := WorkspaceID(r); id != "" {
			obs.Workspace = id
		}
	}
	if h.lenient {
		return nil
	}
	if err = r.parse(w); err != nil && h.malformed != nil {
		err = h.malformed(r, err)
	}
	return err
}

// recordRefusal notes in the audit trail that the caller was refused this operation. If the path names a workspace, the
// note is in its trail, and only if the caller is a member.
func (r *Call) recordRefusal(err error) {
	if r.owner == nil {
		return
	}
	by := r.By
	if id := WorkspaceID(r); id != "" && id != by.Workspace {
		isNamed := func(m account.Membership) bool { return m.Workspace.ID == id }
		if !slices.ContainsFunc(r.Person().Memberships, isNamed) {
			return
		}
		by.Workspace = id
	}
	r.API.Services.Accounts.NoteRefusal(r.Context(), by, r.Operation.ID, r.Method == http.MethodDelete, err)
}

// runWithinLimits runs the request when the gates allow it. Reading a request and writing the response take as long as
// the client likes, so they occupy no slot.
func (r *Call) runWithinLimits(run perform) (answer ports.Answer, isReplay bool, err error) {
	gates := r.API.Gates
	if r.Operation.Outbound {
		gates = r.API.outbound
	}
	if err := r.API.enter(r.Context(), gates, r.By); err != nil {
		return ports.Answer{}, false, err
	}
	defer gates.Leave(r.By)
	if r.packed != "" {
		if err := r.unpackBody(); err != nil {
			return ports.Answer{}, false, err
		}
	}
	answer, isReplay, err = run(r)
	if r.weak && errors.Is(err, revision.ErrMismatch) {
		err = errWeakTag
	}
	return answer, isReplay, err
}

// parse checks the scopes of the caller's API key, and the request against the contract.
func (r *Call) parse(w http.ResponseWriter) error {
	if err := r.By.RequireScope(r.Operation.Scope); err != nil {
		return err
	}
	if !accepts(r.Header.Get("Accept"), r.Produces) {
		return errNotAcceptable
	}
	if err := r.Operation.CheckHeader(r.Header); err != nil {
		return err
	}
	if err := r.Operation.CheckQuery(r.URL.RawQuery); err != nil {
		return err
	}
	if r.URL.RawQuery != "" {
		r.Query = r.URL.Query()
	}
	var err error
	if r.Operation.TakesHeader("If-Match") {
		if r.Match, r.weak, err = ifMatch(r.Header.Values("If-Match")); err != nil {
			return err
		}
	}
	if !r.Operation.HasBody {
		return nil
	}
	if r.Payload, err = r.readBody(w); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return ErrBodyTooLarge.Because(
				fmt.Sprintf("The body is larger than the %d bytes that this operation accepts.", r.Operation.MaxBody),
			)
		}
		return ErrBodyUnreadable
	}
	if len(r.Payload) == 0 && (!r.Operation.BodyRequired || slices.ContainsFunc(r.Operation.MediaTypes, isJSON)) {
		return r.Operation.CheckBody(nil) // whatever its Content-Type is: without a body, most clients send none
	}
	media := r.Header.Get("Content-Type")
	if media != JSONType { // the usual type needs no parsing, which takes three allocations
		media, _, err = mime.ParseMediaType(media)
	}
	if err != nil || !slices.Contains(r.Operation.MediaTypes, media) {
		return errMediaType.Because(
			"The Content-Type of the body must be " + strings.Join(r.Operation.MediaTypes, " or ") + ".",
		)
	}
	if media == formType {
		r.Payload = formAsJSON(r.Payload)
	}
	if r.unpack != nil && media != JSONType {
		r.packed = media
		return nil
	}
	return r.Operation.CheckBody(r.Payload)
}

// unpackBody unpacks the body, and checks it against the contract.
func (r *Call) unpackBody() (err error) {
	if r.Payload, err = r.unpack(r.packed, r.Payload); err != nil {
		return err
	}
	return r.Operation.CheckBody(r.Payload)
}

// maxAnnounced is how many bytes the server allocates for a body only because a client has announced them.
const maxAnnounced = 4 << 10

// readBody reads the body. Its error is an *http.MaxBytesError if the body is larger than the operation allows.
func (r *Call) readBody(w http.ResponseWriter) ([]byte, error) {
	if n := r.ContentLength; 0 < n && n <= min(r.Operation.MaxBody, maxAnnounced) { // net/http reads no more
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, r.Operation.MaxBody))
}

const formType = "application/x-www-form-urlencoded"

// formField is the only field of a form that Atrium reads. Others must be ignored (OpenID Connect Back-Channel Logout
// 1.0, section 2.5).
const formField = "logout_token"

// formAsJSON returns the JSON object of a form. A form that cannot be parsed has no field, and a field that is given
// twice is a list.
func formAsJSON(form []byte) []byte {
	fields, _ := url.ParseQuery(string(form))
	object := map[string]any{}
	if values := fields[formField]; len(values) == 1 {
		object[formField] = values[0]
	} else if len(values) > 1 {
		object[formField] = values
	}
	text, err := json.Marshal(object)
	if err != nil { // strings always encode
		panic(err)
	}
	return text
}

// isPrintable reports whether s is not empty and has only printable ASCII characters.
func isPrintable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

// Preferred returns the first media type that isOffered and that an Accept header names before JSON; else "".
func Preferred(accept string, isOffered func(media string) bool) string {
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || params["q"] == "0" {
			continue
		}
		if isOffered(media) {
			return media
		}
		if media == JSONType {
			return ""
		}
	}
	return ""
}

// accepts reports whether an Accept header accepts JSON, or the other media type that is produced (RFC 9110, section
// 12.5.1). Ranges with q=0 count as accepted.
func accepts(header, produces string) bool {
	if header == "" || header == "*/*" || header == JSONType {
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
		if produces != "" && media == produces {
			return true
		}
	}
	return false
}
