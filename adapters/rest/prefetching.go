package rest

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// prefetching is remembered of the most frequent read, of a version. If the credential of the caller has to be looked
// up, the version is read by the same statement.
type prefetching cachedQuery

func (q prefetching) handler(a *API, op *openapi.Operation) http.Handler {
	next := cachedQuery(q).handler(a, op)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if template := pathVar(r, "prompt_template_id"); id.Valid(prompt.Prefix, template) {
			exchangeOf(r).prefetch = ports.VersionPrefetch{
				Template: prompt.ID(template), Ref: prompt.ParseRef(pathVar(r, "version_id")),
			}
		}
		next.ServeHTTP(w, r)
	})
}
