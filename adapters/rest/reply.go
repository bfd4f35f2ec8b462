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

	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// reply is what an action answers.
type reply struct {
	status   int
	body     any    // nil for 204
	revision int64  // of the resource; 0 for what has none
	location string // of what was made
	reveals  string // the id of the thing whose secret body shows

	// after runs once the answer's effect is kept, and not when the answer is replayed.
	after func(context.Context)
}

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

// encode makes the answer that is sent, and kept under an Idempotency-Key. A resource's ETag holds
// its revision and a hash of the body, since what a caller sees may change without it (their own
// role, for one).
func (r reply) encode() (ports.Answer, error) {
	a := ports.Answer{Status: r.status, Header: map[string]string{}, Reveals: r.reveals}
	if r.location != "" {
		a.Header["Location"] = r.location
	}
	if r.reveals != "" {
		a.Header["Cache-Control"] = "no-store"
	}
	if r.body == nil {
		return a, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // prompts are full of < and &
	if err := enc.Encode(r.body); err != nil {
		return ports.Answer{}, err
	}
	a.Body = buf.Bytes()
	a.Header["Content-Type"] = "application/json"
	if r.revision != 0 {
		a.Header["Etag"] = etag(r.revision, a.Body)
	}
	return a, nil
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

// ifMatch reads If-Match: only the revision part of our tags is compared, since a change of how a
// thing is shown to one caller makes no update a lost one. Weak tags and those that are not ours
// match nothing (RFC 9110, section 13.1.1); * and no header set no condition.
func ifMatch(headers []string) revision.Match {
	if len(headers) == 0 {
		return nil
	}
	m := revision.Match{}
	for _, h := range headers {
		for part := range strings.SplitSeq(h, ",") {
			part = strings.TrimSpace(part)
			if part == "*" {
				return nil
			}
			tag, quoted := strings.CutPrefix(part, `"`)
			number, _, dashed := strings.Cut(tag, "-")
			if n, err := strconv.ParseInt(number, 10, 64); quoted && dashed && err == nil {
				m = append(m, n)
			}
		}
	}
	return m
}
