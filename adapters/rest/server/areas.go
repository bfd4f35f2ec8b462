package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"
)

// Area is one part of the product: everything that the API serves for it.
type Area struct {
	Name       string      // of its folder
	Operations []Operation // of callers with a credential
	Public     []Route     // those that need none
	Below      []Route     // for every path below theirs; without a method, for all methods
	AnyHost    string      // the prefix of paths that are served for any Host header; empty for none
	CORS       *CORS       // of paths that pages of other sites call; nil for none
}

// Operation is one operation of openapi.yaml and its implementation.
type Operation struct {
	method, path string
	kind         Kind
}

// Get returns the operation of GET on a path template.
func Get(path string, k Kind) Operation { return Operation{http.MethodGet, path, k} }

// Post returns the operation of POST on a path template.
func Post(path string, k Kind) Operation { return Operation{http.MethodPost, path, k} }

// Put returns the operation of PUT on a path template.
func Put(path string, k Kind) Operation { return Operation{http.MethodPut, path, k} }

// Patch returns the operation of PATCH on a path template.
func Patch(path string, k Kind) Operation { return Operation{http.MethodPatch, path, k} }

// Delete returns the operation of DELETE on a path template.
func Delete(path string, k Kind) Operation { return Operation{http.MethodDelete, path, k} }

// Route is an operation that needs no credential, or something that openapi.yaml does not describe, such as a page.
type Route struct {
	method, path string
	handler      http.Handler
}

// NewRoute returns a route. Without a method, it is for all methods.
func NewRoute(method, path string, handler http.Handler) Route { return Route{method, path, handler} }

// Streamed marks the handler of a route whose response is a stream that ends with the access of its reader.
type Streamed struct{ http.Handler }

// CORS handles preflights of paths with a prefix, and adds the headers that let pages of other sites read responses.
type CORS struct {
	Prefix string // of the paths
	Handle func(w http.ResponseWriter, r *http.Request) (done bool)
}

// Register registers the routes of areas. It fails if one is not as openapi.yaml declares it.
func (a *API) Register(areas ...Area) error {
	a.router = mux.NewRouter().SkipClean(true)
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
	return a.findFixed()
}

// Serves reports whether a method of a path template has a route.
func (a *API) Serves(method, path string) bool { return a.served[endpoint{method, path}] }

// CheckComplete returns an error if an operation of openapi.yaml has no route, unless its area is left out.
func (a *API) CheckComplete(without ...Area) error {
	left := endpoints(without)
	for _, declared := range a.Contract.Operations() {
		if e := (endpoint{declared.Method, declared.Path}); !a.served[e] && !left[e] {
			return fmt.Errorf("rest: %s %s of openapi.yaml has no route", e.method, e.path)
		}
	}
	return nil
}

// endpoint is a method of a path template.
type endpoint struct{ method, path string }

// endpoints returns what areas serve, except what is below a path.
func endpoints(areas []Area) map[endpoint]bool {
	all := map[endpoint]bool{}
	for _, area := range areas {
		for _, op := range area.Operations {
			all[endpoint{op.method, op.path}] = true
		}
		for _, r := range area.Public {
			all[endpoint{r.method, r.path}] = true
		}
	}
	return all
}

// registerOperations adds the routes of operations. The router tries routes one after the other: those behind a prefix
// cost one comparison.
func (a *API) registerOperations(operations []Operation) error {
	byPrefix := map[string]*mux.Router{}
	for _, op := range operations {
		declared, ok := a.Contract.Operation(op.method, op.path)
		if !ok {
			return fmt.Errorf("rest: %s %s is not in openapi.yaml", op.method, op.path)
		}
		if err := checkKind(declared, op.kind); err != nil {
			return err
		}
		if op.method == http.MethodGet {
			switch q := op.kind.(type) {
			case Query:
				a.reads[op.path] = readOperation{declared, q}
			case CachedQuery:
				a.reads[op.path] = readOperation{declared, Query(q)}
			case ReaderQuery:
				a.reads[op.path] = readOperation{declared, Query(q.CachedQuery)}
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
func (a *API) registerRoutes(of Area) error {
	if of.AnyHost != "" {
		a.anyHost = append(a.anyHost, of.AnyHost)
	}
	if of.CORS != nil {
		a.cors = append(a.cors, *of.CORS)
	}
	for _, r := range of.Public {
		_, isStream := r.handler.(Streamed)
		if declared, ok := a.Contract.Operation(r.method, r.path); ok && declared.Stream != isStream {
			return fmt.Errorf(
				"rest: %s is a stream in one of its route and openapi.yaml, and not in the other", declared.ID,
			)
		}
		handle(a.router, r.method, r.path, r.handler)
	}
	for _, r := range of.Below {
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

// findFixed asks the router for the operations whose paths have no variables. So their routes are found once: the
// router compares a path with many others, by regular expressions.
func (a *API) findFixed() error {
	a.fixed = map[endpoint]mux.RouteMatch{}
	for _, declared := range a.Contract.Operations() {
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
		a.Problem(w, r, ErrNoSuchPath)
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	a.Problem(w, r, errMethodNotAllowed.Because("This path supports only "+list+"."))
}
