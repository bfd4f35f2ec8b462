package server

import (
	"net/http"
	"strings"
	"sync"
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
// that are more than a second old and finds none (ADR 127).
type CachedQuery func(*Call) (Reply, error)

func (q CachedQuery) handler(a *API, op *openapi.Operation) http.Handler {
	return a.handle(op, q.perform)
}

func (q CachedQuery) perform(r *Call) (answer ports.Answer, replayed bool, err error) {
	return q.performFor(r, nil)
}

// ReaderQuery is a CachedQuery whose response can depend on the key of a reader. Split returns the key, and the query
// and the body of the request without it, so that responses are cached for each variant, and not for each reader. The
// key is empty if there is none, or if the request could be refused because of it.
type ReaderQuery struct {
	CachedQuery
	Split func(*Call) (reader, query, body string)
}

func (q ReaderQuery) handler(a *API, op *openapi.Operation) http.Handler {
	return a.handle(op, q.perform)
}

func (q ReaderQuery) perform(r *Call) (answer ports.Answer, replayed bool, err error) {
	return q.performFor(r, q.Split)
}

func (q CachedQuery) performFor(
	r *Call, split func(*Call) (reader, query, body string),
) (answer ports.Answer, replayed bool, err error) {
	if r.By.Workspace == "" || len(r.Payload) > maxCachedBodyBytes {
		return q.read(r)
	}
	at, settled := r.API.versionOf(r.By.Workspace)
	if !settled {
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
		cached, ok := r.API.cache.getFor(reader, key, at, now)
		if !ok {
			reading := readingKey{key, at.generation}
			if done, first := r.API.reading.begin(reading); first {
				defer r.API.reading.end(reading)
			} else {
				select {
				case <-done:
				case <-r.Context().Done():
				}
				cached, ok = r.API.cache.getFor(reader, key, at, now)
			}
		}
		if ok {
			if cached.delivered != nil {
				cached.delivered(r)
			}
			return cached.answer, false, nil
		}
	}
	answer, _, err = q.read(r)
	if err == nil && !r.Uncacheable && (!r.MustRead() || r.API.cache.has(key)) {
		// A share that ended between the time of the request and its read counts as a change for a few seconds only.
		trackedOnly := r.TrackedOnly && now.Sub(r.By.At).Abs() < cacheFresh
		begun := exchangeOf(r.Request).begun // the version may have been read together with the caller
		r.API.cache.putFor(reader, key, cachedResponse{answer, r.Delivered, r.Variant, at, trackedOnly, begun})
	}
	return answer, false, err
}

// version is what a process knows of the changes of a workspace at some time.
type version struct {
	generation uint64 // of the changes through this process
	observed   uint64 // of those that it has observed
	current    bool   // it has learned of all that are more than a second old
}

func (a *API) versionOf(ws identity.WorkspaceID) (v version, settled bool) {
	v.observed, v.current = a.Changes.ObservedGeneration(ws)
	v.generation, settled = a.Changes.Generation(ws)
	return v, settled
}

// getFor is get for the variant of a response that a reader gets. The empty reader has none.
func (c *responseCache) getFor(reader string, key cacheKey, at version, now time.Time) (cachedResponse, bool) {
	cached, ok := c.get(&key, at, now)
	if !ok || cached.variant == nil || reader == "" {
		return cached, ok
	}
	key.variant += cached.variant(reader)
	return c.get(&key, at, now)
}

// putFor is put for the variant of a response that a reader gets. It also stores how the variants are told apart.
func (c *responseCache) putFor(reader string, key cacheKey, k cachedResponse) {
	if k.variant != nil && reader != "" {
		c.put(key, cachedResponse{variant: k.variant, at: k.at, trackedOnly: k.trackedOnly, read: k.read})
		key.variant += k.variant(reader)
	}
	c.put(key, k)
}

// read reads the response from the database.
func (q CachedQuery) read(r *Call) (answer ports.Answer, replayed bool, err error) {
	if answer, replayed, err = Query(q).perform(r); err == nil && r.Delivered != nil {
		r.Delivered(r)
	}
	return answer, replayed, err
}

// MustRead reports whether the caller requires a read from the database.
func (r *Call) MustRead() bool { return strings.Contains(r.Header.Get("Cache-Control"), "no-cache") }

const (
	maxCachedBodyBytes     = 16 << 10  // of a request; larger ones are rarely sent twice
	maxCachedResponseBytes = 512 << 10 // of one response
	maxCacheBytes          = 64 << 20  // of all responses and their keys
	cacheEntryOverhead     = 1 << 10   // about, in bytes
	cacheFresh             = time.Second
	maxCacheAge            = 10 * time.Minute // of responses that no change has made old: how long a mistake could last
)

// cacheKey is everything that a cached response can depend on.
type cacheKey struct {
	op                *openapi.Operation
	path, query, body string
	org               *identity.Org // another one after its configuration has changed
	workspace         identity.WorkspaceID
	user              identity.UserID
	key               identity.KeyID
	role, ceiling     identity.Role
	operator          bool
	person            [2]int64 // the revisions of the user and of the workspace, if there is only one
	variant           string   // of the response; empty for a request without the key of a reader
}

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

// HasOneWorkspace reports whether the caller is known in one workspace only, as the bearer of an API key is.
func (r *Call) HasOneWorkspace() bool { return r.owner != nil && len(r.Person().Memberships) == 1 }

func (k *cacheKey) size() int {
	return len(k.path) + len(k.query) + len(k.body) + len(k.variant) + cacheEntryOverhead
}

// cachedResponse is a response, with the version of the workspace and the time before it was read.
type cachedResponse struct {
	answer      ports.Answer
	delivered   func(to *Call)             // see request
	variant     func(reader string) string // see request
	at          version
	trackedOnly bool // time alone does not make it old
	read        time.Time
}

// isValid reports whether k can be returned at a time, when the workspace has a version.
func (k *cachedResponse) isValid(at version, now time.Time) bool {
	age := now.Sub(k.read)
	return k.at.generation == at.generation &&
		(age < cacheFresh || k.trackedOnly && at.current && k.at == at && age < maxCacheAge)
}

// responseCache keeps the responses of cached queries, which must not be changed. It has two halves: when the younger
// one is full, or a second old, it replaces the older one. Otherwise, responses that are read once would fill the
// memory. A response of the older half that is used moves to the younger one.
type responseCache struct {
	mu         sync.Mutex
	young, old map[cacheKey]cachedResponse
	size       int       // of the young, in bytes
	youngSince time.Time // when the younger half was empty
}

// get returns the response to a request, if it is still valid.
func (c *responseCache) get(key *cacheKey, at version, now time.Time) (cached cachedResponse, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, isYoung := c.young[*key]
	if !isYoung {
		if cached, ok = c.old[*key]; !ok {
			return cachedResponse{}, false
		}
	}
	if !cached.isValid(at, now) {
		return cachedResponse{}, false
	}
	if !isYoung {
		c.add(key, cached, now)
	}
	return cached, true
}

// has reports whether there is a response that a read from the database must replace, so that no later one is older.
func (c *responseCache) has(key cacheKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, young := c.young[key]
	if !young {
		_, young = c.old[key]
	}
	return young
}

// put stores a response, unless one of a later generation has been stored meanwhile.
func (c *responseCache) put(key cacheKey, k cachedResponse) {
	if len(k.answer.Body) > maxCachedResponseBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, there := c.young[key]; there && old.at.generation > k.at.generation {
		return
	}
	c.add(&key, k, k.read)
}

// add stores a response. The caller holds c.mu.
func (c *responseCache) add(key *cacheKey, k cachedResponse, now time.Time) {
	size := key.size() + len(k.answer.Body)
	expired := now.Sub(c.youngSince).Abs() >= cacheFresh // the clock may have been set back
	if expired || c.size+size > maxCacheBytes/2 {
		c.old, c.young, c.size, c.youngSince = c.young, make(map[cacheKey]cachedResponse, len(c.young)), 0, now
	} else if old, there := c.young[*key]; there {
		c.size -= key.size() + len(old.answer.Body)
	}
	c.size += size
	c.young[*key] = k
}
