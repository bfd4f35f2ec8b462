package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gorilla/mux"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

// Register registers the routes of areas. It fails if one is not as openapi.yaml declares it.
func (a *API) Register(areas ...Area) error {
	a.router = mux.NewRouter().SkipClean(true) // a path that is not clean names nothing
	a.router.NotFoundHandler = http.HandlerFunc(a.unrouted)
	a.router.MethodNotAllowedHandler = a.router.NotFoundHandler
	a.reads, a.anyHost, a.cors = map[string]readOperation{}, []string{healthPaths}, nil
	areas = append(areas, Area{Public: a.publicRoutes()})
	for _, area := range areas {
		if err := a.registerOperations(area.Operations); err != nil {
			return err
		}
	}
	for _, area := range areas {
		if err := a.registerRoutes(area); err != nil {
			return err
		}
	}
	a.served = endpoints(areas)
	return nil
}

// Serves reports whether a method of a path template has a route.
func (a *API) Serves(method, path string) bool { return a.served[endpoint{method, path}] }

// CheckComplete returns an error if an operation of openapi.yaml has no route, unless its area is left out.
func (a *API) CheckComplete(excluded ...Area) error {
	excludedOps := endpoints(excluded)
	for _, op := range a.Contract.Operations() {
		if e := (endpoint{op.Method, op.Path}); !a.served[e] && !excludedOps[e] {
			return fmt.Errorf("rest: %s %s of openapi.yaml has no route", e.method, e.path)
		}
	}
	return nil
}

// registerOperations adds the routes of operations, in a router for each prefix: the router tries routes one after the
// other, and those behind a prefix cost one comparison.
func (a *API) registerOperations(operations []Operation) error {
	byPrefix := map[string]*mux.Router{"": a.router}
	for _, op := range operations {
		declaration, ok := a.Contract.Operation(op.method, op.path)
		if !ok {
			return fmt.Errorf("rest: %s %s is not in openapi.yaml", op.method, op.path)
		}
		if err := a.checkKind(declaration, op.kind); err != nil {
			return err
		}
		if op.method == http.MethodGet {
			switch q := op.kind.(type) {
			case Query:
				a.reads[op.path] = readOperation{declaration, q.perform}
			case CachedQuery:
				a.reads[op.path] = readOperation{declaration, Query(q).perform}
			case ReaderQuery:
				a.reads[op.path] = readOperation{declaration, Query(q.CachedQuery).perform}
			}
		}
		prefix := pathPrefix(op.path)
		if byPrefix[prefix] == nil {
			byPrefix[prefix] = a.router.PathPrefix(prefix).Subrouter()
		}
		handle(byPrefix[prefix], op.method, strings.TrimPrefix(op.path, prefix), a.pipeline(declaration, op.kind))
	}
	return nil
}

// registerRoutes adds what an area serves besides operations with a credential.
func (a *API) registerRoutes(area Area) error {
	if area.AnyHost != "" {
		a.anyHost = append(a.anyHost, area.AnyHost)
	}
	if area.CORS != nil {
		a.cors = append(a.cors, *area.CORS)
	}
	for _, r := range area.Public {
		if declaration, ok := a.Contract.Operation(r.method, r.path); ok && (declaration.Stream ||
			declaration.Scope != "") {
			return fmt.Errorf("rest: %s needs a credential or is a stream, so it has to be an Operation",
				declaration.ID)
		}
		handle(a.router, r.method, r.path, r.handler)
	}
	for _, r := range area.Below {
		route := a.router.PathPrefix(r.path).Handler(r.handler)
		if r.method != "" {
			route.Methods(methods(r.method)...)
		}
	}
	return nil
}

// handle adds a route.
func handle(r *mux.Router, method, path string, h http.Handler) {
	r.Handle(path, h).Methods(methods(method)...)
}

// unrouted responds with 404, or with 405 and the allowed methods (RFC 9110, section 15.5.6) if there
// are any. The router itself does not list them, and returns 404 for a known path if the prefix of
// another route fits.
func (a *API) unrouted(w http.ResponseWriter, r *http.Request) {
	var methods []string
	for _, m := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		try := r.Clone(r.Context())
		try.Method = m
		if match := (mux.RouteMatch{}); a.router.Match(try, &match) && match.MatchErr == nil {
			methods = append(methods, m)
		}
	}
	if len(methods) == 0 {
		a.Problem(w, r, ErrNoSuchPath)
		return
	}
	list := strings.Join(methods, ", ")
	w.Header().Set("Allow", list)
	a.Problem(w, r, errMethodNotAllowed.Because("This path supports only "+list+"."))
}

// checkKind returns an error if an operation of the contract cannot be of kind k.
func (a *API) checkKind(op *openapi.Operation, k Kind) error {
	isOutbound, isStream := false, false
	switch k.(type) {
	case Query, CachedQuery, ReaderQuery:
		if op.TakesHeader("Idempotency-Key") {
			return fmt.Errorf("rest: %s is a query, but has an Idempotency-Key in openapi.yaml", op.ID)
		}
	case Outbound, DryRunnable, Uploading:
		isOutbound = true
	case Probing:
		isOutbound, isStream = true, true
	case Streaming:
		isStream = true
	}
	isAnonymous := k.stages(a, op).authenticate == nil
	if isAnonymous != (op.Scope == "") {
		return fmt.Errorf(
			"rest: %s needs no credential in one of its route and openapi.yaml, and not in the other", op.ID,
		)
	}
	if isStream != op.Stream {
		return fmt.Errorf("rest: %s is a stream in one of its route and openapi.yaml, and not in the other", op.ID)
	}
	if area := op.Access.Area; isStream && !isAnonymous && area != "workspace" && area != "self" && area != "operator" {
		return fmt.Errorf("rest: %s is a stream, but only a role in the workspace is checked while it is open", op.ID)
	}
	if isOutbound != op.Outbound {
		return fmt.Errorf("rest: %s is outbound in one of its route and openapi.yaml, and not in the other", op.ID)
	}
	return nil
}
