package google

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/source"
)

const (
	fresh      = 30 * time.Second // maximum age of an entry
	stale      = 10 * time.Minute // maximum age while Google refuses requests (rate limit)
	maxEntries = 2000
)

// cache keeps responses for a while, and sends one request for concurrent callers that want the same.
// Its keys are structs that name the workspace and the credential, so that no caller sees another's data.
type cache[K comparable, V any] struct {
	now func() time.Time

	mu       sync.Mutex
	kept     map[K]kept[V]
	requests map[K]*request[V]
}

type kept[V any] struct {
	value V
	at    time.Time
}

// request is a request that was sent and not answered yet.
type request[V any] struct {
	callers int // that wait for it
	end     context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

func newCache[K comparable, V any](now func() time.Time) *cache[K, V] {
	return &cache[K, V]{now: now, kept: map[K]kept[V]{}, requests: map[K]*request[V]{}}
}

// peek returns an entry that is fresh.
func (c *cache[K, V]) peek(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fresh(k)
}

// fresh is peek for callers that hold the lock.
func (c *cache[K, V]) fresh(k K) (V, bool) {
	found, ok := c.kept[k]
	return found.value, ok && c.now().Sub(found.at) < fresh
}

// keep stores a value as if it had been fetched just now.
func (c *cache[K, V]) keep(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeRoom()
	c.kept[k] = kept[V]{v, c.now()}
}

// get returns a fresh entry, or calls ask. A caller that leaves does not end the request for the others.
// The last one to leave cancels it, since the credential may no longer be valid to use.
func (c *cache[K, V]) get(ctx context.Context, k K, ask func(context.Context) (V, error)) (V, error) {
	c.mu.Lock()
	if v, ok := c.fresh(k); ok {
		c.mu.Unlock()
		return v, nil
	}
	f, ok := c.requests[k]
	if !ok {
		f = &request[V]{done: make(chan struct{})}
		c.requests[k] = f
		var flying context.Context
		flying, f.end = context.WithTimeoutCause(context.WithoutCancel(ctx), patience, source.ErrSheetTimeout)
		go c.fetch(flying, k, f, ask)
	}
	f.callers++
	c.mu.Unlock()
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		c.stopWaiting(k, f)
		var zero V
		return zero, ctx.Err()
	}
}

// stopWaiting ends the wait of one caller.
func (c *cache[K, V]) stopWaiting(k K, f *request[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.callers--; f.callers == 0 {
		f.end()
		if c.requests[k] == f { // the next caller sends a new request
			delete(c.requests, k)
		}
	}
}

// fetch asks for a value and keeps it, unless all callers have left.
func (c *cache[K, V]) fetch(ctx context.Context, k K, f *request[V], ask func(context.Context) (V, error)) {
	defer f.end()
	f.value, f.err = ask(ctx)
	if f.err != nil && ctx.Err() != nil {
		f.err = source.ErrSheetTimeout
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(f.done)
	if c.requests[k] != f {
		return // all callers have left
	}
	delete(c.requests, k)
	previous, ok := c.kept[k]
	switch {
	case f.err == nil:
		c.makeRoom()
		c.kept[k] = kept[V]{f.value, c.now()}
	case errors.Is(f.err, source.ErrSheetRateLimited) && ok && c.now().Sub(previous.at) < stale:
		f.value, f.err = previous.value, nil
	case !errors.Is(f.err, source.ErrSheetRateLimited):
		delete(c.kept, k) // a sheet that is no longer shared is no longer shown
	}
}

// makeRoom removes entries that are too old, and if that is not enough, arbitrary ones.
func (c *cache[K, V]) makeRoom() {
	if len(c.kept) < maxEntries {
		return
	}
	for k, v := range c.kept {
		if c.now().Sub(v.at) >= stale {
			delete(c.kept, k)
		}
	}
	for k := range c.kept {
		if len(c.kept) < maxEntries {
			return
		}
		delete(c.kept, k)
	}
}
