package db

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

const (
	// principalsFresh limits how long a node trusts a cached credential without a look at other nodes' changes: a
	// revocation on another node takes effect within that time.
	principalsFresh = time.Second

	// principalsLast limits how long it trusts one of which no look has found a change. It bounds how old the time of
	// the last use of a session can be, and how long a mistake could last.
	principalsLast = 10 * time.Minute
)

// maxRemembered bounds the memory of a cache; an entry needs about half a kilobyte.
const maxRemembered = 20_000

// ttlCache caches the owners of credentials for principalsFresh, or for as long as looks at the changes of all nodes
// find none. Every change of users, memberships or keys through this process clears it, except for recording the use of
// a key, which may happen thousands of times per second. Its users check the times at which credentials expire.
type ttlCache[K comparable, V any] struct {
	observed *observedChanges
	isNewer  func(stored, value V) bool // the known value stays; nil for never

	mu      sync.RWMutex
	known   map[K]known[V]
	reading map[K]chan struct{} // closed when the value has been read
	era     uint64              // counts invalidations: a value read before one is not cached after it
}

type known[V any] struct {
	value V
	read  time.Time // when its read began
	seen  state     // before it was read
}

// state is what a cache knows of changes at some time.
type state struct {
	era      uint64 // of the cache
	observed uint64 // the changes that this process has observed
	current  bool   // looks have found every change of more than a second ago
}

// Get returns a cached value, or reads it. If several callers need a value at the same time, the first one reads it and
// the others wait. If that fails, or the cache is cleared in the meantime, they read it themselves.
func (r *ttlCache[K, V]) Get(ctx context.Context, key K, read func() (V, error)) (V, error) {
	value, ok, current := r.Recall(key)
	if ok {
		return value, nil
	}
	if reading, first := r.begin(key); first {
		defer r.end(key, reading)
	} else {
		select {
		case <-reading:
		case <-ctx.Done():
		}
		if value, ok, current = r.Recall(key); ok {
			return value, nil
		}
	}
	start := time.Now() // a read that takes long returns what was true when it began
	value, err := read()
	if err == nil {
		r.Remember(key, value, current, start)
	}
	return value, err
}

// begin returns the channel of the call that reads a value, and whether it is this one.
func (r *ttlCache[K, V]) begin(key K) (reading chan struct{}, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reading, exists := r.reading[key]; exists {
		return reading, false
	}
	if r.reading == nil {
		r.reading = map[K]chan struct{}{}
	}
	reading = make(chan struct{})
	r.reading[key] = reading
	return reading, true
}

func (r *ttlCache[K, V]) end(key K, reading chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading[key] == reading { // the cache has not been cleared in the meantime
		delete(r.reading, key)
	}
	close(reading)
}

func (r *ttlCache[K, V]) Recall(key K) (value V, ok bool, current state) {
	if r.observed != nil {
		current.observed, current.current = r.observed.generation("")
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	k, ok := r.known[key]
	current.era = r.era
	if ok {
		age := time.Since(k.read)
		ok = age < principalsFresh || (current.current && k.seen == current && age < principalsLast)
	}
	return k.value, ok, current
}

// Remember caches a value whose read began at a time, after the state of the cache was seen.
func (r *ttlCache[K, V]) Remember(key K, value V, earlier state, start time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if earlier.era != r.era {
		return
	}
	if k, exists := r.known[key]; exists && r.isNewer != nil && r.isNewer(k.value, value) {
		return
	}
	if r.known == nil || len(r.known) >= maxRemembered {
		r.known = map[K]known[V]{}
	}
	r.known[key] = known[V]{value: value, read: start, seen: earlier}
}

// Replace replaces the values that change returns another one for. Values are shared, so it must copy them.
func (r *ttlCache[K, V]) Replace(change func(V) (V, bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, k := range r.known {
		if value, isChanged := change(k.value); isChanged {
			k.value = value
			r.known[key] = k
		}
	}
}

func (r *ttlCache[K, V]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.reading = nil, nil // reads in progress may return values of before the change
	r.era++
}

// CredentialKey always holds the tenant.
type CredentialKey struct {
	Org  identity.OrgID
	Hash account.Hash
}

// SignInKey always holds the tenant.
type SignInKey struct {
	Org             identity.OrgID
	Issuer, Subject string
}
