package google

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/source"
)

const (
	fresh      = 30 * time.Second // how old what is kept may be
	stale      = 10 * time.Minute // how old it may be while Google takes no more requests
	maxEntries = 2000
)

// cache keeps answers for a while, and asks but once for what several callers want at the same time.
// Its keys are structs that name the workspace and the credential, so that none sees another's.
type cache[K comparable, V any] struct {
	now func() time.Time

	mu      sync.Mutex
	kept    map[K]kept[V]
	flights map[K]*flight[V]
}

type kept[V any] struct {
	value V
	at    time.Time
}

// flight is a question that was asked and not answered yet.
type flight[V any] struct {
	callers int // who wait for it
	end     context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

func newCache[K comparable, V any](now func() time.Time) *cache[K, V] {
	return &cache[K, V]{now: now, kept: map[K]kept[V]{}, flights: map[K]*flight[V]{}}
}

// peek returns what is kept and fresh.
func (c *cache[K, V]) peek(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.kept[k]
	return found.value, ok && c.now().Sub(found.at) < fresh
}

// keep keeps a value as if it had been asked for just now.
func (c *cache[K, V]) keep(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeRoom()
	c.kept[k] = kept[V]{v, c.now()}
}

// get returns what is kept, or asks. A caller who goes away leaves the question to the others; the
// last one takes it back, for the credential may be one that must not be used any more.
func (c *cache[K, V]) get(ctx context.Context, k K, ask func(context.Context) (V, error)) (V, error) {
	if v, ok := c.peek(k); ok {
		return v, nil
	}
	c.mu.Lock()
	f, ok := c.flights[k]
	if !ok {
		f = &flight[V]{done: make(chan struct{})}
		c.flights[k] = f
		var flying context.Context
		flying, f.end = context.WithTimeoutCause(context.WithoutCancel(ctx), patience, source.ErrSheetTimeout)
		go c.fly(flying, k, f, ask)
	}
	f.callers++
	c.mu.Unlock()
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		c.leave(k, f)
		var none V
		return none, ctx.Err()
	}
}

// leave is for a caller who waits no longer.
func (c *cache[K, V]) leave(k K, f *flight[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.callers--; f.callers == 0 {
		f.end()
		if c.flights[k] == f { // who asks from now on asks anew
			delete(c.flights, k)
		}
	}
}

func (c *cache[K, V]) fly(ctx context.Context, k K, f *flight[V], ask func(context.Context) (V, error)) {
	defer f.end()
	f.value, f.err = ask(ctx)
	if f.err != nil && ctx.Err() != nil {
		f.err = source.ErrSheetTimeout
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(f.done)
	if c.flights[k] != f {
		return // everybody has left
	}
	delete(c.flights, k)
	before, ok := c.kept[k]
	switch {
	case f.err == nil:
		c.makeRoom()
		c.kept[k] = kept[V]{f.value, c.now()}
	case errors.Is(f.err, source.ErrSheetRateLimited) && ok && c.now().Sub(before.at) < stale:
		f.value, f.err = before.value, nil
	case !errors.Is(f.err, source.ErrSheetRateLimited):
		delete(c.kept, k) // what is no longer shared is no longer shown
	}
}

// makeRoom forgets what is too old, and if that is not enough, whatever comes first.
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
