// Package server is the core of the HTTP API: what happens to every request, whatever its area is. A request passes
// through observe (request id, log, metrics, panics), the host's org, the router, and the pipeline of operations
// (deadline, credential, shape, gate, response) into the handler of one operation, which calls one use case.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// Deps are the dependencies that requests of every area have.
type Deps struct {
	Orgs        func() *identity.Directory // the current one: a reload replaces it
	Services    application.Services       // on the stores of the pool
	Bind        application.Bind
	Idempotency ports.Idempotency
	Verifier    ports.Verifier // of tokens that an org's issuers signed
	Sealer      ports.Sealer   // of cursors
	Digester    ports.Digester // of requests that are stored
	Changes     ports.Changes
	Ready       func(context.Context) error // an error if the node should get no requests now
	Metrics     prometheus.Registerer
	Log         *slog.Logger
}

// API turns requests into use cases.
type API struct {
	Deps
	Contract        *openapi.Contract
	Config          Config
	Now             func() time.Time // by the clock of this machine, and its corrections
	router          *mux.Router
	served          map[endpoint]bool
	reads           map[string]readOperation // by path template
	anyHost         []string                 // prefixes of paths that are served for any Host header
	cors            []CORS                   // of areas whose paths pages of other sites call
	callers         *Limiter                 // by API key, or by user for those who signed in
	users           *Limiter
	workspaces      *Limiter
	Unauthenticated *Limiter     // by address, for requests without a valid credential
	signIns         *Limiter     // by address, of tokens that are to open a session, and do not
	signInFlows     *Limiter     // by address, of all sign-ins that begin
	downloads       *Limiter     // by address, of files that need no credential
	KnownTokens     *knownTokens // that were valid lately
	Gates           *Gates       // for operations that only need the database
	outbound        *Gates       // for those that reach another system
	Downloading     *Gates       // for what is read while it is sent: a slow client occupies only its own turn
	CatchingUp      *Gates       // for streams whose readers are far behind
	cache           responseCache
	reading         readings // of responses
	Measures        *measures
	readiness       readiness

	openStreams  openStreams
	streamCounts *streamCounts
	draining     atomic.Bool
	streams      context.Context // ends when streams have to end
	endStreams   context.CancelFunc
}

// New returns an API without routes.
func New(contract *openapi.Contract, c Config, d Deps) *API {
	a := &API{Contract: contract, Config: c, Deps: d, Now: Now}
	a.callers, a.users, a.workspaces = c.RateLimit.limiters()
	a.Unauthenticated = NewLimiter(c.RateLimit.UnauthenticatedPerMinute, c.RateLimit.UnauthenticatedPerMinute)
	a.signIns = NewLimiter(c.RateLimit.SignInsPerMinute, c.RateLimit.SignInsPerMinute)
	a.signInFlows = NewLimiter(c.RateLimit.SignInFlowsPerMinute, c.RateLimit.SignInFlowsPerMinute)
	a.downloads = NewLimiter(c.RateLimit.DownloadsPerMinute, c.RateLimit.DownloadsPerMinute)
	a.KnownTokens = newKnownTokens()
	a.Gates = newGates(c.Concurrency, 1)
	a.outbound = newGates(c.Concurrency, outboundFactor)
	a.Downloading = newGates(c.Concurrency, 1)
	a.CatchingUp = newGates(c.Concurrency, 1)
	a.streamCounts = newStreamCounts(c.Streams)
	a.readiness.check, a.readiness.log = d.Ready, d.Log
	a.Measures = newMeasures(d.Metrics, a.openStreams.count)
	a.streams, a.endStreams = context.WithCancel(context.Background())
	return a
}

// Call is one operation call by an authenticated caller.
type Call struct {
	*http.Request
	application.Services
	API       *API
	Operation *openapi.Operation
	By        identity.Actor  // the caller
	owner     owner           // who the credential belongs to, at most a second old; nil until it is verified
	known     *account.Person // what Person has returned; nil until it is called
	Match     revision.Match  // the revisions in If-Match
	weak      bool            // whether If-Match has a weak tag
	Query     url.Values      // checked against the contract
	Payload   []byte          // the body, checked against the contract

	// packed is the media type for a body that is not checked: one that has to be unpacked, which needs much more
	// memory, or bytes; empty for none.
	packed     string
	takesBytes bool
	unpack     func(media string, body []byte) ([]byte, error) // returns a packed body as JSON; nil if none can be

	workspaceOptional bool // the operation needs no workspace, or its path names one

	Uncacheable bool                        // the response must not be cached
	TrackedOnly bool                        // it depends only on tracked data, and on no time except the end of shares
	Delivered   func(reader identity.Actor) // is called for each caller who gets the response, also from the cache
	Variant     func(reader string) string  // what the response depends on, of its reader's key; nil for nothing

	Produces    string      // the media type of the response, if it is not JSON
	ReplyHeader http.Header // the header of the response, also of an error

	Watch func(connection.Check) // called with each check of a probe; may be nil

	writer     http.ResponseWriter
	connection context.Context // without the deadline of the request; for streams
	proof      *session.Proof  // of a ticket; nil for another credential
	stream     *Stream         // the response; nil if it is sent at once
	ending     []func()        // see atEnd
}

// owner is who a verified credential belongs to. Most operations need only the actor, so that person copies what it
// returns only when an operation asks for it.
type owner interface{ person() *account.Person }

// openStreams are the open streams of the node. All of their readers are checked in a few look-ups: some for each
// stream would be thousands per second, with hardly any change found.
type openStreams struct {
	mu   sync.Mutex
	all  map[*Stream]bool
	stop context.CancelFunc // of recheckLoop, which runs as long as any is open
}

// count returns how many streams are open.
func (o *openStreams) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

// byOrg returns the open streams by org.
func (o *openStreams) byOrg() map[identity.OrgID][]*Stream {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[identity.OrgID][]*Stream{}
	for s := range o.all {
		out[s.Observation.Org.ID] = append(out[s.Observation.Org.ID], s)
	}
	return out
}

// readOperation is a resource's GET operation, which reads a stored response's body again.
type readOperation struct {
	op   *openapi.Operation
	read perform
}

// CORS handles preflights of paths with a prefix, and adds the headers that let pages of other sites read responses.
type CORS struct {
	Prefix string // of the paths
	Handle func(w http.ResponseWriter, r *http.Request) (isDone bool)
}

// endpoint is a method of a path template.
type endpoint struct{ method, path string }

// perform runs one request and returns its response, and whether it is the response of an earlier request with the same
// Idempotency-Key.
type perform func(*Call) (answer ports.Answer, isReplay bool, err error)
