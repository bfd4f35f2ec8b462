package server

import (
	"errors"
	"net/http"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Observation has what the log and the metrics say about one request; it is filled in while the request runs.
type Observation struct {
	ID      string // the Request-Id
	Route   string // the template, never the path itself: paths hold identifiers
	Address string // of the client
	Org     *identity.Org
	User    identity.UserID // empty until the credential is verified, as Key
	Key     identity.KeyID
	session identity.SessionID
	status  int
	bytes   int

	Workspace identity.WorkspaceID
	Code      string // of the problem that was returned; empty for none
	noted     bool   // the credential is in knownTokens, as one that was valid lately
	trace     string // the id of the client's trace, or of the server's own; empty for none
	streaming bool   // a stream, whose duration says nothing about the server
	tracked   bool   // a Stream, which ends with the access of its reader
}

// recorder records the response.
type recorder struct {
	http.ResponseWriter
	obs *Observation
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.obs.status == 0 {
		r.obs.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if r.obs.status == 0 {
		r.obs.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.obs.bytes += n
	return n, err
}

// FlushError serves http.ResponseController. Only a stream that ends with the access of its reader can be sent in
// parts.
func (r *recorder) FlushError() error {
	if !r.obs.tracked {
		return errUntracked
	}
	return http.NewResponseController(r.ResponseWriter).Flush()
}

var errUntracked = errors.New("rest: a response is sent in parts, and is no tracked stream")

// Unwrap serves http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
