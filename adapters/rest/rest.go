// Package rest serves the HTTP API that openapi/openapi.yaml describes. A request passes through
// observe (request id, log, metrics, panics), the host's org, the router, and handle (credential,
// rate, workspace, shape, idempotency) into the handler of one operation, which calls one use case.
package rest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Deps are the dependencies of the API.
type Deps struct {
	Orgs        func() *identity.Directory // the current one: a reload replaces it
	Services    application.Services       // on the stores of the pool
	Bind        application.Bind
	Idempotency ports.Idempotency
	Verifier    ports.Verifier // of tokens that an org's issuers signed
	OpenID      ports.OpenIDClient
	Sealer      ports.Sealer   // of cursors
	SignIns     ports.Sealer   // of sign-ins at providers, in cookies
	Digester    ports.Digester // of requests that are stored
	Changes     ports.Changes
	Console     http.Handler // everything below /console/ that is not a page to sign in
	SCIM        ServeDirectory
	Ready       func(context.Context) error // an error if the node should get no requests now
	Metrics     prometheus.Registerer
	Log         *slog.Logger
}

// API turns requests into use cases.
type API struct {
	Deps
	contract        *openapi.Contract
	config          Config
	now             func() time.Time // by the clock of this machine, and its corrections
	router          *mux.Router
	fixed           map[fixedRoute]mux.RouteMatch // what the router finds for paths without variables
	reads           map[string]readOperation      // by path template
	callers         *limiter                      // by API key, or by user for those who signed in
	users           *limiter
	workspaces      *limiter
	unauthenticated *limiter      // by address, for requests without a valid credential
	signIns         *limiter      // by address, for tokens that are to open a session
	downloads       *limiter      // by address, of files that need no credential
	mailings        chan struct{} // sign-in links that are being mailed
	knownTokens     *knownTokens
	gates           *gates // for operations that only need the database
	outbound        *gates // for those that reach another system
	downloading     *gates // for downloads, which read while they are sent: a slow client occupies only its own turn
	catchingUp      *gates // for streams of events whose readers are far behind
	visitors        *visitLimits
	answering       answerGates
	heartbeats      *limiter // heartbeats, by user
	cache           responseCache
	reading         readings // of responses
	failing         counts   // of webhooks
	measures        *measures
	readiness       readiness

	openStreams  openStreams
	streamCounts *streamCounts
	draining     atomic.Bool
	streams      context.Context // ends when streams have to end
	endStreams   context.CancelFunc
}

// Routes are the routes of one API. They need none of its dependencies, and take most of the time that it takes to
// build an API: so a server builds them while its database is opened.
type Routes struct{ api *API }

// NewRoutes returns the routes of an API. It fails if they and openapi.yaml differ.
func NewRoutes(contract *openapi.Contract) (*Routes, error) {
	a := &API{contract: contract}
	err := a.route([]area{
		{"/api/prompt-templates", promptOperations()},
		{"/api/chat-templates", slices.Concat(
			chatExportOperations(), chatOperations(), chatVersionOperations(), embedTokenOperations(),
		)},
		{"/api/connections", connectionOperations()},
		{"/api/datasources", sourceOperations()},
		{paymentPaths, paymentOperations()},
		{"/api/presence", presenceOperations()},
		{"/api/", slices.Concat(
			a.accountOperations(), workspaceOperations(), peopleOperations(), sessionOperations(),
			passkeyOperations(), groupOperations(), endpointOperations(),
			[]operation{{http.MethodPost, visitPaths + "sessions/verify", query(verifyEmbedSession)}},
		)},
	})
	return &Routes{a}, err
}

// New returns the API of routes as a handler. Routes are for one API: their handlers use it.
func New(c Config, d Deps, r *Routes) *API {
	a := r.api
	*a = API{
		Deps:            d,
		contract:        a.contract,
		router:          a.router,
		fixed:           a.fixed,
		reads:           a.reads,
		config:          c,
		now:             now,
		unauthenticated: newLimiter(c.RateLimit.UnauthenticatedPerMinute, c.RateLimit.UnauthenticatedPerMinute),
		downloads:       newLimiter(c.RateLimit.DownloadsPerMinute, c.RateLimit.DownloadsPerMinute),
		signIns:         newLimiter(c.RateLimit.SignInsPerMinute, c.RateLimit.SignInsPerMinute),
		mailings:        make(chan struct{}, mailingsAtOnce),
		knownTokens:     newKnownTokens(),
		gates:           newGates(c.Concurrency, 1),
		outbound:        newGates(c.Concurrency, outboundFactor),
		downloading:     newGates(c.Concurrency, 1),
		streamCounts:    newStreamCounts(c.Streams),
		catchingUp:      newGates(c.Concurrency, 1),
		visitors:        newVisitLimits(),
		answering:       newAnswerGates(),
		heartbeats:      newLimiter(beatsPerMinute, beatsAtOnce),
		readiness:       readiness{check: d.Ready, log: d.Log},
	}
	a.callers, a.users, a.workspaces = c.RateLimit.limiters()
	a.measures = newMeasures(d.Metrics, &a.openStreams)
	a.streams, a.endStreams = context.WithCancel(context.Background())
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.observe(w, r) }

// area is the operations of callers below one prefix.
type area struct {
	prefix     string
	operations []operation
}

// operation is one operation of openapi.yaml and its implementation.
type operation struct {
	method, path string
	kind         kind
}

// route registers every operation: those of callers, by area, and those that need no credential. Areas are tried in
// order, so a prefix must come before its own prefixes.
func (a *API) route(areas []area) error {
	a.router = mux.NewRouter().SkipClean(true)
	a.router.NotFoundHandler = http.HandlerFunc(a.unrouted)
	a.router.MethodNotAllowedHandler = a.router.NotFoundHandler
	a.reads = map[string]readOperation{}
	registered := map[string]bool{}
	// The router tries routes one after the other: an area behind its prefix costs one comparison.
	for _, area := range areas {
		router := a.router.MatcherFunc(func(r *http.Request, _ *mux.RouteMatch) bool {
			return strings.HasPrefix(r.URL.Path, area.prefix)
		}).Subrouter()
		for _, op := range area.operations {
			declared, ok := a.contract.Operation(op.method, op.path)
			if !ok {
				return fmt.Errorf("rest: %s %s is not in openapi.yaml", op.method, op.path)
			}
			if err := checkKind(declared, op.kind); err != nil {
				return err
			}
			if op.method == http.MethodGet {
				switch q := op.kind.(type) {
				case query:
					a.reads[op.path] = readOperation{declared, q}
				case cachedQuery:
					a.reads[op.path] = readOperation{declared, query(q)}
				case prefetching:
					a.reads[op.path] = readOperation{declared, query(q)}
				}
			}
			registered[op.method+" "+op.path] = true
			register(router, op.method, op.path, op.kind.handler(a, declared))
		}
	}
	public, err := a.publicOperations()
	if err != nil {
		return err
	}
	for _, op := range slices.Concat(public, a.signInOperations(), a.providerOperations(), a.visitOperations(),
		a.webhookOperations()) {
		if declared, ok := a.contract.Operation(op.method, op.path); ok && declared.Stream && op.path != messagesPath {
			return fmt.Errorf("rest: %s is a stream without a credential, which handleVisit serves", declared.ID)
		}
		registered[op.method+" "+op.path] = true
		register(a.router, op.method, op.path, op.handler)
	}
	for _, declared := range a.contract.Operations() {
		if !registered[declared.Method+" "+declared.Path] {
			return fmt.Errorf("rest: %s %s of openapi.yaml has no route", declared.Method, declared.Path)
		}
	}
	return a.findFixed()
}

// fixedRoute is a request whose route is found once, when the server starts. The router compares a path with many
// others, by regular expressions.
type fixedRoute struct{ method, path string }

// findFixed asks the router for the operations whose paths have no variables.
func (a *API) findFixed() error {
	a.fixed = map[fixedRoute]mux.RouteMatch{}
	for _, declared := range a.contract.Operations() {
		if strings.Contains(declared.Path, "{") {
			continue
		}
		r := &http.Request{Method: declared.Method, URL: &url.URL{Path: declared.Path}}
		var found mux.RouteMatch
		if !a.router.Match(r, &found) || found.MatchErr != nil {
			return fmt.Errorf("rest: the router does not find %s %s", declared.Method, declared.Path)
		}
		if len(found.Vars) == 0 { // otherwise requests would share them
			a.fixed[fixedRoute{declared.Method, declared.Path}] = found
		}
	}
	return nil
}

// register adds a route. A GET route also serves HEAD (RFC 9110, section 9.3.2).
func register(r *mux.Router, method, path string, h http.Handler) {
	methods := []string{method}
	if method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	r.Handle(path, h).Methods(methods...)
}

// unrouted responds with 404, or with 405 and the allowed methods (RFC 9110, section 15.5.6) if there
// are any. The router itself does not list them, and returns 404 for a known path if the prefix of
// another route fits.
func (a *API) unrouted(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, m := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		try := r.Clone(r.Context())
		try.Method = m
		if match := (mux.RouteMatch{}); a.router.Match(try, &match) && match.MatchErr == nil {
			allowed = append(allowed, m)
		}
	}
	if len(allowed) == 0 {
		a.problem(w, r, errNoSuchPath)
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	a.problem(w, r, errMethodNotAllowed.Because("This path supports only "+list+"."))
}

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
