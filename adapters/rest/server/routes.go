package server

import (
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

// Area is one part of the product: everything that the API serves for it.
type Area struct {
	Name       string // of its folder
	Operations []Operation
	Public     []Route // pages and files
	Below      []Route // for every path below theirs; without a method, for all methods
	AnyHost    string  // the prefix of paths that are served for any Host header; empty for none
	CORS       *CORS   // of paths that pages of other sites call; nil for none
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

// Route is a page or a file, or what another contract than openapi.yaml describes.
type Route struct {
	method, path string
	handler      http.Handler
}

// NewRoute returns a route. Without a method, it is for all methods.
func NewRoute(method, path string, handler http.Handler) Route { return Route{method, path, handler} }

// NewPage returns a page's route.
func (a *API) NewPage(method, path string, page Page) Route {
	return NewRoute(method, path, a.pipeline(&openapi.Operation{Path: path}, page))
}

// NewProtocol returns the route of all paths below one, for all methods.
func (a *API) NewProtocol(path string, p Protocol) Route {
	return NewRoute("", path, a.pipeline(&openapi.Operation{Path: path}, p))
}

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

// pathPrefix returns an API path's first two segments, such as /api/connections, and nothing for other paths.
func pathPrefix(path string) string {
	rest, ok := strings.CutPrefix(path, "/api/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return path[:len("/api/")+len(first)]
}

// methods returns a method, with HEAD beside GET (RFC 9110, section 9.3.2).
func methods(method string) []string {
	if method == http.MethodGet {
		return []string{method, http.MethodHead}
	}
	return []string{method}
}
