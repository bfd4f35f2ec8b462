package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/atrium-hq/atrium/domain/account"
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
	refused *account.Key // a key that exists, and is no longer accepted; nil for none
	begun   time.Time
	status  int
	bytes   int

	Workspace identity.WorkspaceID
	Code      string // of the problem that was returned; empty for none
	noted     bool   // the credential is in knownTokens, as one that was valid lately
	trace     string // the id of the client's trace, or of the server's own; empty for none
	streaming bool   // a stream, whose duration says nothing about the server
	tracked   bool   // a Stream, which ends with the access of its reader
}

type observationKey struct{}

// WithObservation returns the request with what is known of it.
func WithObservation(r *http.Request, o *Observation) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), observationKey{}, o))
}

// Observed returns what is known of a request, which has to come through ServeHTTP of an API.
func Observed(r *http.Request) *Observation {
	return r.Context().Value(observationKey{}).(*Observation) //nolint:errcheck // see above
}

// PathVar returns the part of the path that a variable of the route stands for.
func PathVar(r *http.Request, name string) string { return mux.Vars(r)[name] }

// WithRoute sets the route for the log and the metrics.
func WithRoute(route string, h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Observed(r).Route = route
		h(w, r)
	})
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
