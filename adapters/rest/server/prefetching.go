package server

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Prefetching is remembered of the most frequent read, of a version. If the credential of the caller has to be looked
// up, the version is read by the same statement.
type Prefetching CachedQuery

func (q Prefetching) handler(a *API, op *openapi.Operation) http.Handler {
	next := CachedQuery(q).handler(a, op)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if template := PathVar(r, "prompt_template_id"); id.Valid(prompt.Prefix, template) {
			exchangeOf(r).prefetch = ports.VersionPrefetch{
				Template: prompt.ID(template), Ref: prompt.ParseRef(PathVar(r, "version_id")),
			}
		}
		next.ServeHTTP(w, r)
	})
}
