package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// reply is what an action answers.
type reply struct {
	status   int
	body     any    // nil for 204; encoded is sent as it is
	revision int64  // of the resource; 0 for what has none
	location string // of what was made
	vary     string // which headers of a request make another answer, where caches may keep it
	reveals  string // the id of the thing whose secret body shows
	brought  string // the id of the thing whose secret came with the request
	shows    string // the path whose GET has this body; "": none has

	// then stores what an operation found that reaches another system (x-outbound): it is run in
	// place of this reply, in the transaction of the Idempotency-Key if there is one.
	then action

	// after runs once the answer's effect is kept, and not when the answer is replayed. It returns the body
	// that the caller gets, with what only then is known; under an Idempotency-Key the first body is kept.
	after func(context.Context) any
}

// encoded is a body that is JSON already.
type encoded []byte

func ok(body any) reply { return reply{status: http.StatusOK, body: body} }

func created(location string, body any) reply {
	return reply{status: http.StatusCreated, body: body, location: location}
}

var noContent = reply{status: http.StatusNoContent}

// at says which revision of a resource the body shows.
func (r reply) at(revision int64) reply {
	r.revision = revision
	return r
}

// of says that the body is what a GET of path returns to the same caller. An Idempotency-Key then keeps no
// copy of it: a repeated request reads it again.
func (r reply) of(path string) reply {
	r.shows = path
	return r
}

// encode makes the answer that is sent, and kept under an Idempotency-Key. A resource's ETag holds
// its revision and a hash of the body, since what a caller sees may change without it (their own
// role, for one).
func (r reply) encode() (ports.Answer, error) {
	a := ports.Answer{Status: r.status, Header: map[string]string{}, Reveals: r.reveals, Brought: r.brought, Shows: r.shows}
	if r.location != "" {
		a.Header["Location"] = r.location
	}
	if r.vary != "" {
		a.Header["Vary"] = r.vary
	}
	if r.reveals != "" {
		a.Header["Cache-Control"] = "no-store"
	}
	if r.body == nil {
		return a, nil
	}
	var isEncoded bool
	if a.Body, isEncoded = r.body.(encoded); !isEncoded {
		var buf bytes.Buffer
		if err := encode(&buf, r.body); err != nil {
			return ports.Answer{}, err
		}
		a.Body = buf.Bytes()
	}
	a.Header["Content-Type"] = "application/json"
	if r.revision != 0 {
		a.Header["Etag"] = etag(r.revision, a.Body)
	}
	return a, nil
}

func encode(into *bytes.Buffer, v any) error {
	enc := json.NewEncoder(into)
	enc.SetEscapeHTML(false) // prompts are full of < and &
	return enc.Encode(v)
}

func etag(revision int64, body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + strconv.FormatInt(revision, 10) + "-" + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`
}

// write sends an answer, or 304 if the client has it already.
func write(w http.ResponseWriter, r *http.Request, a ports.Answer) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	for name, value := range a.Header {
		h.Set(name, value)
	}
	if tag := a.Header["Etag"]; tag != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) && noneMatch(r.Header.Values("If-None-Match"), tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if a.Body != nil {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a client that is gone hears nothing
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
	errIfMatch = openapi.ErrInvalidParameter.Because("If-Match takes the ETag of an answer as it is, in its quotes, or several with commas between them, or *.")
	errWeakTag = revision.ErrMismatch.Because("If-Match compares strongly, so that a weak tag never matches (RFC 9110, section 13.1.1): send the ETag without W/.")
)

// ifMatch reads If-Match: only the revision part of our tags is compared, since a change of how a
// thing is shown to one caller makes no update a lost one. Weak tags match nothing; * and no header
// set no condition. What no answer ever had for a tag is errIfMatch: it must not pass for a change
// that somebody else made.
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
		number, hash, dashed := strings.Cut(strings.TrimPrefix(tag, `"`), "-")
		n, notNumber := strconv.ParseInt(number, 10, 64)
		if !dashed || notNumber != nil || n < 1 || tag[0] != '"' || !strings.HasSuffix(hash, `"`) {
			return nil, false, errIfMatch
		}
		if weak = weak || isWeak; !isWeak {
			m = append(m, n)
		}
	}
	if anything {
		return nil, false, nil
	}
	return m, weak, nil
}
