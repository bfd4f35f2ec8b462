package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"
)

// area is one part of the product: everything that the API serves for it.
type area struct {
	name       string      // of its folder
	operations []operation // of callers with a credential
	public     []route     // those that need none
	below      []route     // for every path below theirs; without a method, for all methods
	anyHost    string      // the prefix of paths that are served for any Host header; empty for none
	cors       *cors       // of paths that pages of other sites call; nil for none
}

// operation is one operation of openapi.yaml and its implementation.
type operation struct {
	method, path string
	kind         kind
}

// getOf returns the operation of GET on a path template.
func getOf(path string, k kind) operation { return operation{http.MethodGet, path, k} }

// postOf returns the operation of POST on a path template.
func postOf(path string, k kind) operation { return operation{http.MethodPost, path, k} }

// putOf returns the operation of PUT on a path template.
func putOf(path string, k kind) operation { return operation{http.MethodPut, path, k} }

// patchOf returns the operation of PATCH on a path template.
func patchOf(path string, k kind) operation { return operation{http.MethodPatch, path, k} }

// deleteOf returns the operation of DELETE on a path template.
func deleteOf(path string, k kind) operation { return operation{http.MethodDelete, path, k} }

// route is an operation that needs no credential, or something that openapi.yaml does not describe, such as a page.
type route struct {
	method, path string
	handler      http.Handler
}

// newRoute returns a route. Without a method, it is for all methods.
func newRoute(method, path string, handler http.Handler) route { return route{method, path, handler} }

// streamed marks the handler of a route whose response is a stream that ends with the access of its reader.
type streamed struct{ http.Handler }

// cors handles preflights of paths with a prefix, and adds the headers that let pages of other sites read responses.
type cors struct {
	prefix string
	handle func(w http.ResponseWriter, r *http.Request) (done bool)
}

// register registers the routes of areas. It fails if one is not as openapi.yaml declares it.
func (a *API) register(areas ...area) error {
	a.router = mux.NewRouter().SkipClean(true)
	a.router.NotFoundHandler = http.HandlerFunc(a.unrouted)
	a.router.MethodNotAllowedHandler = a.router.NotFoundHandler
	a.reads, a.anyHost, a.cors = map[string]readOperation{}, []string{healthPaths}, nil
	areas = append(areas, area{public: a.publicRoutes()})
	for _, area := range areas {
		if err := a.registerOperations(area.operations); err != nil {
			return err
		}
	}
	for _, area := range areas {
		if err := a.registerRoutes(area); err != nil {
			return err
		}
	}
	a.served = endpoints(areas)
	return a.findFixed()
}

// serves reports whether a method of a path template has a route.
func (a *API) serves(method, path string) bool { return a.served[endpoint{method, path}] }

// checkComplete returns an error if an operation of openapi.yaml has no route, unless it is of an area that is left out.
func (a *API) checkComplete(without ...area) error {
	left := endpoints(without)
	for _, declared := range a.contract.Operations() {
		if e := (endpoint{declared.Method, declared.Path}); !a.served[e] && !left[e] {
			return fmt.Errorf("rest: %s %s of openapi.yaml has no route", e.method, e.path)
		}
	}
	return nil
}

// endpoint is a method of a path template.
type endpoint struct{ method, path string }

// endpoints returns what areas serve, except what is below a path.
func endpoints(areas []area) map[endpoint]bool {
	all := map[endpoint]bool{}
	for _, area := range areas {
		for _, op := range area.operations {
			all[endpoint{op.method, op.path}] = true
		}
		for _, r := range area.public {
			all[endpoint{r.method, r.path}] = true
		}
	}
	return all
}

// registerOperations adds the routes of operations. The router tries routes one after the other: those behind a prefix
// cost one comparison.
func (a *API) registerOperations(operations []operation) error {
	byPrefix := map[string]*mux.Router{}
	for _, op := range operations {
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
			case readerQuery:
				a.reads[op.path] = readOperation{declared, query(q.cachedQuery)}
			case prefetching:
				a.reads[op.path] = readOperation{declared, query(q)}
			}
		}
		prefix := pathPrefix(op.path)
		if byPrefix[prefix] == nil {
			byPrefix[prefix] = a.router.MatcherFunc(func(r *http.Request, _ *mux.RouteMatch) bool {
				return pathPrefix(r.URL.Path) == prefix
			}).Subrouter()
		}
		handle(byPrefix[prefix], op.method, op.path, op.kind.handler(a, declared))
	}
	return nil
}

// registerRoutes adds what an area serves besides operations with a credential.
func (a *API) registerRoutes(of area) error {
	if of.anyHost != "" {
		a.anyHost = append(a.anyHost, of.anyHost)
	}
	if of.cors != nil {
		a.cors = append(a.cors, *of.cors)
	}
	for _, r := range of.public {
		_, isStream := r.handler.(streamed)
		if declared, ok := a.contract.Operation(r.method, r.path); ok && declared.Stream != isStream {
			return fmt.Errorf("rest: %s is a stream in one of its route and openapi.yaml, and not in the other", declared.ID)
		}
		handle(a.router, r.method, r.path, r.handler)
	}
	for _, r := range of.below {
		below := a.router.PathPrefix(r.path).Handler(r.handler)
		if r.method != "" {
			below.Methods(methods(r.method)...)
		}
	}
	return nil
}

// pathPrefix returns the first two segments of a path of the API, such as /api/connections, and nothing for
// other paths.
func pathPrefix(path string) string {
	rest, ok := strings.CutPrefix(path, "/api/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return path[:len("/api/")+len(first)]
}

// findFixed asks the router for the operations whose paths have no variables. So their routes are found once: the router
// compares a path with many others, by regular expressions.
func (a *API) findFixed() error {
	a.fixed = map[endpoint]mux.RouteMatch{}
	for _, declared := range a.contract.Operations() {
		if !a.served[endpoint{declared.Method, declared.Path}] || strings.Contains(declared.Path, "{") {
			continue
		}
		r := &http.Request{Method: declared.Method, URL: &url.URL{Path: declared.Path}}
		var found mux.RouteMatch
		if !a.router.Match(r, &found) || found.MatchErr != nil {
			return fmt.Errorf("rest: the router does not find %s %s", declared.Method, declared.Path)
		}
		if len(found.Vars) == 0 { // otherwise requests would share them
			a.fixed[endpoint{declared.Method, declared.Path}] = found
		}
	}
	return nil
}

// handle adds a route.
func handle(r *mux.Router, method, path string, h http.Handler) {
	r.Handle(path, h).Methods(methods(method)...)
}

// methods returns a method, with HEAD beside GET (RFC 9110, section 9.3.2).
func methods(method string) []string {
	if method == http.MethodGet {
		return []string{method, http.MethodHead}
	}
	return []string{method}
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
