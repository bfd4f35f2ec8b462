package rest

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/ports"
)

// read is a GET operation of one thing, which reads the body of a stored answer again.
type read struct {
	op  *openapi.Operation
	act action
}

// errNoLongerReadable is returned for a repeated request whose body must be read again and which the caller
// can no longer read.
var errNoLongerReadable = ports.ErrAnswerErased.Because("This request was carried out. The resource was deleted since, or you can no longer read it.")

// readAgain returns kept with the body and the ETag that a GET of kept.Shows has for the caller now: the
// status and the other headers stay those of the first answer. It returns ports.ErrAnswerErased if the
// caller can no longer read it.
func (r *request) readAgain(kept ports.Answer) (ports.Answer, error) {
	hr := r.Clone(r.Context())
	hr.Method, hr.URL, hr.Body = http.MethodGet, &url.URL{Path: kept.Shows}, http.NoBody
	var match mux.RouteMatch
	if !r.api.router.Match(hr, &match) || match.MatchErr != nil {
		return ports.Answer{}, errNoLongerReadable // a path that another version of Atrium had
	}
	path, err := match.Route.GetPathTemplate()
	if err != nil {
		return ports.Answer{}, err
	}
	get, ok := r.api.reads[path]
	if !ok {
		return ports.Answer{}, errNoLongerReadable
	}
	again := *r
	again.Request, again.op, again.body, again.query, again.match = mux.SetURLVars(hr, match.Vars), get.op, nil, nil, nil
	var now ports.Answer
	out, err := get.act(&again)
	if err == nil {
		now, err = out.encode()
	}
	if err != nil {
		if f, ok := errors.AsType[*fault.Error](err); ok && (f.Kind == fault.NotFound || f.Kind == fault.Forbidden) {
			err = errNoLongerReadable
		}
		return ports.Answer{}, err
	}
	header := map[string]string{}
	for name, value := range kept.Header {
		header[name] = value
	}
	for _, name := range []string{"Content-Type", "Etag"} {
		header[name] = now.Header[name]
	}
	kept.Header, kept.Body = header, now.Body
	return kept, nil
}
