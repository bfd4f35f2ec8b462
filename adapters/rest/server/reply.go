package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Reply is an operation's response, before its body is encoded.
type Reply struct {
	Status   int    // of HTTP
	Body     any    // nil for 204; see JSON and Deferred
	revision int64  // of the resource; 0 if it has none
	Location string // of the created resource
	Vary     string // the request headers that the response depends on, if caches may keep it
	Cache    string // Cache-Control; empty: only the client keeps the response, and asks again
	Reveals  string // the id of the object whose secret the body shows; see ports.Answer
	Brought  string // the id of the object whose secret was in the request; see ports.Answer
	shows    string // the path whose GET returns this body; empty: none
}

// usualBody is the size in bytes that most bodies do not reach.
const usualBody = 2 << 10

// JSON is a body that is already JSON.
type JSON []byte

// Deferred is a body with values that are only known after the commit, such as whether a mail was sent. An
// Idempotency-Key's record is written in the transaction, so it has the body as it was before the commit.
type Deferred func() any

// OK returns a reply of status 200.
func OK(body any) Reply { return Reply{Status: http.StatusOK, Body: body} }

// Created returns a reply of status 201 with the path of what was created.
func Created(location string, body any) Reply {
	return Reply{Status: http.StatusCreated, Body: body, Location: location}
}

// NoContent is a reply of status 204.
var NoContent = Reply{Status: http.StatusNoContent}

// WithRevision sets the revision of the resource that the body shows.
func (r Reply) WithRevision(revision int64) Reply {
	r.revision = revision
	return r
}

// ReadableAt declares that a GET of path returns the same body to the same caller. An Idempotency-Key then keeps no
// copy of the body: a repeated request reads it again.
func (r Reply) ReadableAt(path string) Reply {
	r.shows = path
	return r
}

// encode returns the response that is sent, and stored under an Idempotency-Key. A resource's ETag has its revision and
// a hash of the body, since the body may change without the revision, for example with the caller's own role.
func (r Reply) encode() (ports.Answer, error) {
	a := ports.Answer{
		Status:  r.Status,
		Header:  r.header(),
		Reveals: r.Reveals,
		Brought: r.Brought,
		Shows:   r.shows,
	}
	if r.Body == nil {
		return a, nil
	}
	body := r.Body
	if late, ok := body.(Deferred); ok {
		body = late()
	}
	switch body := body.(type) {
	case JSON:
		a.Body = body
	default:
		var buf bytes.Buffer
		buf.Grow(usualBody)
		if err := Encode(&buf, body); err != nil {
			return ports.Answer{}, err
		}
		a.Body = buf.Bytes()
	}
	if r.revision != 0 {
		a.Header["Etag"] = ETag(r.revision, a.Body)
	}
	return a, nil
}

// header returns the header fields that do not depend on the encoded body.
func (r *Reply) header() map[string]string {
	h := map[string]string{}
	if r.Body != nil {
		h["Content-Type"] = JSONType
	}
	if r.Location != "" {
		h["Location"] = r.Location
	}
	if r.Vary != "" {
		h["Vary"] = r.Vary
	}
	if r.Cache != "" {
		h["Cache-Control"] = r.Cache
	}
	if r.Reveals != "" {
		h["Cache-Control"] = "no-store"
	}
	return h
}

// ETag returns the entity tag for a body that shows a revision.
func ETag(revision int64, body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + strconv.FormatInt(revision, 10) + "-" + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`
}

// Write sends an answer, or 304 if the client has it already.
func Write(w http.ResponseWriter, r *http.Request, a ports.Answer) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	for name, value := range a.Header {
		if name == "Vary" { // beside what the response depends on for others, such as the Origin
			h.Add(name, value)
			continue
		}
		h.Set(name, value)
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if tag := a.Header["Etag"]; tag != "" && reads && NoneMatch(r.Header.Values("If-None-Match"), tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if a.Body != nil {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // it fails if the client is gone
}

// NoneMatch reports whether If-None-Match names tag, compared weakly (RFC 9110, section 13.1.2).
func NoneMatch(headers []string, tag string) bool {
	for _, h := range headers {
		for part := range strings.SplitSeq(h, ",") {
			if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == tag {
				return true
			}
		}
	}
	return false
}

var (
	errIfMatch = openapi.ErrInvalidParameter.Because(
		"If-Match must be an ETag exactly as the server returned it, in its quotes; several with commas between; or *.",
	)
	errWeakTag = revision.ErrMismatch.Because(
		"If-Match compares strongly, so a weak tag never matches (RFC 9110, section 13.1.1): send the " +
			"ETag without W/.",
	)
)

// ifMatch reads If-Match. Only the revision in a tag is compared, not the hash: if an object merely looks different to
// another caller, no update is lost. Weak tags, and tags that are not Atrium's, match nothing. With * or without the
// header there is no condition. errIfMatch if the value is not an entity tag.
func ifMatch(headers []string) (m revision.Match, weak bool, err error) {
	if len(headers) == 0 {
		return nil, false, nil
	}
	m = revision.Match{}
	anything := false
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		part = strings.TrimSpace(part)
		if part == "*" {
			anything = true
			continue
		}
		tag, isWeak := strings.CutPrefix(part, "W/")
		if len(tag) < 2 || tag[0] != '"' || strings.IndexByte(tag[1:], '"') != len(tag)-2 {
			return nil, false, errIfMatch
		}
		weak = weak || isWeak
		number, _, hasDash := strings.Cut(tag[1:], "-")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && hasDash && n > 0 && !isWeak {
			m = append(m, n)
		}
	}
	if anything {
		return nil, false, nil
	}
	return m, weak, nil
}

// The media types of bodies, and of problems (RFC 9457).
const (
	JSONType    = "application/json"
	problemType = "application/problem+json"
)

// isJSON reports whether a body's media type is JSON, or a format that is based on it.
func isJSON(media string) bool { return media == JSONType || strings.HasSuffix(media, "+json") }
