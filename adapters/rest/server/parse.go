package server

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

	"github.com/atrium-hq/atrium/domain/fault"
)

// A request's errors before a use case runs.
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
	errBodyTooLarge = &fault.Error{
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

// parseFor returns the stage that checks requests, and tells malformed of those that are not as openapi.yaml declares
// them.
func parseFor(malformed func(*Call, error) error) func(*Call) error {
	if malformed == nil {
		return (*Call).parse
	}
	return func(r *Call) error {
		if err := r.parse(); err != nil {
			return malformed(r, err)
		}
		return nil
	}
}

// parse checks the scopes of the caller's API key, and the request against the contract.
func (r *Call) parse() error {
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
	if err := r.readBody(); err != nil {
		return err
	}
	if len(r.Payload) == 0 && (!r.Operation.BodyRequired || slices.ContainsFunc(r.Operation.MediaTypes, isJSON)) {
		_, err := r.Operation.CheckBody(nil)
		return err // whatever its Content-Type is: without a body, most clients send none
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
	if (r.unpack != nil || r.takesBytes) && media != JSONType {
		r.packed = media
		return nil
	}
	r.Payload, err = r.Operation.CheckBody(r.Payload)
	return err
}

// unpackBody unpacks the body, and checks it against the contract.
func (r *Call) unpackBody() (err error) {
	if r.Payload, err = r.unpack(r.packed, r.Payload); err != nil {
		return err
	}
	r.Payload, err = r.Operation.CheckBody(r.Payload)
	return err
}

// maxAnnounced is how many bytes the server allocates for a body only because a client has announced them.
const maxAnnounced = 4 << 10

// readBody reads the body.
func (r *Call) readBody() (err error) {
	if n := r.ContentLength; 0 < n && n <= min(r.Operation.MaxBody, maxAnnounced) { // net/http reads no more
		r.Payload = make([]byte, n)
		_, err = io.ReadFull(r.Body, r.Payload)
	} else {
		r.Payload, err = io.ReadAll(http.MaxBytesReader(r.writer, r.Body, r.Operation.MaxBody))
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return errBodyTooLarge.Because(
			fmt.Sprintf("The body is larger than the %d bytes that this operation accepts.", r.Operation.MaxBody),
		)
	}
	if err != nil {
		return ErrBodyUnreadable
	}
	return nil
}

const formType = "application/x-www-form-urlencoded"

// formField is the only form field that Atrium reads. Others must be ignored (OpenID Connect Back-Channel Logout 1.0,
// section 2.5).
const formField = "logout_token"

// formAsJSON returns a form's JSON object. A form that cannot be parsed has no field, and a field that is given twice
// is a list.
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
