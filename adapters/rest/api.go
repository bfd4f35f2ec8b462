// Package server is the core of the HTTP API: what happens to every request, whatever its area is. A request passes
// through observe (request id, log, metrics, panics), the host's org, the router, and handle (credential, rate,
// workspace, shape, idempotency) into the handler of one operation, which calls one use case.
package rest

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

// ServerDeps are the dependencies that requests of every area have.
type ServerDeps struct {
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
	ServerDeps
	contract        *openapi.Contract
	config          Config
	now             func() time.Time // by the clock of this machine, and its corrections
	router          *mux.Router
	served          map[endpoint]bool
	fixed           map[endpoint]mux.RouteMatch // what the router finds for paths without variables
	reads           map[string]readOperation    // by path template
	anyHost         []string                    // prefixes of paths that are served for any Host header
	cors            []cors                      // of areas whose paths pages of other sites call
	callers         *limiter                    // by API key, or by user for those who signed in
	users           *limiter
	workspaces      *limiter
	unauthenticated *limiter // by address, for requests without a valid credential
	downloads       *limiter // by address, of files that need no credential
	knownTokens     *knownTokens
	gates           *gates // for operations that only need the database
	outbound        *gates // for those that reach another system
	downloading     *gates // for downloads, which read while they are sent: a slow client occupies only its own turn
	catchingUp      *gates // for streams whose readers are far behind
	cache           responseCache
	reading         readings // of responses
	measures        *measures
	readiness       readiness

	openStreams  openStreams
	streamCounts *streamCounts
	draining     atomic.Bool
	streams      context.Context // ends when streams have to end
	endStreams   context.CancelFunc
}

// newServer returns an API without routes.
func newServer(contract *openapi.Contract) *API { return &API{contract: contract, now: now} }

// start gives the API what it needs to serve requests.
func (a *API) start(c Config, d ServerDeps) {
	a.ServerDeps, a.config = d, c
	a.callers, a.users, a.workspaces = c.RateLimit.limiters()
	a.unauthenticated = newLimiter(c.RateLimit.UnauthenticatedPerMinute, c.RateLimit.UnauthenticatedPerMinute)
	a.downloads = newLimiter(c.RateLimit.DownloadsPerMinute, c.RateLimit.DownloadsPerMinute)
	a.knownTokens = newKnownTokens()
	a.gates = newGates(c.Concurrency, 1)
	a.outbound = newGates(c.Concurrency, outboundFactor)
	a.downloading = newGates(c.Concurrency, 1)
	a.catchingUp = newGates(c.Concurrency, 1)
	a.streamCounts = newStreamCounts(c.Streams)
	a.readiness.check, a.readiness.log = d.Ready, d.Log
	a.measures = newMeasures(d.Metrics, &a.openStreams)
	a.streams, a.endStreams = context.WithCancel(context.Background())
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.observe(w, r) }

// Server returns the HTTP server of a handler, with every timeout set.
func Server(c Config, h http.Handler, log *slog.Logger) *http.Server {
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

// now returns the time of a request, with the precision of the stores.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
