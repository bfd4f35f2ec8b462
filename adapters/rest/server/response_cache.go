package server

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// CachedQuery is a query whose responses are cached (ADR 49). A cached response is returned without a statement while
// nothing in the workspace has changed, for a second at most. So a change through this process takes effect at once,
// and one through another process, or by time, within a second; one through another process that uses the same SQLite
// file, within 100 ms. Cache-Control: no-cache in a request reads the database. The result may depend on nothing but
// the request, its caller and the workspace.
//
// A response whose query sets TrackedOnly is cached for up to maxCacheAge, while this process learns of all changes
// that are more than a second old and finds none (ADR 49).
type CachedQuery func(*Call) (Reply, error)

func (q CachedQuery) stages(a *API, op *openapi.Operation) stages { return a.ordinary(op, q.perform) }

func (q CachedQuery) perform(r *Call) (answer ports.Answer, isReplay bool, err error) {
	return q.performFor(r, nil)
}

// ReaderQuery is a CachedQuery whose response can depend on a reader's key. Split returns the key, and the query and
// the body of the request without it, so that responses are cached for each variant, and not for each reader. The key
// is empty if not found, or if the request could be refused because of it.
type ReaderQuery struct {
	CachedQuery
	Split func(*Call) (reader, query, body string)
}

func (q ReaderQuery) stages(a *API, op *openapi.Operation) stages { return a.ordinary(op, q.perform) }

func (q ReaderQuery) perform(r *Call) (answer ports.Answer, isReplay bool, err error) {
	return q.performFor(r, q.Split)
}

// performFor responds from the cache, or runs the query once for all callers that wait for the same response. split, if
// not nil, separates the reader's key.
func (q CachedQuery) performFor(
	r *Call, split func(*Call) (reader, query, body string),
) (answer ports.Answer, isReplay bool, err error) {
	if r.By.Workspace == "" || len(r.Payload) > maxCachedBodyBytes {
		return q.read(r)
	}
	version, isSettled := r.API.versionOf(r.By.Workspace)
	if !isSettled {
		return q.read(r)
	}
	key, now := r.cacheKey(), time.Now()
	reader := ""
	if split != nil {
		var rest, body string
		if reader, rest, body = split(r); reader != "" {
			key.query, key.body, key.variant = rest, body, "of a reader"
		}
	}
	if !r.MustRead() {
		entry, ok := r.API.cache.getFor(reader, key, version, now)
		if !ok {
			reading := readingKey{key, version.generation}
			if finished, first := r.API.reading.begin(reading); first {
				defer r.API.reading.end(reading)
			} else {
				select {
				case <-finished:
				case <-r.Context().Done():
				}
				entry, ok = r.API.cache.getFor(reader, key, version, now)
			}
		}
		if ok {
			if entry.delivered != nil {
				entry.delivered(r.By)
			}
			return entry.answer, false, nil
		}
	}
	answer, _, err = q.read(r)
	if err == nil && !r.Uncacheable && (!r.MustRead() || r.API.cache.has(key)) {
		// A share that ended between the time of the request and its read counts as a change for a few seconds only.
		trackedOnly := r.TrackedOnly && now.Sub(r.By.At).Abs() < cacheFresh
		start := Observed(r.Request).begun // the version may have been read together with the caller
		r.API.cache.putFor(reader, key, cachedResponse{answer, r.Delivered, r.Variant, version, trackedOnly, start})
	}
	return answer, false, err
}

func (a *API) versionOf(ws identity.WorkspaceID) (v version, isSettled bool) {
	v.observed, v.current = a.Changes.ObservedGeneration(ws)
	v.generation, isSettled = a.Changes.Generation(ws)
	return v, isSettled
}

// read reads the response from the database.
func (q CachedQuery) read(r *Call) (answer ports.Answer, isReplay bool, err error) {
	if answer, isReplay, err = Query(q).perform(r); err == nil && r.Delivered != nil {
		r.Delivered(r.By)
	}
	return answer, isReplay, err
}

// MustRead reports whether the caller requires a read from the database.
func (r *Call) MustRead() bool { return strings.Contains(r.Header.Get("Cache-Control"), "no-cache") }

const (
	maxCachedBodyBytes = 16 << 10 // of a request; larger ones are rarely sent twice
)

func (r *Call) cacheKey() cacheKey {
	var person [2]int64
	if r.HasOneWorkspace() {
		person = [2]int64{r.Person().User.Revision, r.Person().Memberships[0].Workspace.Revision}
	}
	return cacheKey{
		op: r.Operation, path: r.URL.Path, query: r.URL.RawQuery, body: string(r.Payload), org: Observed(r.Request).Org,
		workspace: r.By.Workspace, user: r.By.User, key: r.By.Key, role: r.By.Role, ceiling: r.By.Ceiling,
		operator: r.By.Operator, person: person,
	}
}

// HasOneWorkspace reports whether the caller is known in one workspace only, as an API key's bearer is.
func (r *Call) HasOneWorkspace() bool { return r.owner != nil && len(r.Person().Memberships) == 1 }
