package rest

import (
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
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Errors of a request before a use case runs.
var (
	errNoSuchPath = &fault.Error{
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
	errBodyTooLarge = &fault.Error{
		Kind:   fault.TooLarge,
		Code:   "body_too_large",
		Detail: "The body is larger than this operation allows.",
	}
	errBodyUnreadable = &fault.Error{
		Kind:   fault.Malformed,
		Code:   "malformed_request",
		Detail: "The body could not be read to its end.",
	}
)

// request is one call of an operation by an authenticated caller.
type request struct {
	*http.Request
	application.Services
	api   *API
	op    *openapi.Operation
	by    identity.Actor
	owner owner           // who the credential belongs to, at most a second old; nil until it is verified
	known *account.Person // what person has returned; nil until it is called
	match revision.Match  // the revisions in If-Match
	weak  bool            // whether If-Match has a weak tag
	query url.Values
	body  []byte

	packed string                                          // the media type of a body that has to be unpacked, which needs much more memory; empty for none
	unpack func(media string, body []byte) ([]byte, error) // returns a packed body as JSON; nil if none can be

	workspaceOptional bool // the operation needs no workspace, or its path names one

	uncacheable bool                       // the response must not be cached
	trackedOnly bool                       // it depends only on tracked data, and on no time except the end of shares
	delivered   func(to *request)          // is called with each request that gets the response, also from the cache
	variant     func(reader string) string // what the response depends on, of its reader's key; nil for nothing

	produces string      // the media type of the response, if it is not JSON
	answer   http.Header // the header of the response, also of an error

	watch func(connection.Check) // called with each check of a probe; may be nil
}

// person returns the person that the credential belongs to; nil until it is verified.
func (r *request) person() *account.Person {
	if r.known == nil && r.owner != nil {
		r.known = r.owner.person()
	}
	return r.known
}

// withStores returns r with the use cases on given stores, such as those of a transaction.
func (r *request) withStores(stores ports.Stores) *request {
	bound := *r
	bound.Services = r.api.Bind(stores)
	return &bound
}

// isWorkspaceOptional reports whether a request need not name a workspace in its header: for operations about the
// caller, and for those that name it in the path.
func isWorkspaceOptional(op *openapi.Operation) bool {
	return op.Access.Area == "self" || !op.TakesHeader("Workspace-Id")
}

// newRequest returns a request of an operation, which nil can also be: then the request must not be parsed.
func (a *API) newRequest(w http.ResponseWriter, r *http.Request, op *openapi.Operation, produces string) *request {
	return &request{
		Request:           r,
		Services:          a.Services,
		api:               a,
		op:                op,
		workspaceOptional: op != nil && isWorkspaceOptional(op),
		answer:            w.Header(),
		produces:          produces,
	}
}

// handling is how an operation runs as one request.
type handling struct {
	run      perform
	produces string                                          // the media type of the response, if it is not JSON
	unpack   func(media string, body []byte) ([]byte, error) // returns a body of another media type as JSON; may be nil
}

// handle returns the handler of an operation that runs as one request. It authenticates the caller, checks the request
// against the contract, and runs it.
func (a *API) handle(op *openapi.Operation, run perform) http.Handler {
	return a.handleAs(op, handling{run: run})
}

func (a *API) handleAs(op *openapi.Operation, h handling) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		x := exchangeOf(hr)
		x.limit(a.config.RequestTimeout)
		defer x.end()
		obs := &x.observed
		obs.route = op.Path

		r := a.newRequest(w, hr, op, h.produces)
		r.unpack = h.unpack
		var err error
		if r.by, r.owner, err = a.authenticate(w, hr, obs, op, r.workspaceOptional); err == nil {
			if named := workspaceID(r); named != "" {
				obs.workspace = named
			}
			err = r.parse(w)
		}
		var answer ports.Answer
		replayed := false
		if err == nil {
			answer, replayed, err = r.runWithinLimits(h.run)
		}
		if err != nil {
			r.recordRefusal(err)
			a.problem(w, hr, err)
			return
		}
		if replayed {
			w.Header().Set("Idempotency-Replayed", "true")
		}
		write(w, hr, answer)
	})
}

// recordRefusal notes in the audit trail that the caller was refused this operation. If the path names a workspace, the
// note is in its trail, and only if the caller is a member.
func (r *request) recordRefusal(err error) {
	if r.owner == nil {
		return
	}
	by := r.by
	if named := workspaceID(r); named != "" && named != by.Workspace {
		isNamed := func(m account.Membership) bool { return m.Workspace.ID == named }
		if !slices.ContainsFunc(r.person().Memberships, isNamed) {
			return
		}
		by.Workspace = named
	}
	r.api.Services.Accounts.NoteRefusal(r.Context(), by, r.op.ID, r.Method == http.MethodDelete, err)
}

// runWithinLimits runs the request when the gates allow it. Reading a request and writing the response take as long as
// the client likes, so they occupy no slot.
func (r *request) runWithinLimits(run perform) (answer ports.Answer, replayed bool, err error) {
	gates := r.api.gates
	if r.op.Outbound {
		gates = r.api.outbound
	}
	if err := r.api.enter(r.Context(), gates, r.by); err != nil {
		return ports.Answer{}, false, err
	}
	defer gates.leave(r.by)
	if r.packed != "" {
		if err := r.unpackBody(); err != nil {
			return ports.Answer{}, false, err
		}
	}
	answer, replayed, err = run(r)
	if r.weak && errors.Is(err, revision.ErrMismatch) {
		err = errWeakTag
	}
	return answer, replayed, err
}

// parse checks the scopes of the caller's API key, and the request against the contract.
func (r *request) parse(w http.ResponseWriter) error {
	if err := r.by.RequireScope(r.op.Scope); err != nil {
		return err
	}
	if !accepts(r.Header.Get("Accept"), r.produces) {
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
	var err error
	if r.op.TakesHeader("If-Match") {
		if r.match, r.weak, err = ifMatch(r.Header.Values("If-Match")); err != nil {
			return err
		}
	}
	if !r.op.HasBody {
		return nil
	}
	if r.body, err = r.readBody(w); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return errBodyTooLarge.Because(
				fmt.Sprintf("The body is larger than the %d bytes that this operation accepts.", r.op.MaxBody),
			)
		}
		return errBodyUnreadable
	}
	if len(r.body) == 0 && (!r.op.BodyRequired || slices.ContainsFunc(r.op.MediaTypes, isJSON)) {
		return r.op.CheckBody(nil) // whatever its Content-Type is: without a body, most clients send none
	}
	media := r.Header.Get("Content-Type")
	if media != jsonType { // the usual type needs no parsing, which takes three allocations
		media, _, err = mime.ParseMediaType(media)
	}
	if err != nil || !slices.Contains(r.op.MediaTypes, media) {
		return errMediaType.Because(
			"The Content-Type of the body must be " + strings.Join(r.op.MediaTypes, " or ") + ".",
		)
	}
	if media == formType {
		r.body = formAsJSON(r.body)
	}
	if r.unpack != nil && media != jsonType {
		r.packed = media
		return nil
	}
	return r.op.CheckBody(r.body)
}

// unpackBody unpacks the body, and checks it against the contract.
func (r *request) unpackBody() (err error) {
	if r.body, err = r.unpack(r.packed, r.body); err != nil {
		return err
	}
	return r.op.CheckBody(r.body)
}

// maxAnnounced is how many bytes the server allocates for a body only because a client has announced them.
const maxAnnounced = 4 << 10

// readBody reads the body. Its error is an *http.MaxBytesError if the body is larger than the operation allows.
func (r *request) readBody(w http.ResponseWriter) ([]byte, error) {
	if n := r.ContentLength; 0 < n && n <= min(r.op.MaxBody, maxAnnounced) { // net/http reads no more
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, r.op.MaxBody))
}

const jsonType = "application/json"

// isJSON reports whether a media type of a body is JSON, or a format that is based on it.
func isJSON(media string) bool { return media == jsonType || strings.HasSuffix(media, "+json") }

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

// preferred returns the first media type that isOffered and that an Accept header names before JSON; else "".
func preferred(accept string, isOffered func(media string) bool) string {
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || params["q"] == "0" {
			continue
		}
		if isOffered(media) {
			return media
		}
		if media == jsonType {
			return ""
		}
	}
	return ""
}

// accepts reports whether an Accept header accepts JSON, or the other media type that is produced (RFC 9110, section
// 12.5.1). Ranges with q=0 count as accepted.
func accepts(header, produces string) bool {
	if header == "" || header == "*/*" || header == jsonType {
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
