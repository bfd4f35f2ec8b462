// Package server is the core of the HTTP API: what happens to every request, whatever its area is. A request passes
// through observe (request id, log, metrics, panics), the host's org, the router, and handle (credential, rate,
// workspace, shape, idempotency) into the handler of one operation, which calls one use case.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/domain/identity"
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
	Config          Config           // zero until Start
	Now             func() time.Time // by the clock of this machine, and its corrections
	router          *mux.Router
	served          map[endpoint]bool
	fixed           map[endpoint]mux.RouteMatch // what the router finds for paths without variables
	reads           map[string]readOperation    // by path template
	anyHost         []string                    // prefixes of paths that are served for any Host header
	cors            []CORS                      // of areas whose paths pages of other sites call
	callers         *Limiter                    // by API key, or by user for those who signed in
	users           *Limiter
	workspaces      *Limiter
	Unauthenticated *Limiter     // by address, for requests without a valid credential
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
func New(contract *openapi.Contract) *API { return &API{Contract: contract, Now: Now} }

// Start gives the API what it needs to serve requests.
func (a *API) Start(c Config, d Deps) {
	a.Deps, a.Config = d, c
	a.callers, a.users, a.workspaces = c.RateLimit.limiters()
	a.Unauthenticated = NewLimiter(c.RateLimit.UnauthenticatedPerMinute, c.RateLimit.UnauthenticatedPerMinute)
	a.downloads = NewLimiter(c.RateLimit.DownloadsPerMinute, c.RateLimit.DownloadsPerMinute)
	a.KnownTokens = newKnownTokens()
	a.Gates = newGates(c.Concurrency, 1)
	a.outbound = newGates(c.Concurrency, outboundFactor)
	a.Downloading = newGates(c.Concurrency, 1)
	a.CatchingUp = newGates(c.Concurrency, 1)
	a.streamCounts = newStreamCounts(c.Streams)
	a.readiness.check, a.readiness.log = d.Ready, d.Log
	a.Measures = newMeasures(d.Metrics, &a.openStreams)
	a.streams, a.endStreams = context.WithCancel(context.Background())
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.observe(w, r) }

// HTTPServer returns the HTTP server of a handler, with every timeout set.
func HTTPServer(c Config, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Addr:              c.Addr,
		Handler:           h,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: c.ReadHeaderTimeout,
		ReadTimeout:       c.ReadTimeout,
		WriteTimeout:      c.WriteTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    maxHeader - 4<<10, // net/http adds 4 KiB of its own
	}
}

const maxHeader = 32 << 10

// Now returns the time of a request, with the precision of the stores.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
