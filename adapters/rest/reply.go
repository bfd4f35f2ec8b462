package rest

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

// reply is the response of an operation, before its body is encoded.
type reply struct {
	status   int
	body     any    // nil for 204; see encoded and deferred
	revision int64  // of the resource; 0 if it has none
	location string // of the created resource
	vary     string // the request headers that the response depends on, if caches may keep it
	reveals  string // the id of the object whose secret the body shows; see ports.Answer
	brought  string // the id of the object whose secret was in the request; see ports.Answer
	shows    string // the path whose GET returns this body; empty: none
}

// encoded is a body that is already JSON.
type encoded []byte

// appender is a body that encodes itself, without reflection.
type appender interface {
	AppendJSON([]byte) []byte
}

// appendedBytes is the initial capacity for a body that encodes itself; most are shorter.
const appendedBytes = 768

// deferred is a body with values that are only known after the commit, such as whether a mail was sent. The record of
// an Idempotency-Key is written in the transaction, so it has the body as it was before the commit.
type deferred func() any

func ok(body any) reply { return reply{status: http.StatusOK, body: body} }

func created(location string, body any) reply {
	return reply{status: http.StatusCreated, body: body, location: location}
}

var noContent = reply{status: http.StatusNoContent}

// withRevision sets the revision of the resource that the body shows.
func (r reply) withRevision(revision int64) reply {
	r.revision = revision
	return r
}

// readableAt declares that a GET of path returns the same body to the same caller. An Idempotency-Key then keeps no
// copy of the body: a repeated request reads it again.
func (r reply) readableAt(path string) reply {
	r.shows = path
	return r
}

// encode returns the response that is sent, and stored under an Idempotency-Key. A resource's ETag has its revision and
// a hash of the body, since the body may change without the revision, for example with the caller's own role.
func (r reply) encode() (ports.Answer, error) {
	a := ports.Answer{
		Status:  r.status,
		Header:  r.header(),
		Reveals: r.reveals,
		Brought: r.brought,
		Shows:   r.shows,
	}
	if r.body == nil {
		return a, nil
	}
	body := r.body
	if late, ok := body.(deferred); ok {
		body = late()
	}
	switch body := body.(type) {
	case encoded:
		a.Body = body
	case appender:
		a.Body = append(body.AppendJSON(make([]byte, 0, appendedBytes)), '\n')
	default:
		var buf bytes.Buffer
		if err := encode(&buf, body); err != nil {
			return ports.Answer{}, err
		}
		a.Body = buf.Bytes()
	}
	if r.revision != 0 {
		a.Header["Etag"] = etag(r.revision, a.Body)
	}
	return a, nil
}

// header returns the header fields that do not depend on the encoded body. The caller adds one only if the resource has
// a revision.
func (r *reply) header() map[string]string {
	if r.body != nil && r.revision == 0 && r.location == "" && r.vary == "" && r.reveals == "" {
		return jsonOnly
	}
	h := map[string]string{}
	if r.body != nil {
		h["Content-Type"] = jsonType
	}
	if r.location != "" {
		h["Location"] = r.location
	}
	if r.vary != "" {
		h["Vary"] = r.vary
	}
	if r.reveals != "" {
		h["Cache-Control"] = "no-store"
	}
	return h
}

func etag(revision int64, body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + strconv.FormatInt(revision, 10) + "-" + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`
}

// Values of header fields that most responses have. They are shared, so nothing may change them.
var (
	privateNoCache = []string{"private, no-cache"}
	noSniff        = []string{"nosniff"}
	jsonTypes      = []string{jsonType}
	jsonOnly       = map[string]string{"Content-Type": jsonType}
)

// maxCounted is the size in bytes up to which net/http sets the Content-Length of a body itself. We leave it to
// net/http, because its way adds no entry to the header map: up to eight entries a map needs much less memory.
const maxCounted = 2048

// write sends an answer, or 304 if the client has it already.
func write(w http.ResponseWriter, r *http.Request, a ports.Answer) {
	h := w.Header()
	h["Cache-Control"] = privateNoCache
	for name, value := range a.Header {
		if value == jsonType && name == "Content-Type" {
			h[name] = jsonTypes
		} else {
			h.Set(name, value)
		}
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if tag := a.Header["Etag"]; tag != "" && reads && noneMatch(r.Header.Values("If-None-Match"), tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if a.Body != nil && (len(a.Body) > maxCounted || r.Method == http.MethodHead) {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // it fails if the client is gone
}

// noneMatch reports whether If-None-Match names tag, compared weakly (RFC 9110, section 13.1.2).
func noneMatch(headers []string, tag string) bool {
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
		number, _, dashed := strings.Cut(tag[1:], "-")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && dashed && n > 0 && !isWeak {
			m = append(m, n)
		}
	}
	if anything {
		return nil, false, nil
	}
	return m, weak, nil
}
