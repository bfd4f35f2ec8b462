package conformance

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// shape is what paths must have in common to be compared by one router. The router tries its paths one after the other,
// and the contract has 160.
type shape struct {
	area     string // the first segment that is not "api"
	segments int
}

func shapeOf(path string) shape {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	area := segments[0]
	if area == "api" && len(segments) > 1 {
		area = segments[1]
	}
	return shape{area, len(segments)}
}

func routersOf(doc *openapi3.T) (map[shape]routers.Router, error) {
	paths := map[shape]*openapi3.Paths{}
	for path, item := range doc.Paths.Map() {
		s := shapeOf(path)
		if strings.Contains(s.area, "{") {
			return nil, fmt.Errorf("%s has a parameter where the area should be", path)
		}
		if paths[s] == nil {
			paths[s] = openapi3.NewPaths()
		}
		paths[s].Set(path, item)
	}
	out := map[shape]routers.Router{}
	for s, owner := range paths {
		var err error
		if out[s], err = gorillamux.NewRouter(&openapi3.T{Servers: doc.Servers, Paths: owner}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// route returns the route that takes a request, nil if none does.
func (v *validator) route(req *http.Request) *routers.Route {
	router := v.routers[shapeOf(req.URL.EscapedPath())]
	if router == nil {
		return nil
	}
	route, _, err := router.FindRoute(req)
	if err != nil {
		return nil
	}
	return route
}
