package server

import (
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// version is what a process knows about a workspace's changes at some time.
type version struct {
	generation uint64 // of the changes through this process
	observed   uint64 // of those that it has observed
	current    bool   // it has learned of all that are more than a second old
}

// getFor is get for the response variant that a reader gets. The empty reader has none.
func (c *responseCache) getFor(reader string, key cacheKey, current version, now time.Time) (cachedResponse, bool) {
	entry, ok := c.get(&key, current, now)
	if !ok || entry.variant == nil || reader == "" {
		return entry, ok
	}
	key.variant += entry.variant(reader)
	return c.get(&key, current, now)
}

// putFor is put for the response variant that a reader gets. It also stores how the variants are told apart.
func (c *responseCache) putFor(reader string, key cacheKey, k cachedResponse) {
	if k.variant != nil && reader != "" {
		c.put(key, cachedResponse{variant: k.variant, at: k.at, trackedOnly: k.trackedOnly, read: k.read})
		key.variant += k.variant(reader)
	}
	c.put(key, k)
}

const maxCachedResponseBytes = 512 << 10 // of one response

const maxCacheBytes = 64 << 20 // of all responses and their keys

const cacheEntryOverhead = 1 << 10 // about, in bytes

const cacheFresh = time.Second

const maxCacheAge = 10 * time.Minute // of responses that no change has made old: how long a mistake could last

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
	variant           string   // of the response; empty for a request without a reader's key
}

func (k *cacheKey) size() int {
	return len(k.path) + len(k.query) + len(k.body) + len(k.variant) + cacheEntryOverhead
}

// cachedResponse is a response, with the version of the workspace and the time before it was read.
type cachedResponse struct {
	answer      ports.Answer
	delivered   func(reader identity.Actor) // see Call
	variant     func(reader string) string  // see Call
	at          version
	trackedOnly bool // time alone does not make it old
	read        time.Time
}

// isValid reports whether k can be returned at a time, when the workspace has a version.
func (k *cachedResponse) isValid(latest version, now time.Time) bool {
	age := now.Sub(k.read)
	return k.at.generation == latest.generation &&
		(age < cacheFresh || (k.trackedOnly && latest.current && k.at == latest && age < maxCacheAge))
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
func (c *responseCache) get(key *cacheKey, current version, now time.Time) (entry cachedResponse, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, isYoung := c.young[*key]
	if !isYoung {
		if entry, ok = c.old[*key]; !ok {
			return cachedResponse{}, false
		}
	}
	if !entry.isValid(current, now) {
		return cachedResponse{}, false
	}
	if !isYoung {
		c.add(key, entry, now)
	}
	return entry, true
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

// put stores a response, unless a later generation's has been stored in the meantime.
func (c *responseCache) put(key cacheKey, k cachedResponse) {
	if len(k.answer.Body) > maxCachedResponseBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, exists := c.young[key]; exists && old.at.generation > k.at.generation {
		return
	}
	c.add(&key, k, k.read)
}

// add stores a response. The caller holds c.mu.
func (c *responseCache) add(key *cacheKey, k cachedResponse, now time.Time) {
	size := key.size() + len(k.answer.Body)
	isExpired := now.Sub(c.youngSince).Abs() >= cacheFresh // the clock may have been set back
	if isExpired || c.size+size > maxCacheBytes/2 {
		c.old, c.young, c.size, c.youngSince = c.young, make(map[cacheKey]cachedResponse, len(c.young)), 0, now
	} else if old, exists := c.young[*key]; exists {
		c.size -= key.size() + len(old.answer.Body)
	}
	c.size += size
	c.young[*key] = k
}
